//! sites/copies/: where inlined copies are entered and left.

pub mod calls;
pub(super) mod resolve;
pub mod together;
