//! typeck/stmt/: statements: actions, aggregations, formats, and the order in which they may come.

pub(super) mod action;
pub(super) mod agg;
pub(super) mod aggregating;
pub(super) mod format_args;
pub(super) mod order;
pub(super) mod predicate;
pub(super) mod printf;
pub(super) mod shape;
