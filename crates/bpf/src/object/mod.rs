//! bpf/object/: one DIF object as a function of BPF.
//!
//! The function gets the probe's registers and the CPU's memory, and returns the object's value. A fault leaves its code
//! in the CPU's memory. Registers of DIF are slots of the stack; every value is a number.

mod arguments;
mod arithmetic;
mod calls;
mod function;
mod memory;
mod probe;
pub mod stack;
mod storage;
mod variables;

pub use function::{Object, Shared};
pub use probe::{ProbeKind, place_of_hit};
