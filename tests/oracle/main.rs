//! tests/oracle/: results from debug information and code, compared with independent tools (perf, objdump, addr2line,
//! readelf, gdb).

#[path = "../support/binutils.rs"]
mod binutils;
#[path = "../support/commands.rs"]
mod commands;
#[path = "../support/kallsyms.rs"]
mod kallsyms;
#[path = "../support/kernel.rs"]
mod kernel;
#[path = "../support/needs.rs"]
mod needs;
#[path = "../support/numbers.rs"]
mod numbers;
#[path = "../support/snapshot.rs"]
mod snapshot;
#[path = "../support/sysroot.rs"]
mod sysroot;

mod arch;
mod arm64;
mod arm64_module;
mod counts;
mod disas;
mod driver;
mod dwarf;
mod exits;
mod linked;
mod locals;
mod sites;
mod sweep;
mod symbols;
mod syscalls;
mod uprobes;
mod ustack;
mod vmlinux;
