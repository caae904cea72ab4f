//! bpf/library/: functions that objects share, for what is more than a few instructions.
//!
//! The kernel looks at each once, for all numbers that it may be called with, and not again at each call. It therefore takes
//! numbers alone, and finds the CPU's memory by itself. Loops count in R8 up to a constant; what else they change is kept
//! in the CPU's memory, so that the kernel need not tell one round's values from another's.

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
