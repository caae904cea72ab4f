//! cli/: arguments → library calls → exit code.

pub mod inlinecall;
