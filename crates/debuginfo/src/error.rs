//! debuginfo/error.rs: why a file could not be used.

use std::path::{Path, PathBuf};

use super::buildid::BuildId;
use kinst_base::diag::{Diagnostic, tags};
use kinst_os::io_text;

/// Why a file, or the debug information of something, cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A system call failed.
    #[error("cannot read {path}: {}", io_text(cause))]
    Io {
        /// File that was opened or mapped.
        path: PathBuf,
        /// Its error.
        cause: std::io::Error,
    },
    /// The file is not ELF, or is damaged.
    #[error("{path} is not a readable ELF file: {cause}")]
    Elf {
        /// File that was parsed.
        path: PathBuf,
        /// The damage, with the section if it is in one.
        cause: String,
    },
    /// The file is big-endian.
    #[error("{path} is for an unsupported machine ({machine})")]
    Machine {
        /// File that was parsed.
        path: PathBuf,
        /// Byte order and machine: `big-endian S390x`.
        machine: String,
    },
    /// A compressed file is damaged.
    #[error("{path} is compressed ({format}) and cannot be unpacked: {cause}")]
    Unpack {
        /// The compressed file.
        path: PathBuf,
        /// Its compression: `xz`, `zstd`, `gzip`.
        format: &'static str,
        /// The unpacker's error.
        cause: std::io::Error,
    },
    /// The DWARF of a file is damaged.
    #[error("the debug information of {path} is damaged: {cause}")]
    Dwarf {
        /// File that has it.
        path: PathBuf,
        /// The parser's error.
        cause: String,
    },
    /// A vmlinux given by the user has no DWARF.
    #[error("{path} has no debug information")]
    NoDebugInformation {
        /// Path that was given.
        path: PathBuf,
    },
    /// The build id differs from the wanted one.
    #[error("{path} belongs to another build")]
    BuildId {
        /// File that was found.
        path: PathBuf,
        /// Its build id; `None` if it has none.
        file: Option<BuildId>,
        /// Build id of the binary that it was found for.
        wanted: BuildId,
        /// Name of that binary: `the running kernel`.
        of: String,
    },
    /// The CRC of a debug link's file differs, where there is no build id.
    #[error("{path} belongs to another build: its CRC is {file:08x}, and {of} names one with {wanted:08x}")]
    Crc {
        /// File that was found.
        path: PathBuf,
        /// Its CRC.
        file: u32,
        /// CRC in the debug link.
        wanted: u32,
        /// Name of the binary.
        of: String,
    },
    /// The file with the parts that dwz moved out (`.gnu_debugaltlink`) is missing.
    #[error("{path} shares its debug information with another file, which is missing: {name}")]
    Alternate {
        /// File with the link.
        path: PathBuf,
        /// Path of the other file, as in the link.
        name: String,
        /// Build id of the other file.
        wanted: BuildId,
    },
    /// A part of a file's debug information is in another file, which cannot be used.
    #[error("{missing}")]
    Part {
        /// File with the rest.
        path: PathBuf,
        /// Name of the other file, and why it cannot be used.
        missing: String,
        /// Remedy.
        help: &'static str,
    },
    /// A query to the servers failed.
    #[error("cannot get the debug information of {of} from debuginfod: {cause}")]
    Debuginfod {
        /// Name of the binary whose file was wanted.
        of: String,
        /// Last line of debuginfod-find's message, or why it did not run.
        cause: String,
    },
    /// A sysroot without a kernel.
    #[error("no kernel release found under {root}")]
    NoRelease {
        /// Path of --sysroot.
        root: PathBuf,
    },
    /// A sysroot without the named release.
    #[error("no kernel {release} under {root}")]
    UnknownRelease {
        /// Path of --sysroot.
        root: PathBuf,
        /// Release that was named.
        release: String,
        /// Available releases, or only `none`.
        found: Vec<String>,
    },
}

/// The remedy for a missing file of dwz.
pub const ALTERNATE_HELP: &str =
    "functions in the shared file (written by dwz) are not found; install the complete debug package";

impl Error {
    /// The error of a system call on a file.
    pub fn io(path: &Path, cause: std::io::Error) -> Error {
        Error::Io { path: path.to_owned(), cause }
    }

    /// The error of a file that is not ELF, or is damaged.
    pub fn elf(path: &Path, cause: impl ToString) -> Error {
        Error::Elf { path: path.to_owned(), cause: cause.to_string() }
    }

    /// The error of a file whose DWARF is damaged.
    pub fn dwarf(path: &Path, cause: impl ToString) -> Error {
        Error::Dwarf { path: path.to_owned(), cause: cause.to_string() }
    }

    /// The error with tag `D_DEBUGINFO`, and with notes and help where available.
    pub fn diagnostic(&self) -> Diagnostic {
        let error = Diagnostic::error(tags::DEBUGINFO, self.to_string());
        match self {
            Error::BuildId { file, wanted, of, .. } => error
                .note(match file {
                    Some(id) => format!("build id of the file: {id}"),
                    None => "the file has no build id".to_owned(),
                })
                .note(format!("build id of {of}: {wanted}"))
                .help(match of.starts_with('/') {
                    true => "the file is not used; install the debug package of the same build",
                    false => {
                        "the file is not used; install the debug package of this kernel, or boot the kernel of the file"
                    }
                }),
            Error::Alternate { wanted, .. } => error.note(format!("wanted: build id {wanted}")).help(ALTERNATE_HELP),
            Error::Part { path, help, .. } => {
                error.note(format!("it has a part of the debug information of {}", path.display())).help(*help)
            }
            Error::Debuginfod { cause, .. } if cause.contains("not installed") => {
                error.help("install it: apt install debuginfod, or dnf install elfutils-debuginfod-client")
            }
            Error::Debuginfod { .. } => error.help("DEBUGINFOD_URLS lists the servers; unset it to query none"),
            Error::NoRelease { root } => error.help(format!(
                "a sysroot has {0}/boot/vmlinuz-RELEASE, {0}/lib/modules/RELEASE or {0}/usr/lib/debug/boot/vmlinux-RELEASE",
                root.display()
            )),
            Error::UnknownRelease { found, .. } => error.help(format!("available releases: {}", found.join(", "))),
            Error::NoDebugInformation { .. } => {
                error.help("use the vmlinux of the kernel's debug package, or of a build with CONFIG_DEBUG_INFO")
            }
            Error::Crc { .. } => error.help("the file is not used; install the debug package of the same build"),
            Error::Io { .. } | Error::Elf { .. } | Error::Machine { .. } | Error::Unpack { .. } | Error::Dwarf { .. } => error,
        }
    }

    /// The error as a warning: the file is ignored and work continues.
    pub fn warning(&self) -> Diagnostic {
        Diagnostic { severity: kinst_base::diag::Severity::Warning, ..self.diagnostic() }
    }
}
