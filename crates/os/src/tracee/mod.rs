//! os/tracee/: a started process that is stopped, by ptrace(2), between its exec and its main().

mod loaded;
mod moment;
mod ptrace;

pub use moment::{Lookup, Moment, StopError};
pub(crate) use moment::{Outcome, run_to};
pub(crate) use ptrace::{Stop, Tracee};
