//! dwarf/copies/: the inlined copies of functions: one walk over all units.

pub(super) mod finder;
pub(super) mod mention;
pub(super) mod names;
pub(super) mod scan;
