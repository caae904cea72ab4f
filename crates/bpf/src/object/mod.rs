//! bpf/object/: one DIF object as a BPF function.
//!
//! The function takes the probe's registers and the CPU's memory, and returns the object's value. A fault
//! leaves its code in the CPU's memory. DIF registers are stack slots; every value is a number.

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
