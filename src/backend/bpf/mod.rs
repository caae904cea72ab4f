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
mod in_programs;
mod kernel;
mod last_records;
mod load;
mod maps;
mod means;
mod memory;
mod misses;
mod no_kernel;
pub(crate) mod nop5;
mod order;
pub(crate) mod reach;
mod ring;
mod rounds;
mod session;
mod speculations;
pub(crate) mod sweep;
mod timers;

pub(crate) use arm_error::ArmError;
pub use check::{check, left_over, possible_cpus};
pub use error::{EnableError, ProbeError, ProgramError, Request, TypesError};
pub use means::{Means, MeansError, Uprobes, means};
pub use memory::Reader;
pub use no_kernel::NoKernel;
pub use nop5::nop5;
pub use session::Session;
