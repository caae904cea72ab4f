//! os/bpf/program.rs: loading a program, and its kind.

use super::syscall::{KPROBE_MULTI, Load, Run, UPROBE_MULTI, bpf, command, last_word, owned};
use super::types::{self, Types};
use rustix::io::Errno;
use std::os::fd::{AsRawFd, OwnedFd};

/// The purpose that a program is loaded for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProgramKind {
    /// One kprobe, or a uprobe.
    Kprobe,
    /// The entries, or returns, of many functions at once (kprobe.multi).
    KprobeMulti,
    /// Instructions of programs, many at once (uprobe.multi).
    UprobeMulti,
    /// An overflow of a perf event.
    PerfEvent,
    /// A tracepoint, with the arguments that the kernel passes to it.
    RawTracepoint,
    /// The entry of a function, through a BPF trampoline.
    Fentry(Function),
    /// The return of a function, through a BPF trampoline.
    Fexit(Function),
}

/// A kernel function, identified in the types of its module.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Function {
    /// Id of the function in those types.
    pub number: u32,
    /// Descriptor of the module's types; 0 for the kernel proper.
    pub types: u32,
}

impl ProgramKind {
    /// The program type and the attach type, as the kernel numbers them.
    fn numbers(self) -> (u32, u32) {
        match self {
            ProgramKind::Kprobe => (2, 0),
            ProgramKind::KprobeMulti => (2, KPROBE_MULTI),
            ProgramKind::UprobeMulti => (2, UPROBE_MULTI),
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

/// A program that the kernel has verified.
#[derive(Debug)]
pub struct Program(pub(super) OwnedFd);

impl Program {
    /// Loads instructions. An error includes the verifier's log.
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
        // SAFETY: as above, and the kernel writes at most the size of the log.
        let again = unsafe { bpf(command::PROG_LOAD, &mut load) };
        let text = log.split(|byte| *byte == 0).next().unwrap_or_default();
        match again {
            Ok(fd) => Ok(Program(owned(fd))),
            Err(_) => Err((errno, String::from_utf8_lossy(text).into_owned())),
        }
    }

    /// Loads the instructions of one function, without type information.
    pub fn try_load(kind: ProgramKind, insns: &[u8]) -> Result<Program, Errno> {
        let mut load = Load::new(kind, insns);
        // SAFETY: the kernel reads the instructions and the license, which live until the call returns.
        unsafe { bpf(command::PROG_LOAD, &mut load).map(|fd| Program(owned(fd))) }
    }

    /// Runs a raw tracepoint's program now, in this process; on a given CPU, if any.
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

    /// How often the program was skipped because it, or another program, was running on the CPU. Kernels
    /// before 6.7 count that only for programs of tracepoints.
    pub fn missed(&self) -> u64 {
        last_word::<27>(&self.0)
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
