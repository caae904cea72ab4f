//! os/bpf/types.rs: types in the kernel's format (BTF): of a program, and of the kernel's modules.

use super::syscall::{Info, bpf, command, owned};
use rustix::io::Errno;
use std::os::fd::{AsRawFd as _, OwnedFd};

#[repr(C)]
struct LoadTypes {
    types: u64,
    log: u64,
    size: u32,
    log_size: u32,
    log_level: u32,
    pad: u32,
}

/// The beginning of BPF_*_GET_NEXT_ID and BPF_*_GET_FD_BY_ID.
#[repr(C)]
struct Numbered {
    number: u32,
    next: u32,
    flags: u32,
    pad: u32,
}

/// `struct bpf_btf_info`.
#[repr(C)]
struct TypesInfo {
    types: u64,
    size: u32,
    number: u32,
    name: u64,
    name_len: u32,
    of_kernel: u32,
}

/// The types of a program's functions, as the kernel reads them, and the type of each function: 8 bytes per
/// function.
#[derive(Clone, Copy, Debug)]
pub struct Types<'a> {
    /// A header, types and strings, as in a BTF file.
    pub types: &'a [u8],
    /// `struct bpf_func_info` of each function: the index of its first 8-byte unit of code, and the id of its
    /// type.
    pub functions: &'a [u8],
}

pub(super) fn load(types: &[u8]) -> Result<OwnedFd, Errno> {
    let size = types.len() as u32;
    let mut load =
        LoadTypes { types: types.as_ptr() as u64, log: 0, size, log_size: 0, log_level: 0, pad: 0 };
    // SAFETY: the kernel reads the types, which live until the call returns.
    unsafe { bpf(command::BTF_LOAD, &mut load).map(owned) }
}

/// The types of a kernel module.
#[derive(Debug)]
pub struct ModuleTypes(OwnedFd);

impl ModuleTypes {
    /// Finds the types of a loaded module.
    pub fn find(module: &str) -> Result<ModuleTypes, Errno> {
        let mut number = 0;
        loop {
            let mut next = Numbered { number, next: 0, flags: 0, pad: 0 };
            // SAFETY: it has no addresses.
            unsafe { bpf(command::BTF_NEXT_NUMBER, &mut next)? };
            number = next.next;
            let mut by_number = Numbered { number, next: 0, flags: 0, pad: 0 };
            // SAFETY: it has no addresses.
            match unsafe { bpf(command::BTF_FROM_NUMBER, &mut by_number) } {
                Ok(fd) => {
                    let types = ModuleTypes(owned(fd));
                    if types.is_of(module)? {
                        return Ok(types);
                    }
                }
                // The types were removed in the meantime.
                Err(Errno::NOENT) => {}
                Err(errno) => return Err(errno),
            }
        }
    }

    fn is_of(&self, module: &str) -> Result<bool, Errno> {
        // The kernel's module names are not longer than this.
        let mut name = [0u8; 64];
        let mut found = TypesInfo {
            types: 0,
            size: 0,
            number: 0,
            name: name.as_mut_ptr() as u64,
            name_len: name.len() as u32,
            of_kernel: 0,
        };
        let size = size_of_val(&found) as u32;
        let mut info = Info { descriptor: self.number(), size, info: &raw mut found as u64 };
        // SAFETY: the kernel writes at most the size of the structure and of the name.
        match unsafe { bpf(command::OBJECT_INFO, &mut info) } {
            Ok(_) => {}
            // The name of a program's types may be longer.
            Err(Errno::NOSPC) => return Ok(false),
            Err(errno) => return Err(errno),
        }
        let name = name.split(|byte| *byte == 0).next().unwrap_or_default();
        Ok(found.of_kernel != 0 && name == module.as_bytes())
    }

    /// The descriptor of the types, for `Function::types`.
    pub fn number(&self) -> u32 {
        self.0.as_raw_fd() as u32
    }
}
