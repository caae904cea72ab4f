//! backend/error.rs: why nothing is traced, whichever way into the kernel was to be taken.

use super::{bpf, module};
use std::borrow::Cow;

/// Why nothing is traced.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// The way by the module was to be taken.
    #[error(transparent)]
    Module(#[from] module::Error),
    /// The way without the module was to be taken, or is the only one.
    #[error(transparent)]
    Bpf(#[from] bpf::EnableError),
    /// Both ways have failed: the module, then BPF.
    #[error("{0}; tracing without it is impossible too: {1}")]
    Neither(Box<module::Error>, bpf::EnableError),
}

impl Error {
    /// The next step.
    pub fn help(&self) -> Option<Cow<'static, str>> {
        match self {
            Error::Module(error) => error.help(),
            Error::Neither(error, _) => error.help(),
            Error::Bpf(error) => error.help().map(Cow::Borrowed),
        }
    }

    /// Whether smaller buffers may fit.
    pub fn is_of_buffers(&self) -> bool {
        match self {
            Error::Module(error) => matches!(error, module::Error::Buffers | module::Error::Memory),
            Error::Bpf(error) => *error == bpf::EnableError::Memory,
            Error::Neither(..) => false,
        }
    }

    /// Whether it is an error of the module alone.
    pub fn is_of_module(&self) -> bool {
        matches!(self, Error::Module(_))
    }

    /// Whether the text says which probe it is about.
    pub fn names_probe(&self) -> bool {
        matches!(self, Error::Bpf(bpf::EnableError::Unable { .. }))
    }
}
