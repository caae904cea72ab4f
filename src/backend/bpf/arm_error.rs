//! backend/bpf/arm_error.rs: reasons why the kernel does not arm one probe of a program while it arms others.

use super::error::EnableError;
use super::found::PlaceError;
use kinst_os::{Errno, errno_text};

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum ArmError {
    #[error(transparent)]
    Place(#[from] PlaceError),
    #[error("the kernel permits no program at the tracepoint {0}")]
    NoTracepoint(String),
    #[error("the tracepoint {name} refuses programs: {}", errno_text(*.errno))]
    Tracepoint { name: String, errno: Errno },
    /// The kernel looks up functions by name.
    #[error("the kernel attached the trampoline to another function")]
    Elsewhere,
    #[error("the kernel refuses a trampoline there: {}", errno_text(*.0))]
    Trampoline(Errno),
    #[error("kprobe.multi refuses it: {}", errno_text(*.0))]
    Multi(Errno),
    /// The file of a place in a program cannot be found.
    #[error("its file is not there any more")]
    NoFile,
    /// The address is in no part of the file that is loaded.
    #[error("its address is not in its file")]
    NoOffset,
    #[error("{}", uprobe(*.0))]
    Uprobe(Errno),
    #[error("without the module it needs tracefs, which is not mounted")]
    Tracefs,
    #[error("without the module it needs kprobe events, which the kernel does not have")]
    NoKprobeEvents,
    /// The mark at a function's start.
    #[error("kprobe events treat it as the next instruction")]
    Mark,
    #[error(
        "kprobe events refuse it: ftrace does not trace its function, or the kernel permits no kprobes in it"
    )]
    NotTraced,
    #[error("kprobe events refuse it: the kernel does not recognize it as the start of an instruction")]
    NoBoundary,
    /// The kernel's error message.
    #[error("kprobe events refuse it: {0}")]
    KprobeEvents(String),
}

/// The kernel's reason to refuse an instruction of a program.
fn uprobe(errno: Errno) -> String {
    // ENOTSUPP, which is not an error of system calls.
    const NOT_SUPPORTED: i32 = 524;
    match errno.raw_os_error() {
        NOT_SUPPORTED => "the kernel permits no probe at this kind of instruction".to_owned(),
        _ => format!("the kernel refuses a probe there: {}", errno_text(errno)),
    }
}

impl ArmError {
    /// Converts the error of kprobe events for one place.
    pub(super) fn of_place(error: &std::io::Error) -> ArmError {
        match error.raw_os_error().map(Errno::from_raw_os_error) {
            Some(Errno::INVAL) => ArmError::NotTraced,
            Some(Errno::ILSEQ) => ArmError::NoBoundary,
            _ => ArmError::KprobeEvents(error.to_string()),
        }
    }

    /// Returns the reason if no place in the kernel's code can be traced; other probes can be.
    pub(super) fn of_all_places(error: &EnableError) -> Option<ArmError> {
        match error {
            EnableError::Tracefs => Some(ArmError::Tracefs),
            EnableError::KprobeEvents => Some(ArmError::NoKprobeEvents),
            EnableError::Unable { .. }
            | EnableError::Program(_)
            | EnableError::NoBpf
            | EnableError::Rights(_)
            | EnableError::Lockdown
            | EnableError::WriteUser
            | EnableError::TooLarge
            | EnableError::Memory
            | EnableError::Descriptors
            | EnableError::Request { .. }
            | EnableError::Verifier { .. } => None,
        }
    }

    /// The next step for the user.
    pub(crate) fn help(&self) -> Option<&'static str> {
        match self {
            ArmError::Tracefs => EnableError::Tracefs.help(),
            ArmError::NoKprobeEvents => EnableError::KprobeEvents.help(),
            ArmError::Mark => Some("trace the next instruction"),
            ArmError::NotTraced | ArmError::NoBoundary | ArmError::KprobeEvents(_) => {
                Some("the module can probe such places: -x backend=module")
            }
            ArmError::Place(_)
            | ArmError::NoTracepoint(_)
            | ArmError::Tracepoint { .. }
            | ArmError::Elsewhere
            | ArmError::Trampoline(_)
            | ArmError::NoFile
            | ArmError::NoOffset
            | ArmError::Uprobe(_)
            | ArmError::Multi(_) => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io;

    #[test]
    fn a_place_that_kprobe_events_refuse_is_the_modules() {
        let words = |errno: Errno| {
            ArmError::of_place(&io::Error::from_raw_os_error(errno.raw_os_error())).to_string()
        };
        assert!(
            words(Errno::INVAL)
                .ends_with("ftrace does not trace its function, or the kernel permits no kprobes in it")
        );
        assert!(
            words(Errno::ILSEQ).ends_with("the kernel does not recognize it as the start of an instruction")
        );
        assert_eq!(words(Errno::BUSY), "kprobe events refuse it: Device or resource busy (os error 16)");
        let help = ArmError::of_place(&io::ErrorKind::Other.into()).help();
        assert_eq!(help, Some("the module can probe such places: -x backend=module"));
    }

    #[test]
    fn only_what_is_of_all_places_leaves_other_probes_armed() {
        let of = |error: &EnableError| ArmError::of_all_places(error).and_then(|error| error.help());
        assert_eq!(of(&EnableError::Tracefs), EnableError::Tracefs.help());
        assert_eq!(of(&EnableError::KprobeEvents), EnableError::KprobeEvents.help());
        assert_eq!(ArmError::of_all_places(&EnableError::NoBpf), None);
    }
}
