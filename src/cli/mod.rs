//! cli/: arguments → library calls → exit code.

<<<<<<< HEAD
pub mod cpp;
pub mod dtrace;
pub mod dtrace_args;
pub mod dtrace_list;
pub mod dtrace_trace;
pub mod report;
pub mod signals;
=======
pub mod inlinecall;
>>>>>>> sites
