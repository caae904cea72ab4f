//! backend/bpf/memory.rs: the kernel's memory, read by a BPF program in place of the module.

use super::error::{EnableError, ProgramError, Request, request};
use super::load::load;
use kinst_bpf::reader;
use kinst_os::bpf::{Map, MapKind, Program, ProgramKind};
use kinst_os::device::{Access, Mapping, page_size};
use kinst_sites::Memory;
use std::os::fd::AsFd as _;
use std::sync::atomic::Ordering;
use std::sync::{Mutex, PoisonError};

/// Reads the kernel's memory. The kernel checks each address.
pub struct Reader {
    program: Program,
    _map: Map,
    value: Mutex<Mapping>,
}

impl Reader {
    /// Loads the program that reads. The errors come from a map, its mapping, or the load.
    pub fn new() -> Result<Reader, EnableError> {
        let size = reader::BYTES + reader::MOST;
        let map = Map::new(MapKind::Array, 4, size as u32, 1).map_err(request(Request::CreateMap))?;
        let value = Mapping::new(map.as_fd(), size.next_multiple_of(page_size()), 0, Access::ReadWrite);
        let value = Mutex::new(value.map_err(request(Request::Map))?);
        let code = reader::write().map_err(ProgramError::from)?;
        let program = load(ProgramKind::RawTracepoint, &code, |_| map.number())?;
        Ok(Reader { program, _map: map, value })
    }
}

impl Memory for Reader {
    fn read(&self, address: u64, len: usize) -> Option<Vec<u8>> {
        let value = self.value.lock().unwrap_or_else(PoisonError::into_inner);
        let words = value.words();
        let mut bytes = Vec::with_capacity(len);
        while bytes.len() < len {
            let wanted = (len - bytes.len()).min(reader::MOST);
            words
                .get(reader::ADDRESS / 8)?
                .store(address.checked_add(bytes.len() as u64)?, Ordering::Relaxed);
            words.get(reader::LEN / 8)?.store(wanted as u64, Ordering::Relaxed);
            words.get(reader::RESULT / 8)?.store(u64::MAX, Ordering::Relaxed);
            self.program.run(None).ok()?;
            if words.get(reader::RESULT / 8)?.load(Ordering::Acquire) != 0 {
                return None;
            }
            let read = words.get(reader::BYTES / 8..)?;
            let read = read.iter().flat_map(|word| word.load(Ordering::Relaxed).to_ne_bytes());
            bytes.extend(read.take(wanted));
        }
        Some(bytes)
    }
}
