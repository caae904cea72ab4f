//! sites/code/: what the instructions of a function do, and which of them can be traced.

pub(super) mod classes;
pub(super) mod decode;
pub mod flow;
pub(super) mod marks;
pub mod points;
pub(super) mod tables;
pub(super) mod verdict;
