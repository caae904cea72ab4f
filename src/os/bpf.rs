//! os/bpf.rs: bpf(2): maps, programs, and what runs them.

use super::perf::{self, Attribute};
use rustix::io::Errno;
use std::ffi::{CString, c_long};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};

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
    pub const MAP_LOOKUP_AND_DELETE_BATCH: i32 = 25;
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum MapKind {
    Hash = 1,
    Array = 2,
    PerfEvents = 4,
    RingBuffer = 27,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum ProgramKind {
    Kprobe = 2,
    PerfEvent = 7,
    RawTracepoint = 17,
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
    pad: u32,
}

#[repr(C)]
struct LoadTypes {
    types: u64,
    log: u64,
    size: u32,
    log_size: u32,
    log_level: u32,
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

#[repr(C)]
struct RawTracepoint {
    name: u64,
    program: u32,
    pad: u32,
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
        const MOST: usize = 1024;
        let (mut keys, mut values) = (vec![0; MOST * self.key], vec![0; MOST * self.value]);
        // Where the kernel goes on.
        let (mut at, mut begun) = (0u32, false);
        loop {
            let place = &raw mut at as u64;
            let mut batch = Batch {
                from: if begun { place } else { 0 },
                to: place,
                keys: keys.as_mut_ptr() as u64,
                values: values.as_mut_ptr() as u64,
                count: MOST as u32,
                map: self.number(),
                element_flags: 0,
                flags: 0,
            };
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

/// A program that the kernel has verified.
#[derive(Debug)]
pub struct Program(OwnedFd);

impl Program {
    /// Loads instructions. An error comes with what the verifier says.
    pub fn load(kind: ProgramKind, insns: &[u8], types: Types<'_>) -> Result<Program, (Errno, String)> {
        let known = load_types(types.types).map_err(|errno| (errno, String::new()))?;
        let mut load = Load {
            kind: kind as u32,
            count: (insns.len() / 8) as u32,
            insns: insns.as_ptr() as u64,
            license: c"GPL".as_ptr() as u64,
            log_level: 0,
            log_size: 0,
            log: 0,
            version: 0,
            flags: 0,
            name: *b"dtrace\0\0\0\0\0\0\0\0\0\0",
            device: 0,
            attach: 0,
            types: known.as_raw_fd() as u32,
            function_size: 8,
            functions: types.functions.as_ptr() as u64,
            function_count: (types.functions.len() / 8) as u32,
            pad: 0,
        };
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
        const WORDS: usize = 27;
        const MISSED: usize = 26;
        let mut words = [0u64; WORDS];
        let size = size_of_val(&words) as u32;
        let mut info = Info { descriptor: self.0.as_raw_fd() as u32, size, info: words.as_mut_ptr() as u64 };
        // SAFETY: the kernel writes at most the size of the words.
        match unsafe { bpf(command::OBJECT_INFO, &mut info) } {
            Ok(_) => words[MISSED],
            Err(_) => 0,
        }
    }

    /// Runs it at each hit of a tracepoint of this name.
    pub fn at_tracepoint(&self, name: &str) -> Result<Attached, Errno> {
        let name = CString::new(name).map_err(|_| Errno::INVAL)?;
        let mut open =
            RawTracepoint { name: name.as_ptr() as u64, program: self.0.as_raw_fd() as u32, pad: 0 };
        // SAFETY: the kernel reads the name, which lives until the call returns.
        let fd = unsafe { bpf(command::RAW_TRACEPOINT_OPEN, &mut open)? };
        Ok(Attached(owned(fd)))
    }
}

fn load_types(types: &[u8]) -> Result<OwnedFd, Errno> {
    let size = types.len() as u32;
    let mut load =
        LoadTypes { types: types.as_ptr() as u64, log: 0, size, log_size: 0, log_level: 0, pad: 0 };
    // SAFETY: the kernel reads the types, which live until the call returns.
    unsafe { bpf(command::BTF_LOAD, &mut load).map(owned) }
}

/// The types of a program's functions, as the kernel reads them, and which of them each function has: 8 bytes for each.
#[derive(Clone, Copy, Debug)]
pub struct Types<'a> {
    pub types: &'a [u8],
    pub functions: &'a [u8],
}

/// What an event of perf counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Counted {
    /// An event of tracefs, by number.
    Tracepoint(u64),
    /// A time of a CPU's clock in nanoseconds.
    Clock(u64),
}

/// A descriptor that makes a program run at something. Closing it ends that.
#[derive(Debug)]
pub struct Attached(OwnedFd);

impl Attached {
    /// Lets a clock begin.
    pub fn enable(&self) -> Result<(), Errno> {
        const ENABLE: i32 = 0x2400;
        perf_request(&self.0, ENABLE, 0)
    }
}

/// Runs the program at each of the events; those of a tracepoint on whatever CPU they are, those of a clock once that is
/// enabled.
pub fn attach(program: &Program, counted: Counted, cpu: u32) -> Result<Attached, Errno> {
    const SET_BPF: i32 = 0x4004_2408;
    let attribute = match counted {
        Counted::Tracepoint(number) => Attribute::new(perf::TRACEPOINT, number, 1),
        Counted::Clock(interval) => Attribute::new(perf::SOFTWARE, perf::CPU_CLOCK, interval).disabled(),
    };
    let event = attribute.open(cpu)?;
    perf_request(&event, SET_BPF, program.0.as_raw_fd())?;
    Ok(Attached(event))
}

fn perf_request(event: &OwnedFd, request: i32, argument: i32) -> Result<(), Errno> {
    // SAFETY: these requests take a number each.
    result(unsafe { libc::ioctl(event.as_raw_fd(), request as libc::c_ulong, argument) }.into()).map(drop)
}
