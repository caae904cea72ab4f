//! dwarf/frames/: the functions that an instruction belongs to: inlined ones from the inside out, then the one with
//! the code.

mod all;
mod at;
pub(super) mod body;
mod functions;
pub(super) mod info;
mod room;

pub use body::{Body, Definition, Frame};
