//! tests/model/: the ways out of inlined copies against a definition and against execution.

#[path = "../support/needs.rs"]
mod needs;
#[path = "../support/numbers.rs"]
mod numbers;

mod exits_model;
mod stepped;
