//! tests/outside/: the commands, run like a user does, and external input: files, servers, damaged data.

#[path = "../support/commands.rs"]
mod commands;
#[path = "../support/needs.rs"]
mod needs;
#[path = "../support/numbers.rs"]
mod numbers;
#[path = "../support/snapshot.rs"]
mod snapshot;
#[path = "../support/sysroot.rs"]
mod sysroot;
#[path = "../support/tables.rs"]
mod tables;

mod annotate;
mod carried;
mod cli;
mod completion;
mod debuginfod;
mod descriptions;
mod documents;
mod examples;
mod fleet;
mod headers;
mod hostile;
mod index;
mod interrupt;
mod path;
mod prometheus;
mod real;
mod regressions;
mod required;
mod traced;
mod unwritable;
