//! `cargo xtask bench`: the benchmarks, and their results next to the aims.

mod arm;
mod functions;
pub(crate) mod guest;
mod hits;
mod kmod;
mod path;
mod programs;

use std::fs;

use anyhow::{Context, Result, bail};
use serde_json::Value;

use crate::kernels::{Arch, Kernel, Name};
use crate::{crates, exec, workspace};

#[derive(clap::Args)]
pub(crate) struct Options {
    /// Only the benchmarks whose name contains this; kmod: the cost of a hit in a guest; path: the number of
    /// instructions of a hit; functions: the cost of a hit at a function's entry and return, next to bpftrace; arm:
    /// the time to arm and to release many functions, next to bpftrace; programs: the cost of --annotate of a program's
    /// function, next to a probe at each block's head, on this machine
    #[arg(value_name = "FILTER")]
    pub filter: Option<String>,
    /// The kernel of the guest
    #[arg(long, default_value_t)]
    pub kernel: Name,
    /// The machine of the guest; arm64 is for kmod, by a kernel from 6.12 on
    #[arg(long, default_value_t, value_enum)]
    pub arch: Arch,
}

/// A benchmark of benches/compiler.rs, its unit, and its aim.
const ROWS: &[(&str, Unit, &str)] = &[
    ("parse/clauses", Unit::Rate, "at least 20 MB/s"),
    ("compile/stages", Unit::Time, ""),
    ("compile/command", Unit::Time, "under 10 ms of CPU"),
    ("load/script", Unit::Time, ""),
    ("types/first", Unit::Time, "under 5 ms"),
    ("types/whole", Unit::Time, ""),
];

enum Unit {
    /// Milliseconds for one round.
    Time,
    /// Megabytes a second.
    Rate,
}

pub(crate) fn main(options: &Options) -> Result<()> {
    match options.filter.as_deref() {
        Some("kmod") => return kmod::main(options.arch, options.kernel),
        _ if options.arch != Arch::Amd64 => bail!("only kmod runs on arm64: name it"),
        Some("path") => return path::main(options.kernel),
        Some("functions") => return functions::main(options.kernel),
        Some("arm") => return arm::main(options.kernel),
        Some("programs") => return programs::main(),
        _ => {}
    }
    run("compiler", options)?;
    println!("{:<18} {:>14}   aim", "benchmark", "median");
    for (name, unit, aim) in ROWS {
        if options.filter.as_ref().is_some_and(|filter| !name.contains(filter.as_str())) {
            continue;
        }
        let Some(nanoseconds) = median(name)? else { continue };
        let shown = match unit {
            Unit::Time => format!("{:.3} ms", nanoseconds / 1e6),
            Unit::Rate => format!("{:.1} MB/s", bytes(name)? / nanoseconds * 1e3),
        };
        println!("{name:<18} {shown:>14}   {aim}");
    }
    if let (Some(command), Some(load)) = (median("compile/command")?, median("load/script")?) {
        println!(
            "loading the script's BPF programs takes {:.1} times as long as compiling it (aim 2)",
            load / command
        );
    }
    if let (Some(first), Some(whole)) = (median("types/first")?, median("types/whole")?) {
        println!("all structs of the kernel take {:.0} times as long as the first", whole / first);
    }
    println!();
    // This one prints a separate table.
    run("sites", options)
}

/// Runs one file of benches/.
fn run(bench: &str, options: &Options) -> Result<()> {
    let mut command = crates::cargo(&workspace::root());
    command.args(["bench", "--bench", bench, "--"]).args(&options.filter);
    if let Some(sysroot) = Kernel::find(Name::default())?.and_then(|kernel| kernel.sysroot) {
        command.env("KINST_BENCH_SYSROOT", sysroot);
    }
    exec::run(&mut command).map(drop)
}

/// The median time of one round, in nanoseconds.
fn median(name: &str) -> Result<Option<f64>> {
    Ok(report(name, "estimates")?.and_then(|report| report["median"]["point_estimate"].as_f64()))
}

fn bytes(name: &str) -> Result<f64> {
    let report =
        report(name, "benchmark")?.context("the benchmark's report has no description of the input")?;
    report["throughput"]["Bytes"].as_f64().context("the benchmark's report has no length of the input")
}

/// A file that Criterion wrote in the last run.
fn report(name: &str, kind: &str) -> Result<Option<Value>> {
    let path = workspace::target().join("criterion").join(name).join("new").join(format!("{kind}.json"));
    match fs::read(&path) {
        Ok(text) => Ok(Some(serde_json::from_slice(&text).with_context(|| path.display().to_string())?)),
        Err(_) => Ok(None),
    }
}
