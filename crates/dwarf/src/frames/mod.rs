//! dwarf/frames/: the functions that an instruction belongs to: inlined copies from the inside out, then the body.

mod all;
mod at;
pub(super) mod body;
mod functions;
pub(super) mod info;
mod room;

pub use body::{Body, Definition, Frame};
