//! backend/module/error.rs: reasons why the module could not be reached, or the error that it returned.

use crate::backend::tracing::RequestError;
use kinst_base::uapi;
use kinst_dif::object::EncodeError;
use kinst_host::archive;
use kinst_host::distribution::{Family, Part};
use kinst_host::module;
use std::borrow::Cow;

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    #[error("DTrace requires additional privileges")]
    NotRoot,
    #[error("DTrace device not available: the kernel module kinst is not loaded")]
    NotLoaded,
    #[error("DTrace device not available: the kernel module kinst cannot be loaded: {}", .0.why)]
    Unloadable(module::Explained),
    #[error("DTrace device not available: kinst is loaded, but {} does not exist", uapi::DEVICE)]
    NoNode,
    #[error("the kernel refuses to be traced")]
    Forbidden,
    #[error("{}", abi_text(*.ours, *.theirs))]
    Abi { ours: u32, theirs: u32 },
    #[error("the loaded kernel module kinst and this dtrace have incompatible versions")]
    Interface,
    #[error("the kernel module has reached its limit of sessions")]
    Busy,
    #[error("the buffers of all sessions together are larger than the kernel module allows")]
    Together,
    #[error("kernel lockdown forbids actions that change the system")]
    Lockdown,
    #[error("the kernel does not have enough memory for the buffers")]
    Memory,
    #[error("the buffers are larger than the kernel module allows")]
    Buffers,
    #[error("the program is larger than the kernel module allows")]
    Limit,
    #[error("the kernel module refused the program: {}", verify_text(.0))]
    Verify(uapi::Error),
    #[error("the module does not trace programs")]
    OfPrograms,
    #[error("DIF program content is invalid: {0}")]
    Encode(#[from] EncodeError),
    #[error("{}: {errno}", uapi::DEVICE)]
    Open { errno: String },
    #[error(transparent)]
    Request(#[from] RequestError),
}

impl Error {
    /// The common prefix of the messages about a missing module.
    pub const TITLE: &str = "DTrace device not available: ";

    /// The next step for the user.
    pub fn help(&self) -> Option<Cow<'static, str>> {
        match self {
            Error::Unloadable(explained) => {
                let after = if explained.reboot { ", then reboot" } else { "" };
                return Some(match &explained.mend {
                    Some(mend) => format!("{mend}{after} (dtrace doctor shows all problems)").into(),
                    None => "dtrace doctor shows all problems".into(),
                });
            }
            Error::Abi { ours, theirs } if theirs > ours => {
                let mend = archive::install(Family::running(), Part::Tool, &kinst_os::release());
                return Some(
                    mend.unwrap_or_else(|| "install the dtrace of the module's version".to_owned()).into(),
                );
            }
            Error::Abi { .. } | Error::Interface => {
                return Some("modprobe -r kinst; the next run loads the installed module".into());
            }
            _ => {}
        }
        self.fixed_help().map(Cow::Borrowed)
    }

    /// A short reason why the module is unavailable; `None` for other errors.
    pub fn absence(&self) -> Option<&'static str> {
        match self {
            Error::NotLoaded => Some("it is not loaded"),
            Error::Unloadable(explained) => Some(explained.short),
            Error::NoNode => Some("its device has no node in /dev"),
            Error::NotRoot => Some("it is accessible only to root"),
            Error::Forbidden
            | Error::Abi { .. }
            | Error::Interface
            | Error::Busy
            | Error::Together
            | Error::Lockdown
            | Error::Memory
            | Error::Buffers
            | Error::Limit
            | Error::Verify(_)
            | Error::OfPrograms
            | Error::Encode(_)
            | Error::Open { .. }
            | Error::Request(_) => None,
        }
    }

    /// The one-line notice that a run does not use the module.
    pub fn notice(&self) -> Option<String> {
        Some(format!("tracing without the module: {} (dtrace doctor)", self.absence()?))
    }

    fn fixed_help(&self) -> Option<&'static str> {
        match self {
            Error::OfPrograms => Some("trace them by BPF: -x backend=bpf"),
            Error::NotRoot => Some(
                "run it as root, or with CAP_BPF, CAP_PERFMON and CAP_SYSLOG; dtrace -e compiles without privileges",
            ),
            Error::NotLoaded => {
                Some("load it with 'modprobe kinst' (or insmod kmod/kinst.ko); dtrace -e compiles without it")
            }
            Error::NoNode => Some("dtrace doctor prints the command that makes it"),
            Error::Forbidden => Some(
                "CAP_SYS_ADMIN is needed, and kernel lockdown must be off: see /sys/kernel/security/lockdown",
            ),
            Error::Busy => Some("end another dtrace, or raise /sys/module/kinst/parameters/max_sessions"),
            Error::Together => Some(
                "end another dtrace, lower the buffers (-b 256k, -x aggsize=256k), or raise \
                 /sys/module/kinst/parameters/max_total_memory",
            ),
            Error::Lockdown => Some("trace without -w; see /sys/kernel/security/lockdown"),
            Error::Memory | Error::Buffers => Some("lower the buffers: -b 256k, -x aggsize=256k"),
            Error::Limit => Some(
                "trace fewer places, lower the buffers, or raise the limits in /sys/module/kinst/parameters",
            ),
            Error::Verify(error) if option(error).is_some() => Some("raise it with -x"),
            Error::Verify(_) => Some("this is a bug of the compiler: -S shows the code; please report it"),
            Error::Unloadable(_)
            | Error::Abi { .. }
            | Error::Interface
            | Error::Open { .. }
            | Error::Encode(_)
            | Error::Request(_) => None,
        }
    }
}

/// Returns the option that the module names by its number if the program exceeds a limit.
fn option(error: &uapi::Error) -> Option<&'static str> {
    if uapi::Verify(error.code) != uapi::Verify::OPTION {
        return None;
    }
    ["bufsize", "aggsize", "dynvarsize", "specsize", "nspec", "strsize"].get(error.index as usize).copied()
}

/// States which of the two is older.
fn abi_text(ours: u32, theirs: u32) -> String {
    let order = if ours < theirs { "older" } else { "newer" };
    format!(
        "this dtrace is {order} than the loaded kernel module kinst: it has version {ours} of the interface between \
         them, the module version {theirs}"
    )
}

fn verify_text(error: &uapi::Error) -> String {
    if let Some(option) = option(error) {
        return format!("{option} is too small for it");
    }
    let code = uapi::Verify(error.code).name().map_or_else(|| error.code.to_string(), str::to_owned);
    let mut text = code;
    if error.difo != uapi::NONE {
        text += &format!(", DIF object {}", error.difo);
    }
    if error.index != uapi::NONE {
        text += &format!(", entry {}", error.index);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_notice_is_one_line_of_a_hundred_columns() {
        let unloadable = module::explanations().into_iter().map(Error::Unloadable);
        let errors: Vec<Error> =
            [Error::NotLoaded, Error::NoNode, Error::NotRoot].into_iter().chain(unloadable).collect();
        let notices: Vec<String> = errors.iter().filter_map(Error::notice).collect();
        assert_eq!(notices.len(), errors.len());
        for notice in notices {
            assert!("dtrace: ".len() + notice.len() <= 100 && !notice.contains('\n'), "{notice}");
            assert!(notice.ends_with("(dtrace doctor)"), "{notice}");
        }
        assert_eq!(Error::Busy.notice(), None);
    }

    #[test]
    fn an_older_tool_and_an_older_module_are_two_messages() {
        let older = Error::Abi { ours: 1, theirs: 2 };
        assert_eq!(
            older.to_string(),
            "this dtrace is older than the loaded kernel module kinst: it has version 1 of the interface between them, \
             the module version 2"
        );
        let newer = Error::Abi { ours: 3, theirs: 2 };
        assert!(newer.to_string().starts_with("this dtrace is newer than"), "{newer}");
        assert!(newer.help().is_some_and(|help| help.starts_with("modprobe -r kinst")));
    }
}
