//! sites/catalog/: the probes of all providers, by description and by id.

pub(super) mod drivers;
mod dtrace;
pub(super) mod edges;
pub(super) mod elsewhere;
pub(super) mod fbt;
mod fields;
pub(super) mod foreign;
mod in_program;
pub(super) mod kinst;
mod lookup;
pub(super) mod profile;
mod program_function;
mod program_refusals;
mod programs;
mod reach;
pub(super) mod refusals;
pub(super) mod short;
mod store;
pub(super) mod syscalls;
pub(super) mod tracepoints;
pub(super) mod unplaced;
mod usdt;

pub use dtrace::DTRACE;
pub use reach::{Begun, Reach, Unreachable};
pub use store::Catalog;
