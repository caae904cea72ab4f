//! backend/bpf/error.rs: why a program is not traced without the module.

use crate::backend::refused::probe_name;
use crate::bpf::Unable;
use crate::os::{Errno, errno_text};
use crate::probe::{Place, Probe};

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum EnableError {
    #[error("without the module, {probe} cannot be traced: {why}")]
    Unable { probe: String, why: String },
    #[error("without the module, this cannot be traced: {0}")]
    Layout(String),
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
    Rights(&'static str),
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
    #[error("{what}: {errno}")]
    Request { what: String, errno: String },
    /// It is a bug if the kernel's verifier has anything to say.
    #[error("the kernel refuses a program: {log}")]
    Verifier { log: String },
}

impl EnableError {
    /// What to do next.
    pub fn help(&self) -> Option<&'static str> {
        Some(match self {
            EnableError::Tracefs => "mount -t tracefs tracefs /sys/kernel/tracing",
            EnableError::KprobeEvents => "boot a kernel with CONFIG_KPROBE_EVENTS, or load the module",
            EnableError::NoBpf => {
                "boot a kernel with CONFIG_BPF_SYSCALL and CONFIG_BPF_EVENTS, or load the module"
            }
            EnableError::Rights("perf_event_open") => {
                "where kernel.perf_event_paranoid is 3, CAP_SYS_ADMIN is needed too: sysctl -w kernel.perf_event_paranoid=2"
            }
            EnableError::Rights("/sys/kernel/tracing" | "kprobe_events") => {
                "tracefs is root's: other users need CAP_DAC_OVERRIDE, too"
            }
            EnableError::Rights(_) => {
                "run it as root, or with CAP_BPF, CAP_PERFMON and CAP_SYSLOG; dtrace -e compiles without"
            }
            EnableError::Lockdown => "boot without lockdown=confidentiality; integrity is no hindrance",
            EnableError::WriteUser => "copyout() needs CAP_SYS_ADMIN, and a kernel that is not locked down",
            EnableError::Strings => "lower -x strsize, or load the module",
            EnableError::Memory => "lower the buffers: -b 256k, -x aggsize=256k",
            EnableError::Descriptors => "ulimit -n 65536, as root",
            EnableError::Verifier { .. } => "this is a bug of the compiler: please report it",
            _ => return None,
        })
    }

    /// Why no place in the kernel's code can be traced, where that is the matter; other probes can.
    pub fn of_all_places(&self) -> Option<&'static str> {
        match self {
            EnableError::Tracefs => Some("without the module it needs tracefs, which is not mounted"),
            EnableError::KprobeEvents => {
                Some("without the module it needs kprobe events, which the kernel does not have")
            }
            _ => None,
        }
    }
}

/// What the kernel answers where something is missing, or else which request it was.
pub fn request(what: &'static str) -> impl Fn(Errno) -> EnableError {
    move |errno| match errno {
        Errno::NOSYS => EnableError::NoBpf,
        Errno::PERM | Errno::ACCESS => EnableError::Rights(what),
        Errno::NOMEM | Errno::TOOBIG => EnableError::Memory,
        Errno::MFILE | Errno::NFILE => EnableError::Descriptors,
        errno => EnableError::Request { what: what.to_owned(), errno: errno_text(errno) },
    }
}

pub fn of_file(what: &'static str) -> impl Fn(std::io::Error) -> EnableError {
    move |error| match error.kind() {
        std::io::ErrorKind::PermissionDenied => EnableError::Rights(what),
        _ => EnableError::Request { what: what.to_owned(), errno: error.to_string() },
    }
}

/// What to do where kprobe events do not take a place.
pub const BY_THE_MODULE: &str = "the module has such places: -x backend=module";

/// Why kprobe events do not take a place.
pub fn of_place(error: &std::io::Error) -> String {
    let why = match error.raw_os_error().map(Errno::from_raw_os_error) {
        Some(Errno::INVAL) => "ftrace does not trace its function, or the kernel lets no kprobe into it",
        Some(Errno::ILSEQ) => "the kernel does not take it for the beginning of an instruction",
        _ => return format!("kprobe events refuse it: {error}"),
    };
    format!("kprobe events refuse it: {why}")
}

/// Says which probe it is that cannot be.
pub fn unable(unable: Unable, probes: &[Probe]) -> EnableError {
    let name = |index: u32| probes.get(index as usize).map(probe_name).unwrap_or_default();
    match unable {
        Unable::Probe(index) => {
            let place = probes.get(index as usize).map(|probe| &probe.place);
            let why = match place {
                Some(Place::Gate { .. }) => {
                    "its gate, DTRACE_PROBE_ENABLED(), can only be opened by the module"
                }
                _ => "only the module has such a probe",
            };
            EnableError::Unable { probe: name(index), why: why.to_owned() }
        }
        Unable::Clauses { probe, why } => EnableError::Unable { probe: name(probe), why: why.to_string() },
        Unable::Layout(error) => EnableError::Layout(error.to_string()),
        Unable::Program(error) => EnableError::Layout(error.to_string()),
    }
}
