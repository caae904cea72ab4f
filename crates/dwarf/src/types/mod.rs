//! dwarf/types/: types of a kernel from its debug information: of variables, and of everything where BTF is absent.

pub(super) mod graph;
mod queries;
mod sections;
pub(super) mod unit;

pub use sections::{Known, Sections, Types};
