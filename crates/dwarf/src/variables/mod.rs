//! dwarf/variables/: the variables in scope at an instruction, frame by frame.

mod described;
mod instruction;
pub(super) mod listed;
pub(super) mod location;
mod register;
pub mod scope;
pub mod term;
pub(super) mod unwind;

pub use described::RunTime;
pub use instruction::{Instruction, Variables};
