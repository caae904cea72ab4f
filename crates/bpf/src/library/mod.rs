//! bpf/library/: functions that objects share, for operations of more than a few instructions.
//!
//! The kernel verifies each function once, for all arguments, rather than again at each call. A function
//! therefore takes only numbers and looks up the CPU's memory itself. Loops count in R8 up to a constant and
//! keep all other changing state in the CPU's memory, so that the verifier need not distinguish the values of
//! different rounds.

mod function;
mod json;
mod memory;
mod network;
mod numbers;
mod paths;
mod processes;
mod ring;
mod strings;
mod system;
mod tokens;

pub use function::{Function, Functions};
