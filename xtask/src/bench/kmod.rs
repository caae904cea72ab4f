//! The cost of a hit in a guest: our probes, by breakpoint and by jump, next to the kernel's own kprobes and ftrace.

use std::time::Duration;

use anyhow::Result;

use super::guest;
use super::hits::{self, Row};
use crate::kernels::{Arch, Kernel, Name};
use crate::kmod;
use crate::setup::peers;
use crate::vm::{self, Guest};

const ROWS: &[Row] = &[
    Row { name: "base", what: "only the system call", aims: &[] },
    Row { name: "breakpoint-empty", what: "kinst, breakpoint: empty clause", aims: &[] },
    Row { name: "breakpoint-predicate", what: "kinst, breakpoint: predicate false", aims: &[] },
    Row { name: "breakpoint-count", what: "kinst, breakpoint: @ = count()", aims: &[("bpftrace-int3", 1.0)] },
    Row { name: "breakpoint-trace", what: "kinst, breakpoint: trace(arg0)", aims: &[] },
    Row { name: "jump-empty", what: "kinst, jump: empty clause", aims: &[("kprobe-optimised", 1.2)] },
    Row { name: "jump-predicate", what: "kinst, jump: predicate false", aims: &[] },
    Row {
        name: "jump-count",
        what: "kinst, jump: @ = count()",
        aims: &[("breakpoint-count", 1.0 / 3.0), ("bpftrace-optimised", 0.75)],
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

pub(super) fn main(kernel: Name) -> Result<()> {
    let peers = peers::ensure(Arch::Amd64, kernel)?;
    // The peers are unpacked in memory.
    let guest = Guest { kernel, mem: 6144, release: true, ..Guest::default() };
    let mut contents = vm::built(&guest)?;
    let kernel = Kernel::need(kernel)?;
    guest::push(&mut contents, "tests/vm/bench.sh")?;
    contents.pushed.push(kmod::build_beside(&kernel, "kbench")?);
    contents.pushed.push(peers);
    contents.runs = vec!["sh bench.sh\n".to_owned()];
    hits::print(&kernel.release, ROWS, &guest::measured(&guest, &contents, LIMIT)?);
    Ok(())
}
