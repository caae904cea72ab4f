//! The cost of a hit in a guest: our probes, by breakpoint and by jump, next to the kernel's own kprobes and ftrace.

use std::time::Duration;

use anyhow::Result;

use super::guest;
use super::hits::{self, Row};
use crate::kernels::{Arch, Name};
use crate::kmod;
use crate::setup::peers;
use crate::vm::{self, Guest};

const ROWS: &[Row] = &[
    Row { name: "base", what: "only the system call", aims: &[] },
    Row { name: "breakpoint-empty", what: "kinst, breakpoint: empty clause", aims: &[] },
    Row { name: "breakpoint-predicate", what: "kinst, breakpoint: predicate false", aims: &[] },
    Row {
        name: "breakpoint-count",
        what: "kinst, breakpoint: @ = count()",
        aims: &[("bpftrace-int3", 1.0), ("kprobe-int3", 1.0)],
    },
    Row { name: "breakpoint-trace", what: "kinst, breakpoint: trace(arg0)", aims: &[] },
    Row { name: "jump-empty", what: "kinst, jump: empty clause", aims: &[("kprobe-optimised", 1.2)] },
    Row { name: "jump-predicate", what: "kinst, jump: predicate false", aims: &[] },
    Row {
        name: "jump-count",
        what: "kinst, jump: @ = count()",
        aims: &[("breakpoint-count", 1.0 / 3.0), ("bpftrace-optimised", 0.75), ("kprobe-int3", 0.5)],
    },
    Row { name: "jump-trace", what: "kinst, jump: trace(arg0)", aims: &[] },
    Row { name: "kprobe-int3", what: "register_kprobe, breakpoint", aims: &[] },
    Row { name: "kprobe-optimised", what: "register_kprobe, jump", aims: &[] },
    Row { name: "ftrace", what: "register_ftrace_function", aims: &[] },
    Row { name: "bpftrace-int3", what: "bpftrace, breakpoint: @ = count()", aims: &[] },
    Row { name: "bpftrace-optimised", what: "bpftrace, jump: @ = count()", aims: &[] },
    Row { name: "bpf-int3", what: "BPF, breakpoint: @ = count()", aims: &[("bpftrace-int3", 1.1)] },
    Row { name: "bpf-optimised", what: "BPF, jump: @ = count()", aims: &[("bpftrace-optimised", 1.1)] },
];

const LIMIT: Duration = Duration::from_secs(1200);

pub(super) fn main(arch: Arch, kernel: Name) -> Result<()> {
    // The peers, which exist for our own machine, are unpacked in memory.
    let mem = if arch == Arch::Amd64 { 6144 } else { 2048 };
    // Hits run no code of dtrace, whose second build for another machine would take minutes.
    let guest = Guest { arch, kernel, mem, release: arch == Arch::Amd64, ..Guest::default() };
    let mut contents = vm::built(&guest)?;
    let found = vm::kernel(arch, kernel)?;
    guest::push(&mut contents, "tests/vm/bench.sh", arch)?;
    contents.pushed.push(kmod::build_beside(&found, "kbench")?);
    if arch == Arch::Amd64 {
        contents.pushed.push(peers::ensure(arch, kernel)?);
    }
    contents.runs = vec!["sh bench.sh\n".to_owned()];
    hits::print(&found.release, ROWS, &guest::measured(&guest, &contents, LIMIT)?);
    Ok(())
}
