//! sites/listing/: the contents of --disas and of the description of a probe.

pub mod about;
pub mod disas;
mod opened;
pub(super) mod variables;
pub(super) mod verdict;

/// A line of the source.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    pub file: String,
    pub line: u64,
}
