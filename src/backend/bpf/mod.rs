//! backend/bpf/: a session without the module: BPF programs on kprobe events, tracepoints and perf clocks.

mod aggregations;
mod arm;
mod arm_error;
mod check;
mod clock;
mod enable;
mod error;
mod events;
mod found;
mod functions;
mod kernel;
mod last_records;
mod load;
mod maps;
mod means;
mod memory;
mod misses;
pub(crate) mod reach;
mod ring;
mod session;
mod speculations;
pub(crate) mod sweep;
mod timers;

pub(crate) use arm_error::ArmError;
pub use check::{check, left_over, possible_cpus};
pub use error::{EnableError, ProbeError, ProgramError, Request, TypesError};
pub use means::{Means, MeansError, means};
pub use memory::Reader;
pub use session::Session;
