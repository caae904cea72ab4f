//! sites/listing/unprobed.rs: why an instruction cannot have a probe.

use crate::uprobe::Refused;
use kinst_base::reason::Untraceable;

/// Why an instruction cannot have a probe.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unprobed {
    /// An instruction of the kernel.
    #[error("{0}")]
    Kernel(Untraceable),
    /// An instruction of a program.
    #[error(transparent)]
    Program(Refused),
}
