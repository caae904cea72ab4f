//! sites/listing/: the contents of --disas, of the description of a probe, and of a frame of a stack.

pub mod about;
pub mod counted;
pub mod covered;
pub mod disas;
pub mod followed;
pub mod frames;
mod members;
mod opened;
pub mod programs;
pub(super) mod variables;
pub(super) mod verdict;

/// A line of the source.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Place {
    pub file: String,
    pub line: u64,
}
