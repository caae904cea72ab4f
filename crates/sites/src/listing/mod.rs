//! sites/listing/: the contents of --disas, of the description of a probe, and of a frame of a stack; functions with the graph of their code.

pub mod about;
pub mod chosen;
pub mod disas;
pub mod frames;
pub mod members;
mod opened;
mod place;
pub mod programs;
pub(super) mod variables;
pub(super) mod verdict;

pub use place::Place;
