//! The cost of a hit at the entry and the return of a function: the module and our BPF backend next to bpftrace.

use std::time::Duration;

use anyhow::Result;

use super::guest;
use super::hits::{self, Row};
use crate::kernels::{Kernel, Name};

const ROWS: &[Row] = &[
    Row { name: "base", what: "only the system call", aims: &[] },
    Row { name: "module-entry", what: "kinst, entry: @ = count()", aims: &[] },
    Row {
        name: "bpf-entry",
        what: "BPF, entry: @ = count()",
        aims: &[("bpftrace-kfunc", 1.0), ("bpftrace-kprobe", 0.8)],
    },
    Row { name: "bpftrace-kfunc", what: "bpftrace, kfunc: @ = count()", aims: &[] },
    Row { name: "bpftrace-kprobe", what: "bpftrace, kprobe: @ = count()", aims: &[] },
    Row { name: "module-return", what: "kinst, return: @ = count()", aims: &[] },
    Row {
        name: "bpf-return",
        what: "BPF, return: @ = count()",
        aims: &[("bpftrace-kretfunc", 1.0), ("bpftrace-kretprobe", 0.8)],
    },
    Row { name: "bpftrace-kretfunc", what: "bpftrace, kretfunc: @ = count()", aims: &[] },
    Row { name: "bpftrace-kretprobe", what: "bpftrace, kretprobe: @ = count()", aims: &[] },
];

const LIMIT: Duration = Duration::from_secs(1200);

pub(super) fn main(kernel: Name) -> Result<()> {
    let text = guest::beside_peers(kernel, "functions.sh", LIMIT)?;
    hits::print(&Kernel::need(kernel)?.release, ROWS, &text);
    Ok(())
}
