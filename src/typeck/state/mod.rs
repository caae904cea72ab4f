//! typeck/state/: the state of one check: declarations, names, the current clause and place.

pub(super) mod ahead;
mod checker;
pub(super) mod declared;
pub(super) mod names;
pub(super) mod place;

pub(super) use checker::Checker;
