//! bpf/program/: the clauses of a probe as one program: beginning, predicates, actions, records.

mod actions;
mod aggregate;
mod begin;
mod entries;
pub mod event;
mod faults;
mod in_program;
mod lanes;
mod level;
pub mod place;
mod prologue;
mod refusal;
mod speculation;
mod stack;
pub mod ways;
mod writer;

pub use entries::{CPU_NUMBER, Entries};
pub use lanes::Lanes;
pub use prologue::Prologue;
pub use refusal::Refusal;
pub use writer::{ErrorProbe, Writer};
