//! os/bpf/: bpf(2): maps, programs, types, and what runs programs.

mod attached;
mod types;

use rustix::io::Errno;
use std::ffi::c_long;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};

pub use attached::{Attached, Counted, attach};
pub use types::{ModuleTypes, Types};

/// Commands of bpf(2).
mod command {
    pub const MAP_CREATE: i32 = 0;
    pub const MAP_LOOKUP: i32 = 1;
    pub const MAP_UPDATE: i32 = 2;
    pub const MAP_DELETE: i32 = 3;
    pub const PROG_LOAD: i32 = 5;
    pub const PROG_TEST_RUN: i32 = 10;
    pub const OBJECT_INFO: i32 = 15;
    pub const RAW_TRACEPOINT_OPEN: i32 = 17;
    pub const BTF_LOAD: i32 = 18;
    pub const BTF_FROM_NUMBER: i32 = 19;
    pub const BTF_NEXT_NUMBER: i32 = 23;
    pub const MAP_LOOKUP_AND_DELETE_BATCH: i32 = 25;
    pub const MAP_UPDATE_BATCH: i32 = 26;
    pub const LINK_CREATE: i32 = 28;
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum MapKind {
    Hash = 1,
    Array = 2,
    PerfEvents = 4,
    RingBuffer = 27,
}

/// The use that a program is loaded for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProgramKind {
    Kprobe,
    /// The entries, or returns, of many functions at once (kprobe.multi).
    KprobeMulti,
    PerfEvent,
    RawTracepoint,
    /// The entry of a function, by a trampoline of BPF; and its return.
    Fentry(Function),
    Fexit(Function),
}

/// A function of the kernel as its types have it: its number there, and the descriptor of the types of the module that it
/// is of; 0 for the kernel proper.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Function {
    pub number: u32,
    pub types: u32,
}

impl ProgramKind {
    /// The numbers of the program's type and of what it is attached to, as the kernel has them.
    fn numbers(self) -> (u32, u32) {
        match self {
            ProgramKind::Kprobe => (2, 0),
            ProgramKind::KprobeMulti => (2, attached::KPROBE_MULTI),
            ProgramKind::PerfEvent => (7, 0),
            ProgramKind::RawTracepoint => (17, 0),
            ProgramKind::Fentry(_) => (26, 24),
            ProgramKind::Fexit(_) => (26, 25),
        }
    }

    fn function(self) -> Function {
        match self {
            ProgramKind::Fentry(function) | ProgramKind::Fexit(function) => function,
            _ => Function { number: 0, types: 0 },
        }
    }
}

/// The beginning of `union bpf_attr` for each command; the kernel takes the rest as zeros.
#[repr(C)]
struct Create {
    kind: u32,
    key: u32,
    value: u32,
    entries: u32,
    flags: u32,
}

#[repr(C)]
struct Element {
    map: u32,
    pad: u32,
    key: u64,
    value: u64,
    flags: u64,
}

#[repr(C)]
struct Batch {
    from: u64,
    to: u64,
    keys: u64,
    values: u64,
    count: u32,
    map: u32,
    element_flags: u64,
    flags: u64,
}

#[repr(C)]
#[derive(Default)]
struct Load {
    kind: u32,
    count: u32,
    insns: u64,
    license: u64,
    log_level: u32,
    log_size: u32,
    log: u64,
    version: u32,
    flags: u32,
    name: [u8; 16],
    device: u32,
    attach: u32,
    types: u32,
    function_size: u32,
    functions: u64,
    function_count: u32,
    line_size: u32,
    lines: u64,
    line_count: u32,
    function: u32,
    function_types: u32,
    pad: u32,
}

#[repr(C)]
#[derive(Default)]
struct Run {
    program: u32,
    result: u32,
    sizes: [u32; 2],
    data: [u64; 2],
    repeat: u32,
    duration: u32,
    context_sizes: [u32; 2],
    context: [u64; 2],
    flags: u32,
    cpu: u32,
}

#[repr(C)]
struct Info {
    descriptor: u32,
    size: u32,
    info: u64,
}

/// Makes a system call of bpf(2).
///
/// # Safety
///
/// The attribute must be that of the command, and its addresses valid as the command uses them.
unsafe fn bpf<T>(command: i32, attribute: &mut T) -> Result<i32, Errno> {
    // SAFETY: the caller's; the kernel reads and writes no more of the attribute than its size.
    let done = unsafe { libc::syscall(libc::SYS_bpf, command, attribute, size_of::<T>()) };
    result(done)
}

fn result(done: c_long) -> Result<i32, Errno> {
    if done < 0 {
        let error = std::io::Error::last_os_error();
        return Err(Errno::from_io_error(&error).unwrap_or(Errno::INVAL));
    }
    Ok(done as i32)
}

/// Takes a descriptor that a call has returned.
fn owned(fd: RawFd) -> OwnedFd {
    // SAFETY: the kernel has just made it, and nothing else has it.
    unsafe { OwnedFd::from_raw_fd(fd) }
}

/// A map, with the sizes of its keys and values as the kernel copies them.
#[derive(Debug)]
pub struct Map {
    fd: OwnedFd,
    key: usize,
    value: usize,
}

impl Map {
    pub fn new(kind: MapKind, key: u32, value: u32, entries: u32) -> Result<Map, Errno> {
        // Arrays can be mapped.
        let flags = if kind == MapKind::Array { 1 << 10 } else { 0 };
        let mut create = Create { kind: kind as u32, key, value, entries, flags };
        // SAFETY: it has no addresses.
        let fd = unsafe { bpf(command::MAP_CREATE, &mut create)? };
        Ok(Map { fd: owned(fd), key: key as usize, value: value as usize })
    }

    pub fn update(&self, key: &[u8], value: &[u8]) -> Result<(), Errno> {
        if key.len() != self.key || value.len() != self.value {
            return Err(Errno::INVAL);
        }
        let mut element = self.element(key, value.as_ptr() as u64);
        // SAFETY: the kernel reads the key and the value, which have the sizes of the map's.
        unsafe { bpf(command::MAP_UPDATE, &mut element).map(drop) }
    }

    /// Puts in as many entries as there are keys, one after the other.
    pub fn fill(&self, keys: &[u8], values: &[u8]) -> Result<(), Errno> {
        let count = keys.len() / self.key;
        if keys.len() != count * self.key || values.len() != count * self.value {
            return Err(Errno::INVAL);
        }
        let count = u32::try_from(count).map_err(|_| Errno::TOOBIG)?;
        let mut batch = self.batch(keys.as_ptr() as u64, values.as_ptr() as u64, count);
        // SAFETY: the kernel reads as many keys and values as are counted, which have the sizes of the map's.
        unsafe { bpf(command::MAP_UPDATE_BATCH, &mut batch).map(drop) }
    }

    /// Deletes an entry, if it is there.
    pub fn delete(&self, key: &[u8]) -> Result<(), Errno> {
        if key.len() != self.key {
            return Err(Errno::INVAL);
        }
        let mut element = self.element(key, 0);
        // SAFETY: the kernel reads the key, which has the size of the map's.
        match unsafe { bpf(command::MAP_DELETE, &mut element) } {
            Ok(_) | Err(Errno::NOENT) => Ok(()),
            Err(errno) => Err(errno),
        }
    }

    pub fn lookup(&self, key: &[u8]) -> Result<Vec<u8>, Errno> {
        if key.len() != self.key {
            return Err(Errno::INVAL);
        }
        let mut value = vec![0; self.value];
        let mut element = self.element(key, value.as_mut_ptr() as u64);
        // SAFETY: the kernel reads the key and fills the value, which have the sizes of the map's.
        unsafe { bpf(command::MAP_LOOKUP, &mut element)? };
        Ok(value)
    }

    /// Takes all elements out of a hash, and calls `each` with their keys and values.
    pub fn take(&self, mut each: impl FnMut(&[u8], &[u8])) -> Result<(), Errno> {
        const MOST: u32 = 1024;
        let room = |size: usize| vec![0; MOST as usize * size];
        let (mut keys, mut values) = (room(self.key), room(self.value));
        // Where the kernel goes on.
        let (mut at, mut begun) = (0u32, false);
        loop {
            let place = &raw mut at as u64;
            let mut batch = self.batch(keys.as_mut_ptr() as u64, values.as_mut_ptr() as u64, MOST);
            (batch.from, batch.to) = (if begun { place } else { 0 }, place);
            // SAFETY: the kernel fills no more keys and values than the count, which have the sizes of the map's. Of a hash
            // the place to go on at has 4 bytes, which it reads before it writes them.
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

    pub fn number(&self) -> u32 {
        self.fd.as_raw_fd() as u32
    }
}

impl AsFd for Map {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

impl Load {
    fn new(kind: ProgramKind, insns: &[u8]) -> Load {
        let (number, attach) = kind.numbers();
        let function = kind.function();
        Load {
            kind: number,
            count: (insns.len() / 8) as u32,
            insns: insns.as_ptr() as u64,
            license: c"GPL".as_ptr() as u64,
            name: *b"dtrace\0\0\0\0\0\0\0\0\0\0",
            attach,
            function: function.number,
            function_types: function.types,
            ..Load::default()
        }
    }
}

/// The last of so many words that the kernel has about a program or a link; 0 where it has fewer.
fn last_word<const WORDS: usize>(object: &OwnedFd) -> u64 {
    let mut words = [0u64; WORDS];
    let size = size_of_val(&words) as u32;
    let mut info = Info { descriptor: object.as_raw_fd() as u32, size, info: words.as_mut_ptr() as u64 };
    // SAFETY: the kernel writes at most the size of the words.
    match unsafe { bpf(command::OBJECT_INFO, &mut info) } {
        Ok(_) => words.last().copied().unwrap_or_default(),
        Err(_) => 0,
    }
}

/// A program that the kernel has verified.
#[derive(Debug)]
pub struct Program(OwnedFd);

impl Program {
    /// Loads instructions. An error comes with what the verifier says.
    pub fn load(kind: ProgramKind, insns: &[u8], types: Types<'_>) -> Result<Program, (Errno, String)> {
        let known = types::load(types.types).map_err(|errno| (errno, String::new()))?;
        let mut load = Load::new(kind, insns);
        load.types = known.as_raw_fd() as u32;
        load.function_size = 8;
        load.functions = types.functions.as_ptr() as u64;
        load.function_count = (types.functions.len() / 8) as u32;
        // SAFETY: the kernel reads the instructions, the types and the license, which live until the call returns.
        let errno = match unsafe { bpf(command::PROG_LOAD, &mut load) } {
            Ok(fd) => return Ok(Program(owned(fd))),
            Err(errno) => errno,
        };
        let mut log = vec![0u8; 1 << 24];
        (load.log_level, load.log_size, load.log) = (1, log.len() as u32, log.as_mut_ptr() as u64);
        // SAFETY: as above, and it writes at most the size of the log.
        let again = unsafe { bpf(command::PROG_LOAD, &mut load) };
        let text = log.split(|byte| *byte == 0).next().unwrap_or_default();
        match again {
            Ok(fd) => Ok(Program(owned(fd))),
            Err(_) => Err((errno, String::from_utf8_lossy(text).into_owned())),
        }
    }

    /// Loads the instructions of one function whose types do not matter.
    pub fn try_load(kind: ProgramKind, insns: &[u8]) -> Result<Program, Errno> {
        let mut load = Load::new(kind, insns);
        // SAFETY: the kernel reads the instructions and the license, which live until the call returns.
        unsafe { bpf(command::PROG_LOAD, &mut load).map(|fd| Program(owned(fd))) }
    }

    /// Runs a raw tracepoint's program now, in this process; on the CPU, if one is named.
    pub fn run(&self, cpu: Option<u32>) -> Result<(), Errno> {
        const ON_CPU: u32 = 1;
        let mut run = Run {
            program: self.0.as_raw_fd() as u32,
            flags: if cpu.is_some() { ON_CPU } else { 0 },
            cpu: cpu.unwrap_or_default(),
            ..Run::default()
        };
        // SAFETY: it has no addresses.
        unsafe { bpf(command::PROG_TEST_RUN, &mut run).map(drop) }
    }

    /// How often it was not run because it, or another program, was running on the CPU. Kernels before 6.7 count that for
    /// programs of tracepoints alone.
    pub fn missed(&self) -> u64 {
        last_word::<27>(&self.0)
    }
}
