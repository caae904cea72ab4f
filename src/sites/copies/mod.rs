//! sites/copies/: where inlined copies are entered and left.

pub mod callers;
pub mod calls;
pub(super) mod entered;
pub mod exits;
pub(super) mod line_sites;
pub(super) mod resolve;
