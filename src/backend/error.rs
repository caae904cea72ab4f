//! backend/error.rs: reasons why nothing is traced, for either back end.

use super::{bpf, module};
use std::borrow::Cow;

/// The reason why nothing is traced.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// The module was selected, and failed.
    #[error(transparent)]
    Module(#[from] module::Error),
    /// BPF was selected, or is the only back end, and failed.
    #[error(transparent)]
    Bpf(#[from] bpf::EnableError),
    /// Both back ends failed: the module, then BPF.
    #[error("{0}; tracing without it is impossible too: {1}")]
    Neither(Box<module::Error>, bpf::EnableError),
}

impl Error {
    /// The next step for the user.
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

    /// Whether it is an error of only the module.
    pub fn is_of_module(&self) -> bool {
        matches!(self, Error::Module(_))
    }

    /// Whether the message names the probe.
    pub fn names_probe(&self) -> bool {
        matches!(self, Error::Bpf(bpf::EnableError::Unable { .. }))
    }
}
