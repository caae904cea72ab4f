//! driver/: the interface to the kernel module: programs go in, records come back.

pub mod buffer;
pub mod ioctl;
pub mod live;
pub mod reason;
pub mod session;

use crate::diag::{Diagnostic, Tag};
use crate::uapi;

/// Why the kernel could not be reached, or the error that it returned.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    #[error("DTrace requires additional privileges")]
    NotRoot,
    #[error("DTrace device not available: the kernel module kinst is not loaded")]
    NotLoaded,
    #[error("the kernel refuses to be traced")]
    Forbidden,
    #[error("the kernel module speaks version {theirs} of its interface, this dtrace version {ours}")]
    Abi { ours: u32, theirs: u32 },
    #[error("the kernel module has no room for another session")]
    Busy,
    #[error("the buffers of all sessions together are larger than the kernel module allows")]
    Together,
    #[error("kernel lockdown forbids actions that change the system")]
    Lockdown,
    #[error("the kernel has not enough memory for the buffers")]
    Memory,
    #[error("the buffers are larger than the kernel module allows")]
    Buffers,
    #[error("the program is larger than the kernel module allows")]
    Limit,
    #[error("the kernel module refused the program: {}", verify_text(.0))]
    Verify(uapi::Error),
    #[error("{}: {errno}", uapi::DEVICE)]
    Open { errno: String },
    #[error("{}: {request}: {errno}", uapi::DEVICE)]
    Request { request: &'static str, errno: String },
}

impl Error {
    pub fn diagnostic(&self) -> Diagnostic {
        let diagnostic = Diagnostic::error(Tag("D_KERNEL"), self.to_string());
        match self.help() {
            Some(help) => diagnostic.help(help),
            None => diagnostic,
        }
    }

    /// What to do next.
    pub fn help(&self) -> Option<&'static str> {
        match self {
            Error::NotRoot => Some("run it as root; dtrace -e compiles without"),
            Error::NotLoaded => {
                Some("load it with 'modprobe kinst' (or insmod kmod/kinst.ko); dtrace -e compiles without")
            }
            Error::Forbidden => Some(
                "CAP_SYS_ADMIN is needed, and kernel lockdown must be off: see /sys/kernel/security/lockdown",
            ),
            Error::Abi { .. } => Some("unload the module (rmmod kinst) and load the one of this version"),
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
            Error::Open { .. } | Error::Request { .. } => None,
        }
    }
}

/// Returns the option that the module names, by its number, when the program does not fit into it.
fn option(error: &uapi::Error) -> Option<&'static str> {
    if uapi::Verify(error.code) != uapi::Verify::OPTION {
        return None;
    }
    ["bufsize", "aggsize", "dynvarsize", "specsize", "nspec", "strsize"].get(error.index as usize).copied()
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
