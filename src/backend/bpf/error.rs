//! backend/bpf/error.rs: why a program is not traced without the module.

use crate::backend::names::probe_name;
use kinst_base::probe::{Place, Probe};
use kinst_bpf::Unable;
use kinst_bpf::asm::AsmError;
use kinst_bpf::missing::Missing;
use kinst_bpf::program::Refusal;
use kinst_dif::layout::LayoutError;
use kinst_os::{Errno, errno_text};
use std::fmt;

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum EnableError {
    #[error("without the module, {probe} cannot be traced: {why}")]
    Unable { probe: String, why: ProbeError },
    #[error("without the module, this cannot be traced: {0}")]
    Program(#[from] ProgramError),
    #[error(
        "without the module, probes in the kernel's code, as of kinst, fbt and io:::done, need tracefs, which is not mounted"
    )]
    Tracefs,
    #[error(
        "without the module, probes in the kernel's code, as of kinst, fbt and io:::done, need kprobe events, which the kernel does not have"
    )]
    KprobeEvents,
    #[error("the kernel cannot run programs of BPF: it has no system call for them")]
    NoBpf,
    #[error("tracing without the module requires additional privileges: {0}")]
    Rights(Request),
    #[error("kernel lockdown is at confidentiality: programs may not read the kernel's memory")]
    Lockdown,
    #[error("the kernel lets no program write to the memory of processes")]
    WriteUser,
    #[error("the strings are too long for what the program does with them")]
    Strings,
    #[error("the kernel has not enough memory for the buffers")]
    Memory,
    #[error("this process may not have as many descriptors open as there are programs and tracepoints")]
    Descriptors,
    #[error("{request}: {errno}")]
    Request { request: Request, errno: String },
    /// It is a bug if the kernel's verifier has anything to say.
    #[error("the kernel refuses a program: {log}")]
    Verifier { log: String },
}

/// Why a probe cannot be traced, as is known before anything is loaded.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ProbeError {
    #[error("its gate, DTRACE_PROBE_ENABLED(), can only be opened by the module")]
    Gate,
    #[error("only the module has such a probe")]
    OfModule,
    #[error(transparent)]
    Clauses(#[from] Refusal),
    #[error(transparent)]
    Types(#[from] TypesError),
}

/// Why nothing of a program can be traced.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ProgramError {
    #[error(transparent)]
    Layout(#[from] LayoutError),
    #[error(transparent)]
    Missing(#[from] Missing),
    #[error(transparent)]
    Code(#[from] AsmError),
    #[error("the kernel does not say where its CPUs have their variables")]
    NoPerCpuOffsets,
    #[error("perf does not tell the scheduler's clock")]
    NoClock,
    /// The title of the diagnostic.
    #[error("{0}")]
    NoKernel(String),
}

/// Why the kernel's types do not say what programs have to know.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TypesError {
    #[error("the kernel has no BTF (CONFIG_DEBUG_INFO_BTF)")]
    NoBtf,
    #[error("{0} is damaged")]
    Damaged(&'static str),
    #[error("the kernel's BTF has no struct {structure} with {path}")]
    NoMember { structure: &'static str, path: &'static str },
    #[error("the kernel's types have no functions")]
    NoFunctions,
}

/// The requests and files that the kernel may refuse.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Request {
    CreateMap,
    UpdateMap,
    UpdateMapBatch,
    DeleteFromMap,
    LoadProgram,
    OpenPerfEvent,
    Map,
    Tracefs,
    KprobeEvents,
    EventId,
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
            Request::Map => "mmap",
            Request::Tracefs => "/sys/kernel/tracing",
            Request::KprobeEvents => "kprobe_events",
            Request::EventId => "the id of an event",
            Request::PossibleCpus => "/sys/devices/system/cpu/possible",
        })
    }
}

impl Request {
    /// The next step where the process has not the rights.
    fn help(self) -> &'static str {
        match self {
            Request::OpenPerfEvent => {
                "where kernel.perf_event_paranoid is 3, CAP_SYS_ADMIN is needed too: sysctl -w kernel.perf_event_paranoid=2"
            }
            Request::Tracefs | Request::KprobeEvents => {
                "tracefs is root's: other users need CAP_DAC_OVERRIDE, too"
            }
            Request::CreateMap
            | Request::UpdateMap
            | Request::UpdateMapBatch
            | Request::DeleteFromMap
            | Request::LoadProgram
            | Request::Map
            | Request::EventId
            | Request::PossibleCpus => {
                "run it as root, or with CAP_BPF, CAP_PERFMON and CAP_SYSLOG; dtrace -e compiles without"
            }
        }
    }
}

impl EnableError {
    /// The next step.
    pub fn help(&self) -> Option<&'static str> {
        Some(match self {
            EnableError::Tracefs => "mount -t tracefs tracefs /sys/kernel/tracing",
            EnableError::KprobeEvents => "boot a kernel with CONFIG_KPROBE_EVENTS, or load the module",
            EnableError::NoBpf => {
                "boot a kernel with CONFIG_BPF_SYSCALL and CONFIG_BPF_EVENTS, or load the module"
            }
            EnableError::Rights(request) => request.help(),
            EnableError::Lockdown => "boot without lockdown=confidentiality; integrity is no hindrance",
            EnableError::WriteUser => "copyout() needs CAP_SYS_ADMIN, and a kernel that is not locked down",
            EnableError::Strings => "lower -x strsize, or load the module",
            EnableError::Memory => "lower the buffers: -b 256k, -x aggsize=256k",
            EnableError::Descriptors => "ulimit -n 65536, as root",
            EnableError::Verifier { .. } => "this is a bug of the compiler: please report it",
            EnableError::Unable { .. } | EnableError::Program(_) | EnableError::Request { .. } => {
                return None;
            }
        })
    }
}

/// The error for an answer of the kernel: the thing that is missing, or else the request.
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

/// Says which probe it is that cannot be.
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
