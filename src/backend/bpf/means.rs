//! backend/bpf/means.rs: what the kernel has to make a program run at a function.

use super::error::{EnableError, TypesError};
use super::events::Tracefs;
use super::kernel::Types;
use kinst_bpf::asm::Assembler;
use kinst_bpf::insn::Reg::R0;
use kinst_os::bpf::{Function, Program, ProgramKind};
use kinst_os::{Errno, errno_text};
use std::sync::OnceLock;

/// Why the kernel lacks one of the means.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum MeansError {
    /// The directory of tracefs has no file `kprobe_events`.
    #[error("the kernel has no kprobe events (CONFIG_KPROBE_EVENTS)")]
    NoKprobeEvents,
    /// The directory of tracefs is not there or has no files.
    #[error("tracefs is not mounted")]
    NoTracefs,
    /// Another error of tracefs: missing rights.
    #[error(transparent)]
    Tracefs(Box<EnableError>),
    /// The kernel's types, in which a trampoline's function is looked up, are missing or damaged.
    #[error(transparent)]
    Types(#[from] TypesError),
    /// `EOPNOTSUPP` from an attempt to attach.
    #[error("the kernel has no kprobe.multi (CONFIG_FPROBE)")]
    NoFprobe,
    /// `EINVAL` from an attempt to attach.
    #[error("the kernel has no kprobe.multi, which Linux 5.18 added")]
    NoMulti,
    /// Tasks RCU may wait for ever.
    #[error("in a PID namespace, a kernel before 6.9 can hang when a trampoline is removed")]
    Namespace,
    /// Another error from an attempt to load or attach a program.
    #[error("the kernel refuses programs of {of}: {}", errno_text(*.errno))]
    Refused {
        /// The kind of the program: `fentry`, `kprobe.multi`.
        of: &'static str,
        /// The kernel's error.
        errno: Errno,
    },
}

/// The means that the kernel has, each with the reason why it does not.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Means {
    /// Events at instructions.
    pub kprobes: Result<(), MeansError>,
    /// One program for many functions: kprobe.multi.
    pub multi: Result<(), MeansError>,
    /// Trampolines, known once they are asked for: that takes the kernel's types.
    fentry: OnceLock<Result<(), MeansError>>,
}

impl Means {
    /// Asks the kernel, once. Where tracefs is not mounted, it is now.
    pub fn get() -> &'static Means {
        static MEANS: OnceLock<Means> = OnceLock::new();
        MEANS.get_or_init(|| Means::beside(kprobes(Tracefs::find_or_mount())))
    }

    fn beside(kprobes: Result<(), MeansError>) -> Means {
        let multi = may_wait_for_tasks().and_then(|()| multi());
        Means { kprobes, multi, fentry: OnceLock::new() }
    }

    #[cfg(test)]
    /// The means as a test has them.
    pub fn new(
        kprobes: Result<(), MeansError>,
        multi: Result<(), MeansError>,
        fentry: Result<(), MeansError>,
    ) -> Means {
        Means { kprobes, multi, fentry: OnceLock::from(fentry) }
    }

    /// Trampolines: fentry and fexit.
    pub fn fentry(&self) -> &Result<(), MeansError> {
        self.fentry.get_or_init(|| may_wait_for_tasks().and_then(|()| fentry()))
    }

    /// Whether there are kprobe.multi or kprobe events.
    pub fn is_more_than_fentry(&self) -> bool {
        self.multi.is_ok() || self.kprobes.is_ok()
    }

    /// Why no function can be traced, if none can: no trampolines, and no kprobes.
    pub fn nothing(&self) -> Option<(MeansError, MeansError)> {
        if self.is_more_than_fentry() {
            return None;
        }
        self.fentry().clone().err().zip(self.kprobes.clone().err())
    }
}

/// Asks the kernel, and leaves the machine as it is.
pub fn means() -> Means {
    Means::beside(kprobes(Tracefs::find()))
}

/// The first release whose tasks RCU does not wait for a task that ends.
const ENDS_ARE_NOT_WAITED_FOR: (u32, u32) = (6, 9);

/// Whether a process of this session may wait for tasks RCU, as it does when it takes a program away from ftrace's call.
/// Before 6.9, tasks RCU waits for the first process of a PID namespace while that one ends, and so waits for all others in
/// it: if one of them waits for tasks RCU, none of the three ever goes on, and with them all that changes the kernel's text.
fn may_wait_for_tasks() -> Result<(), MeansError> {
    let safe =
        kinst_os::pid_namespace().is_none() || kinst_os::release_number() >= Some(ENDS_ARE_NOT_WAITED_FOR);
    if safe { Ok(()) } else { Err(MeansError::Namespace) }
}

fn kprobes(tracefs: Result<Tracefs, EnableError>) -> Result<(), MeansError> {
    match tracefs {
        Ok(_) => Ok(()),
        Err(EnableError::KprobeEvents) => Err(MeansError::NoKprobeEvents),
        Err(EnableError::Tracefs) => Err(MeansError::NoTracefs),
        Err(error) => Err(MeansError::Tracefs(Box::new(error))),
    }
}

/// Functions that nearly all kernels have; the first is there to be tried.
const TRIED: [&str; 2] = ["bpf_fentry_test1", "vfs_read"];

fn fentry() -> Result<(), MeansError> {
    let types = Types::get()?;
    let number = TRIED.iter().find_map(|name| types.function(name)).ok_or(TypesError::NoFunctions)?;
    match try_load(ProgramKind::Fentry(Function { number, types: 0 })) {
        Ok(_) => Ok(()),
        Err(errno) => Err(MeansError::Refused { of: "fentry", errno }),
    }
}

fn multi() -> Result<(), MeansError> {
    let refused = |errno| MeansError::Refused { of: "kprobe.multi", errno };
    let program = try_load(ProgramKind::KprobeMulti).map_err(refused)?;
    match program.at_no_functions() {
        // It was about to read their addresses.
        Err(Errno::FAULT) | Ok(()) => Ok(()),
        Err(Errno::OPNOTSUPP) => Err(MeansError::NoFprobe),
        Err(Errno::INVAL) => Err(MeansError::NoMulti),
        Err(errno) => Err(refused(errno)),
    }
}

/// Loads a program of nothing.
pub(super) fn try_load(kind: ProgramKind) -> Result<Program, Errno> {
    let mut asm = Assembler::default();
    asm.mov(R0, 0);
    asm.exit();
    let code = asm.finish().map_err(|_| Errno::INVAL)?;
    Program::try_load(kind, &code.bytes(|map| map))
}
