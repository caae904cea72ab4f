//! dwarf/copies/: the inlined copies of functions: one walk over all units.

pub mod code;
pub(super) mod declared;
pub(super) mod finder;
pub(super) mod found;
pub(super) mod mention;
pub(super) mod names;
pub(super) mod scan;
pub mod walk;

pub use found::{AllFindings, CallSite, Findings, Function, InlineCopy};
