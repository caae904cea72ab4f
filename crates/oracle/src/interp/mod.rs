//! oracle/interp/: the reference interpreter: the behaviour of a DIFO, written only from the specification.
//!
//! It is not used in production. It is a second opinion on the kernel's interpreter and on the code
//! generator, so it prefers simplicity to speed.

mod cpu;
mod json;
mod machine;
mod memory;
mod subr;

pub use cpu::{recorded, run};
/// The kind of a fault; one table for the kernel, the interpreter and the code that compares them.
pub use kinst_base::uapi::Flt;
pub use machine::{Fault, Machine, Space};
pub use memory::State;
