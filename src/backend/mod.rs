//! backend/: two back ends, the module and BPF, with one interface: programs go in, records come back.

pub mod bpf;
mod error;
pub(crate) mod module;
mod names;
mod plan;
mod records;
mod refused;
mod tracing;

pub use error::Error;
pub use names::probe_name;
pub use plan::{Matched, Plan, PlanError, Problem};
pub use records::{Damaged, Drain};
pub(crate) use refused::{Refusal, Refused, is_refused};
pub use tracing::{Fired, RequestError, Tracing};
