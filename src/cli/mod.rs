//! cli/: arguments → library calls → exit code.

pub mod cpp;
pub mod dtrace;
pub mod dtrace_args;
pub mod report;
pub mod signals;
