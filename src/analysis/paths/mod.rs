//! analysis/paths/: the ways that calls go through a function.

pub mod differ;
pub mod followed;
pub mod gathered;
pub mod lines;
pub mod object;
pub mod program;
pub mod text;
pub mod values;
pub mod ways;
