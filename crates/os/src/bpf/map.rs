//! os/bpf/map.rs: maps, and operations on them.

use super::syscall::{Batch, Create, Element, bpf, command, owned};
use rustix::io::Errno;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};

/// The kind of a map, by its number in `enum bpf_map_type`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum MapKind {
    /// BPF_MAP_TYPE_HASH.
    Hash = 1,
    /// BPF_MAP_TYPE_ARRAY, which can be mapped.
    Array = 2,
    /// BPF_MAP_TYPE_PERF_EVENT_ARRAY.
    PerfEvents = 4,
    /// BPF_MAP_TYPE_RINGBUF.
    RingBuffer = 27,
}

/// A map, with the sizes of its keys and values as the kernel copies them.
#[derive(Debug)]
pub struct Map {
    fd: OwnedFd,
    key: usize,
    value: usize,
}

impl Map {
    /// Creates a map with keys and values of these sizes in bytes. `entries` is the maximum number of
    /// entries; for a ring buffer, its size in bytes.
    pub fn new(kind: MapKind, key: u32, value: u32, entries: u32) -> Result<Map, Errno> {
        // Arrays can be mapped.
        let flags = if kind == MapKind::Array { 1 << 10 } else { 0 };
        let mut create = Create { kind: kind as u32, key, value, entries, flags };
        // SAFETY: it has no addresses.
        let fd = unsafe { bpf(command::MAP_CREATE, &mut create)? };
        Ok(Map { fd: owned(fd), key: key as usize, value: value as usize })
    }

    /// Sets the value of a key. EINVAL: the size of a slice differs from the map's keys or values.
    pub fn update(&self, key: &[u8], value: &[u8]) -> Result<(), Errno> {
        if key.len() != self.key || value.len() != self.value {
            return Err(Errno::INVAL);
        }
        let mut element = self.element(key, value.as_ptr() as u64);
        // SAFETY: the kernel reads the key and the value, whose sizes match the map's.
        unsafe { bpf(command::MAP_UPDATE, &mut element).map(drop) }
    }

    /// Inserts as many entries as there are keys, in order.
    pub fn fill(&self, keys: &[u8], values: &[u8]) -> Result<(), Errno> {
        let count = keys.len() / self.key;
        if keys.len() != count * self.key || values.len() != count * self.value {
            return Err(Errno::INVAL);
        }
        let count = u32::try_from(count).map_err(|_| Errno::TOOBIG)?;
        let mut batch = self.batch(keys.as_ptr() as u64, values.as_ptr() as u64, count);
        // SAFETY: the kernel reads as many keys and values as the count says, and their sizes match the
        // map's.
        unsafe { bpf(command::MAP_UPDATE_BATCH, &mut batch).map(drop) }
    }

    /// Deletes an entry, if it exists.
    pub fn delete(&self, key: &[u8]) -> Result<(), Errno> {
        if key.len() != self.key {
            return Err(Errno::INVAL);
        }
        let mut element = self.element(key, 0);
        // SAFETY: the kernel reads the key, whose size matches the map's.
        match unsafe { bpf(command::MAP_DELETE, &mut element) } {
            Ok(_) | Err(Errno::NOENT) => Ok(()),
            Err(errno) => Err(errno),
        }
    }

    /// Copies the value of a key. ENOENT: no such key; EINVAL: the key's size differs from the map's.
    pub fn lookup(&self, key: &[u8]) -> Result<Vec<u8>, Errno> {
        if key.len() != self.key {
            return Err(Errno::INVAL);
        }
        let mut value = vec![0; self.value];
        let mut element = self.element(key, value.as_mut_ptr() as u64);
        // SAFETY: the kernel reads the key and fills the value, whose sizes match the map's.
        unsafe { bpf(command::MAP_LOOKUP, &mut element)? };
        Ok(value)
    }

    /// Removes all elements from a hash, and calls `each` with their keys and values.
    pub fn take(&self, mut each: impl FnMut(&[u8], &[u8])) -> Result<(), Errno> {
        const MOST: u32 = 1024;
        let room = |size: usize| vec![0; MOST as usize * size];
        let (mut keys, mut values) = (room(self.key), room(self.value));
        // The position where the kernel continues.
        let (mut at, mut begun) = (0u32, false);
        loop {
            let place = &raw mut at as u64;
            let mut batch = self.batch(keys.as_mut_ptr() as u64, values.as_mut_ptr() as u64, MOST);
            (batch.from, batch.to) = (if begun { place } else { 0 }, place);
            // SAFETY: the kernel fills no more keys and values than the count, which have the sizes of the
            // map's. The position in a hash has 4 bytes, which the kernel reads before it writes them.
            let done = unsafe { bpf(command::MAP_LOOKUP_AND_DELETE_BATCH, &mut batch) };
            match done {
                Ok(_) | Err(Errno::NOENT) => {}
                Err(errno) => return Err(errno),
            }
            let taken = keys.chunks_exact(self.key).zip(values.chunks_exact(self.value));
            taken.take(batch.count as usize).for_each(|(key, value)| each(key, value));
            if done.is_err() {
                return Ok(());
            }
            begun = true;
        }
    }

    fn batch(&self, keys: u64, values: u64, count: u32) -> Batch {
        Batch { from: 0, to: 0, keys, values, count, map: self.number(), element_flags: 0, flags: 0 }
    }

    fn element(&self, key: &[u8], value: u64) -> Element {
        Element { map: self.fd.as_raw_fd() as u32, pad: 0, key: key.as_ptr() as u64, value, flags: 0 }
    }

    /// The map's descriptor, as instructions and the kernel's structures refer to it.
    pub fn number(&self) -> u32 {
        self.fd.as_raw_fd() as u32
    }
}

impl AsFd for Map {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}
