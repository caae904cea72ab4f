//! backend/bpf/error.rs: reasons why a program cannot be traced without the module.

use crate::backend::names::probe_name;
use kinst_base::probe::{Place, Probe};
use kinst_bpf::Unable;
use kinst_bpf::asm::AsmError;
use kinst_bpf::missing::Missing;
use kinst_bpf::program::Refusal;
use kinst_dif::layout::LayoutError;
use kinst_os::{Errno, errno_text};
use std::fmt;

/// The reason why a program cannot be traced without the module.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum EnableError {
    /// A probe of the program cannot be traced.
    #[error("without the module, {probe} cannot be traced: {why}")]
    Unable {
        /// The name of the probe: `kinst::f:7`.
        probe: String,
        /// The cause: its kind, its clauses, or the kernel's types.
        why: ProbeError,
    },
    /// The program as a whole cannot be traced.
    #[error("without the module, this cannot be traced: {0}")]
    Program(#[from] ProgramError),
    /// The directory of tracefs is missing or empty.
    #[error(
        "without the module, probes in the kernel's code, as of kinst, fbt and io:::done, need tracefs, which is not mounted"
    )]
    Tracefs,
    /// The directory of tracefs has no file `kprobe_events` (CONFIG_KPROBE_EVENTS).
    #[error(
        "without the module, probes in the kernel's code, as of kinst, fbt and io:::done, need kprobe events, which the kernel does not have"
    )]
    KprobeEvents,
    /// `ENOSYS` from a request.
    #[error("the kernel cannot run BPF programs: it has no bpf() system call")]
    NoBpf,
    /// `EPERM` or `EACCES` from a request.
    #[error("tracing without the module requires additional privileges: {0}")]
    Rights(Request),
    /// The lockdown level `confidentiality`, or a verifier that has no helper to read memory.
    #[error("kernel lockdown is at confidentiality: programs may not read the kernel's memory")]
    Lockdown,
    /// The verifier refuses the helper `bpf_probe_write_user`, which copyout() needs.
    #[error("the kernel does not let programs write to process memory")]
    WriteUser,
    /// The verifier finds the program too large or too complex.
    #[error("the program is too large for the verifier of the kernel's BPF")]
    TooLarge,
    /// `ENOMEM` or `E2BIG` from a request, or a buffer whose size overflows.
    #[error("the kernel does not have enough memory for the buffers")]
    Memory,
    /// `EMFILE` or `ENFILE` from a request.
    #[error("the limit on open files is too low for the programs and tracepoints")]
    Descriptors,
    /// Another error of a request.
    #[error("{request}: {errno}")]
    Request {
        /// The request that failed.
        request: Request,
        /// The kernel's error message.
        errno: String,
    },
    /// It is a bug of the compiler if the kernel's verifier refuses a program.
    #[error("the kernel refuses a program: {log}")]
    Verifier {
        /// The log of the verifier.
        log: String,
    },
}

/// The reason why a probe cannot be traced, known before anything is loaded.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ProbeError {
    /// A gate: `DTRACE_PROBE_ENABLED()` of a driver.
    #[error("its gate, DTRACE_PROBE_ENABLED(), can only be opened by the module")]
    Gate,
    /// A kind of probe without a BPF program.
    #[error("only the module has such a probe")]
    OfModule,
    /// The clauses of the probe cannot be made into a BPF program.
    #[error(transparent)]
    Clauses(#[from] Refusal),
    /// The kernel's types, which the probe needs, are missing or damaged.
    #[error(transparent)]
    Types(#[from] TypesError),
}

/// The reason why no part of a program can be traced.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ProgramError {
    /// The program's records have no layout: an action or DIFO is inconsistent.
    #[error(transparent)]
    Layout(#[from] LayoutError),
    /// The program uses something that BPF programs cannot have.
    #[error(transparent)]
    Missing(#[from] Missing),
    /// The code cannot be assembled.
    #[error(transparent)]
    Code(#[from] AsmError),
    /// The offsets of the per-CPU variables cannot be read from the kernel's memory.
    #[error("the kernel's per-CPU variables cannot be located")]
    NoPerCpuOffsets,
    /// The perf event of some CPU returned no time.
    #[error("perf does not provide the scheduler's clock")]
    NoClock,
    /// The title of the diagnostic.
    #[error("{0}")]
    NoKernel(String),
}

/// The reason why the kernel's types lack information that programs require.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TypesError {
    /// `/sys/kernel/btf/vmlinux` cannot be read.
    #[error("the kernel has no BTF (CONFIG_DEBUG_INFO_BTF)")]
    NoBtf,
    /// The path of a BTF file that cannot be parsed.
    #[error("{0} is damaged")]
    Damaged(&'static str),
    /// A member that BPF programs read is not in the types.
    #[error("the kernel's BTF has no struct {structure} with {path}")]
    NoMember {
        /// The C name of the struct: `task_struct`.
        structure: &'static str,
        /// The member's path in it.
        path: &'static str,
    },
    /// Neither `bpf_fentry_test1` nor `vfs_read` is in the types.
    #[error("the kernel's types have no functions")]
    NoFunctions,
}

/// The requests and files that the kernel may refuse.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Request {
    /// bpf(2): makes a map.
    CreateMap,
    /// bpf(2): sets a value in a map.
    UpdateMap,
    /// bpf(2): sets many values in a map.
    UpdateMapBatch,
    /// bpf(2): removes a key from a map.
    DeleteFromMap,
    /// bpf(2): loads a program.
    LoadProgram,
    /// perf_event_open(2): makes an event that a program is attached to, or a clock.
    OpenPerfEvent,
    /// bpf(2), or perf_event_open(2): attaches a program to instructions of a file.
    AttachUprobe,
    /// mmap(2) of a map's memory.
    Map,
    /// The directory of tracefs.
    Tracefs,
    /// The file `kprobe_events` of tracefs.
    KprobeEvents,
    /// The file `id` of a kprobe event.
    EventId,
    /// The list of possible CPUs.
    PossibleCpus,
}

impl fmt::Display for Request {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Request::CreateMap => "BPF_MAP_CREATE",
            Request::UpdateMap => "BPF_MAP_UPDATE_ELEM",
            Request::UpdateMapBatch => "BPF_MAP_UPDATE_BATCH",
            Request::DeleteFromMap => "BPF_MAP_DELETE_ELEM",
            Request::LoadProgram => "BPF_PROG_LOAD",
            Request::OpenPerfEvent => "perf_event_open",
            Request::AttachUprobe => "a uprobe",
            Request::Map => "mmap",
            Request::Tracefs => "/sys/kernel/tracing",
            Request::KprobeEvents => "kprobe_events",
            Request::EventId => "the id of an event",
            Request::PossibleCpus => "/sys/devices/system/cpu/possible",
        })
    }
}

impl Request {
    /// The next step if the process lacks privileges.
    fn help(self) -> &'static str {
        match self {
            Request::OpenPerfEvent | Request::AttachUprobe => {
                "where kernel.perf_event_paranoid is 3, CAP_SYS_ADMIN is needed too: sysctl -w kernel.perf_event_paranoid=2"
            }
            Request::Tracefs | Request::KprobeEvents => {
                "tracefs belongs to root: other users also need CAP_DAC_OVERRIDE"
            }
            Request::CreateMap
            | Request::UpdateMap
            | Request::UpdateMapBatch
            | Request::DeleteFromMap
            | Request::LoadProgram
            | Request::Map
            | Request::EventId
            | Request::PossibleCpus => {
                "run it as root, or with CAP_BPF, CAP_PERFMON and CAP_SYSLOG; dtrace -e compiles without privileges"
            }
        }
    }
}

impl EnableError {
    /// The next step for the user.
    pub fn help(&self) -> Option<&'static str> {
        Some(match self {
            EnableError::Tracefs => "mount -t tracefs tracefs /sys/kernel/tracing",
            EnableError::KprobeEvents => "boot a kernel with CONFIG_KPROBE_EVENTS, or load the module",
            EnableError::NoBpf => {
                "boot a kernel with CONFIG_BPF_SYSCALL and CONFIG_BPF_EVENTS, or load the module"
            }
            EnableError::Rights(request) => request.help(),
            EnableError::Lockdown => "boot without lockdown=confidentiality; lockdown=integrity is permitted",
            EnableError::WriteUser => "copyout() needs CAP_SYS_ADMIN, and a kernel that is not locked down",
            EnableError::TooLarge => "lower -x strsize, make clauses shorter, or load the module",
            EnableError::Memory => "lower the buffers: -b 256k, -x aggsize=256k",
            EnableError::Descriptors => "ulimit -n 65536, as root",
            EnableError::Verifier { .. } => "this is a bug of the compiler: please report it",
            EnableError::Unable { .. } | EnableError::Program(_) | EnableError::Request { .. } => {
                return None;
            }
        })
    }
}

/// Converts an error of the kernel: to the missing feature, or else to the request.
pub(super) fn request(request: Request) -> impl Fn(Errno) -> EnableError {
    move |errno| match errno {
        Errno::NOSYS => EnableError::NoBpf,
        Errno::PERM | Errno::ACCESS => EnableError::Rights(request),
        Errno::NOMEM | Errno::TOOBIG => EnableError::Memory,
        Errno::MFILE | Errno::NFILE => EnableError::Descriptors,
        errno => EnableError::Request { request, errno: errno_text(errno) },
    }
}

pub(super) fn of_file(request: Request) -> impl Fn(std::io::Error) -> EnableError {
    move |error| match error.kind() {
        std::io::ErrorKind::PermissionDenied => EnableError::Rights(request),
        _ => EnableError::Request { request, errno: error.to_string() },
    }
}

/// Names the probe that cannot be traced.
pub(super) fn unable(unable: Unable, probes: &[Probe]) -> EnableError {
    let name = |index: u32| probes.get(index as usize).map(probe_name).unwrap_or_default();
    match unable {
        Unable::Probe(index) => {
            let place = probes.get(index as usize).map(|probe| &probe.place);
            let why = match place {
                Some(Place::Gate { .. }) => ProbeError::Gate,
                _ => ProbeError::OfModule,
            };
            EnableError::Unable { probe: name(index), why }
        }
        Unable::Clauses { probe, why } => EnableError::Unable { probe: name(probe), why: why.into() },
        Unable::Layout(error) => ProgramError::from(error).into(),
        Unable::Program(error) => ProgramError::from(error).into(),
    }
}
