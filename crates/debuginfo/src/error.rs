//! debuginfo/error.rs: why a file could not be used.

use std::path::{Path, PathBuf};

use super::buildid::BuildId;
use kinst_base::diag::{Diagnostic, Tag};
use kinst_os::io_text;

/// Debug information is missing, damaged, or of another kernel.
pub const D_DEBUGINFO: Tag = Tag("D_DEBUGINFO");

#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("cannot read {path}: {}", io_text(cause))]
    Io { path: PathBuf, cause: std::io::Error },
    #[error("{path} is not an ELF file that can be read: {cause}")]
    Elf { path: PathBuf, cause: String },
    #[error("{path} is of a machine that is not supported ({machine})")]
    Machine { path: PathBuf, machine: String },
    #[error("{path} is compressed ({format}) and cannot be unpacked: {cause}")]
    Unpack { path: PathBuf, format: &'static str, cause: std::io::Error },
    #[error("the debug information of {path} is damaged: {cause}")]
    Dwarf { path: PathBuf, cause: String },
    #[error("{path} has no debug information")]
    NoDebugInformation { path: PathBuf },
    #[error("{path} belongs to another build")]
    BuildId { path: PathBuf, file: Option<BuildId>, wanted: BuildId, of: String },
    #[error("{path} shares its debug information with another file, which is not there: {name}")]
    Alternate { path: PathBuf, name: String, wanted: BuildId },
    #[error("debuginfod has no answer for the debug information of {of}: {cause}")]
    Debuginfod { of: String, cause: String },
    #[error("no release of the kernel was found under {root}")]
    NoRelease { root: PathBuf },
    #[error("there is no kernel {release} under {root}")]
    UnknownRelease { root: PathBuf, release: String, found: Vec<String> },
}

impl Error {
    pub fn io(path: &Path, cause: std::io::Error) -> Error {
        Error::Io { path: path.to_owned(), cause }
    }

    pub fn elf(path: &Path, cause: impl ToString) -> Error {
        Error::Elf { path: path.to_owned(), cause: cause.to_string() }
    }

    pub fn dwarf(path: &Path, cause: impl ToString) -> Error {
        Error::Dwarf { path: path.to_owned(), cause: cause.to_string() }
    }

    pub fn diagnostic(&self) -> Diagnostic {
        let error = Diagnostic::error(D_DEBUGINFO, self.to_string());
        match self {
            Error::BuildId { file, wanted, of, .. } => error
                .note(match file {
                    Some(id) => format!("build id of the file: {id}"),
                    None => "the file has no build id".to_owned(),
                })
                .note(format!("build id of {of}: {wanted}"))
                .help("the file is not used; bring the debug package up to date with the kernel, or boot the kernel that it belongs to"),
            Error::Alternate { wanted, .. } => error.note(format!("wanted: build id {wanted}")).help(
                "functions that the two have in common are not found; install the whole debug package (dwz put them into a file of its own)",
            ),
            Error::Debuginfod { cause, .. } if cause.contains("not installed") => {
                error.help("install it: apt install debuginfod, or dnf install elfutils-debuginfod-client")
            }
            Error::Debuginfod { .. } => error.help("DEBUGINFOD_URLS names the servers that are asked; unset it to ask none"),
            Error::NoRelease { root } => error.help(format!(
                "a sysroot has {0}/boot/vmlinuz-RELEASE, {0}/lib/modules/RELEASE or {0}/usr/lib/debug/boot/vmlinux-RELEASE",
                root.display()
            )),
            Error::UnknownRelease { found, .. } => error.help(format!("found there: {}", found.join(", "))),
            Error::NoDebugInformation { .. } => {
                error.help("give the vmlinux of the kernel's debug package, or of a build with CONFIG_DEBUG_INFO")
            }
            Error::Io { .. } | Error::Elf { .. } | Error::Machine { .. } | Error::Unpack { .. } | Error::Dwarf { .. } => error,
        }
    }

    /// The error as a warning: the file is left out and the rest goes on.
    pub fn warning(&self) -> Diagnostic {
        Diagnostic { severity: kinst_base::diag::Severity::Warning, ..self.diagnostic() }
    }
}
