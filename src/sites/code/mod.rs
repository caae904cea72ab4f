//! sites/code/: what the instructions of a function do, and which of them can be traced.

pub(super) mod classes;
pub(super) mod decode;
pub(super) mod notes;
pub(super) mod refusal;
pub(super) mod tables;
