//! usdt/: what a project in C or C++ needs to have static probes (USDT): a header, and an object file.

mod header;
mod provider;

pub use header::header;
pub use provider::{Probe, Provider, parse, semaphore};
