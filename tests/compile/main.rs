//! tests/compile/: the compiler: programs and the result of each stage.

#[path = "../support/btf.rs"]
mod btf;
#[path = "../support/commands.rs"]
mod commands;
#[path = "../support/exhaust.rs"]
mod exhaust;
#[path = "../support/kernel.rs"]
mod kernel;
#[path = "../support/needs.rs"]
mod needs;
#[path = "../support/snapshot.rs"]
mod snapshot;
#[path = "../support/sysroot.rs"]
mod sysroot;

mod scripts;
mod snapshots;
mod tags;
mod types;
