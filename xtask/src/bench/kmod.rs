//! The cost of a hit in a guest: ours, by breakpoint and by jump, next to the kernel's own kprobes and ftrace.

use std::collections::BTreeMap;
use std::time::Duration;

use anyhow::{Result, bail};

use crate::kernels::{Kernel, Name};
use crate::setup::peers;
use crate::vm::contents::Contents;
use crate::vm::machine::{End, Sink};
use crate::vm::{self, Guest};
use crate::{kmod, workspace};

/// A kind of hit; its aims: at most so many times the cost of another one.
struct Row {
    name: &'static str,
    what: &'static str,
    aims: &'static [(&'static str, f64)],
}

const ROWS: &[Row] = &[
    Row { name: "base", what: "the system call alone", aims: &[] },
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

/// The programs that find a place for a probe, arm it, and call it.
const TOOLS: [&str; 7] = [
    "kmod/tests/vm/points.c",
    "kmod/tests/vm/load.c",
    "tests/vm/files/places.sh",
    "tests/vm/files/jump.sh",
    "tests/vm/files/tree.sh",
    "tests/vm/files/peers.sh",
    "benches/script.d",
];

const LIMIT: Duration = Duration::from_secs(1200);

pub fn main(kernel: Name) -> Result<()> {
    let peers = peers::ensure(kernel)?;
    // The peers are unpacked in memory.
    let guest = Guest { kernel, mem: 6144, release: true, ..Guest::default() };
    let mut contents = vm::built(&guest)?;
    let kernel = Kernel::need(kernel)?;
    push(&mut contents, "tests/vm/bench.sh")?;
    contents.pushed.push(kmod::build_beside(&kernel, "kbench")?);
    contents.pushed.push(peers);
    contents.runs = vec!["sh bench.sh\n".to_owned()];
    let mut machine = vm::boot(&guest, &contents)?;
    let mut output = Output::default();
    let end = machine.run(0, LIMIT, &mut output)?;
    if end != End::Exit(0) || machine.log.first_trouble(0).is_some() {
        bail!(
            "the benchmark failed in the guest: {}\n{}",
            output.errors,
            machine.log.excerpt(machine.run_start, 60)
        );
    }
    print(&kernel, &output);
    Ok(())
}

/// Adds the script of a benchmark and what it runs.
pub fn push(contents: &mut Contents, script: &str) -> Result<()> {
    for file in TOOLS.iter().chain(&[script]) {
        let file = workspace::root().join(file);
        contents.pushed.push(vm::programs::from_source(&file, &[])?);
    }
    Ok(())
}

#[derive(Default)]
pub struct Output {
    pub text: String,
    pub errors: String,
}

impl Sink for Output {
    fn out(&mut self, bytes: &[u8]) {
        self.text.push_str(&String::from_utf8_lossy(bytes));
    }

    fn err(&mut self, bytes: &[u8]) {
        self.errors.push_str(&String::from_utf8_lossy(bytes));
    }
}

/// Prints the table, after the other output of the script.
fn print(kernel: &Kernel, output: &Output) {
    let mut times: BTreeMap<&str, Vec<f64>> = BTreeMap::new();
    for line in output.text.lines() {
        match line.split_once(' ').and_then(|(name, ns)| Some((name, ns.parse().ok()?))) {
            Some((name, ns)) if ROWS.iter().any(|row| row.name == name) => {
                times.entry(name).or_default().push(ns)
            }
            _ => println!("{line}"),
        }
    }
    let medians: BTreeMap<&str, f64> = times.iter().map(|(name, ns)| (*name, median(ns))).collect();
    let Some(base) = medians.get("base").copied() else { return println!("nothing was measured") };
    println!("\n{:<40} {:>10} {:>8}   aim ({}, one boot)", "a hit", "ns", "base", kernel.release);
    for Row { name, what, aims } in ROWS {
        let Some(ns) = medians.get(name) else { continue };
        let aims = aims.iter().filter_map(|(other, most)| {
            let ratio = ns / medians.get(other)?;
            Some(format!("{ratio:.2} of {other} (at most {most:.2})"))
        });
        let aims: Vec<String> = aims.collect();
        println!("{what:<40} {ns:>10.0} {:>8.2}   {}", ns / base, aims.join(", "));
    }
}

fn median(values: &[f64]) -> f64 {
    let mut values = values.to_vec();
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}
