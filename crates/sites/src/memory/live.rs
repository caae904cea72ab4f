//! sites/memory/live.rs: the instructions of functions in memory, read by the module or by a BPF program.

use super::error::SpotError;
use crate::model::LiveInsn;
use kinst_base::reason::Untraceable;
use std::error::Error;

/// A reader of the kernel's text in memory.
pub trait LiveText: Send + Sync {
    /// Returns the instructions of a function; `function` is the run-time address of its symbol.
    fn instructions(&self, function: u64) -> Result<Vec<LiveInsn>, LiveError>;
}

/// Why the instructions of a function are not available.
#[derive(Debug, thiserror::Error)]
pub enum LiveError {
    /// The kernel refuses the function as a whole.
    #[error(transparent)]
    Untraceable(#[from] Untraceable),
    /// The function's text cannot be read or decoded.
    #[error(transparent)]
    Spot(#[from] SpotError),
    /// The kernel did not answer.
    #[error(transparent)]
    Request(Box<dyn Error + Send + Sync>),
}
