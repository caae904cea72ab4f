//! backend/bpf/means.rs: the kernel's means to run a program at a function.

use super::error::{EnableError, TypesError};
use super::events::Tracefs;
use super::kernel::Types;
use kinst_bpf::asm::Assembler;
use kinst_bpf::insn::Reg::R0;
use kinst_os::bpf::{Function, Program, ProgramKind};
use kinst_os::{Errno, errno_text};
use std::sync::OnceLock;

/// The reason why the kernel lacks one of the means.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum MeansError {
    /// The directory of tracefs has no file `kprobe_events`.
    #[error("the kernel has no kprobe events (CONFIG_KPROBE_EVENTS)")]
    NoKprobeEvents,
    /// The directory of tracefs is missing or empty.
    #[error("tracefs is not mounted")]
    NoTracefs,
    /// Another error of tracefs: missing privileges.
    #[error(transparent)]
    Tracefs(Box<EnableError>),
    /// The kernel's types, which define a trampoline's function, are missing or damaged.
    #[error(transparent)]
    Types(#[from] TypesError),
    /// `EOPNOTSUPP` from an attempt to attach.
    #[error("the kernel has no kprobe.multi (CONFIG_FPROBE)")]
    NoFprobe,
    /// `EINVAL` from an attempt to attach.
    #[error("the kernel has no kprobe.multi, which Linux 5.18 added")]
    NoMulti,
    /// Tasks RCU may wait forever.
    #[error("in a PID namespace, a kernel before 6.9 can hang when a trampoline is removed")]
    Namespace,
    /// The kernel has neither uprobe.multi nor perf events at instructions of files.
    #[error("the kernel has no uprobes (CONFIG_UPROBE_EVENTS)")]
    NoUprobes,
    /// Another error from an attempt to load or attach a program.
    #[error("the kernel refuses programs of {of}: {}", errno_text(*.errno))]
    Refused {
        /// The kind of the program: `fentry`, `kprobe.multi`.
        of: &'static str,
        /// The kernel's error.
        errno: Errno,
    },
}

/// The kernel's means to run a program at instructions of a file, in all processes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Uprobes {
    /// Many instructions at once: uprobe.multi, which Linux 6.6 added.
    Multi,
    /// A perf event of this type for each instruction.
    Events(u32),
}

/// The means of the kernel, or the reason why one is missing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Means {
    /// Events at instructions.
    pub kprobes: Result<(), MeansError>,
    /// One program for many functions: kprobe.multi.
    pub multi: Result<(), MeansError>,
    /// Trampolines, tested on first use, as the test needs the kernel's types.
    fentry: OnceLock<Result<(), MeansError>>,
}

impl Means {
    /// Queries the kernel once. Mounts tracefs if it is not mounted.
    pub fn get() -> &'static Means {
        static MEANS: OnceLock<Means> = OnceLock::new();
        MEANS.get_or_init(|| Means::beside(kprobes(Tracefs::find_or_mount())))
    }

    fn beside(kprobes: Result<(), MeansError>) -> Means {
        let multi = may_wait_for_tasks().and_then(|()| multi());
        Means { kprobes, multi, fentry: OnceLock::new() }
    }

    #[cfg(test)]
    /// Means for a test.
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

    /// Places in programs.
    pub fn programs(&self) -> &'static Result<Uprobes, MeansError> {
        uprobes()
    }

    /// Whether kprobe.multi or kprobe events are available.
    pub fn is_more_than_fentry(&self) -> bool {
        self.multi.is_ok() || self.kprobes.is_ok()
    }

    /// Returns the reasons if no function can be traced: neither trampolines nor kprobes are available.
    pub fn nothing(&self) -> Option<(MeansError, MeansError)> {
        if self.is_more_than_fentry() {
            return None;
        }
        self.fentry().clone().err().zip(self.kprobes.clone().err())
    }
}

/// Queries the kernel without changing the machine.
pub fn means() -> Means {
    Means::beside(kprobes(Tracefs::find()))
}

/// The first release whose tasks RCU does not wait for an exiting task.
const ENDS_ARE_NOT_WAITED_FOR: (u32, u32) = (6, 9);

/// Whether a process of this session may wait for tasks RCU, as it does when it detaches a program from
/// ftrace's call. Before 6.9, tasks RCU waits for the init process of a PID namespace while it exits, and
/// that process waits for all others in the namespace. If one of these waits for tasks RCU, all three are
/// deadlocked, and so is everything that changes the kernel's text.
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

/// Functions that nearly all kernels have; the first exists for such tests.
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
        // The request was valid up to the addresses.
        Err(Errno::FAULT) | Ok(()) => Ok(()),
        Err(Errno::OPNOTSUPP) => Err(MeansError::NoFprobe),
        Err(Errno::INVAL) => Err(MeansError::NoMulti),
        Err(errno) => Err(refused(errno)),
    }
}

/// Returns the means for places in programs; the kernel is asked once.
pub(super) fn uprobes() -> &'static Result<Uprobes, MeansError> {
    static UPROBES: OnceLock<Result<Uprobes, MeansError>> = OnceLock::new();
    UPROBES.get_or_init(|| {
        // The request is valid up to the file.
        let multi = try_load(ProgramKind::UprobeMulti).and_then(|program| program.at_no_file());
        match (multi, kinst_os::bpf::uprobe_events()) {
            (Err(Errno::BADF), _) => Ok(Uprobes::Multi),
            // Missing rights are reported when programs are loaded.
            (_, Some(kind)) => Ok(Uprobes::Events(kind)),
            (_, None) => Err(MeansError::NoUprobes),
        }
    })
}

/// Whether the kernel sets the probes of one process only there; it is asked once. The programs compare the process, too.
pub(super) fn tells_processes() -> bool {
    static TELLS: OnceLock<bool> = OnceLock::new();
    *TELLS.get_or_init(|| try_load(ProgramKind::UprobeMulti).is_ok_and(|program| program.tells_processes()))
}

/// Loads an empty program.
pub(super) fn try_load(kind: ProgramKind) -> Result<Program, Errno> {
    let mut asm = Assembler::default();
    asm.mov(R0, 0);
    asm.exit();
    let code = asm.finish().map_err(|_| Errno::INVAL)?;
    Program::try_load(kind, &code.bytes(|map| map))
}
