//! cli/: the commands, from arguments through library calls to the exit status.

mod annotate;
mod backend;
pub mod complete;
pub mod coverage;
pub mod cpp;
mod doctor;
pub mod dtrace;
pub mod dtrace_args;
mod dtrace_disas;
mod dtrace_index;
pub mod dtrace_list;
mod dtrace_options;
pub mod dtrace_trace;
mod fmt;
pub mod inlinecall;
mod libraries;
mod output;
mod pager;
mod path;
mod progress;
mod refused;
pub mod report;
mod run;
pub mod stability;
mod written;
