//! sites/copies/: where inlined copies are entered and exited.

pub mod calls;
pub(super) mod resolve;
pub mod together;
