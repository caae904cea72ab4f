//! typeck/state/: the state of one check: what is declared, which names there are, the clause and the place at hand.

pub(super) mod ahead;
mod checker;
pub(super) mod declared;
pub(super) mod names;
pub(super) mod place;

pub(super) use checker::Checker;
