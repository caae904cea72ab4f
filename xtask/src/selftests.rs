//! `cargo xtask selftests`: the kernel's own tests of ftrace and livepatch, in a guest without probes and in one with
//! many probed functions. The results must be the same.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};

use crate::kernels::{Arch, Name};
use crate::setup::selftests;
use crate::vm::machine::{End, Sink};
use crate::vm::{self, Guest, contents::Contents, programs};
use crate::workspace;

#[derive(clap::Args)]
pub(crate) struct Options {
    /// Tests of ftrace, or folders of them, as test.d/kprobe [default: all]
    pub tests: Vec<String>,
    /// The kernel to boot: one of the release
    #[arg(long, default_value = "debug")]
    pub kernel: Name,
    /// The number of functions to probe, one instruction in sixteen of each
    #[arg(long, value_name = "N", default_value_t = 2000)]
    pub probed: u32,
}

/// Programs that busybox lacks, or whose options it lacks; guests get this machine's.
const PROGRAMS: [&str; 8] = ["bash", "comm", "diff", "dmesg", "mktemp", "modinfo", "modprobe", "sysctl"];

const FILES: [&str; 3] =
    ["kmod/tests/vm/points.c", "tests/vm/files/functions.sh", "tests/vm/files/selftests.sh"];

const LIMIT: Duration = Duration::from_secs(3600);

pub(crate) fn main(options: &Options) -> Result<ExitCode> {
    if options.kernel.base(Arch::Amd64) != Name::V6_1 {
        bail!(
            "the tests are from the source of 6.1, and expect things that {} does not have",
            options.kernel
        );
    }
    let guest = Guest { kernel: options.kernel, no_tools: true, ..Guest::default() };
    let mut contents = vm::built(&guest)?;
    contents.programs = PROGRAMS.iter().map(|name| program(name)).collect::<Result<_>>()?;
    contents.pushed.push(selftests::ensure()?);
    for file in FILES {
        contents.pushed.push(programs::from_source(&workspace::root().join(file), &["-static"])?);
    }
    let without = run(&guest, &contents, 0, &options.tests)?;
    let under = run(&guest, &contents, options.probed, &options.tests)?;
    for (name, result) in &without.results {
        let other = under.results.get(name).map_or("not run", String::as_str);
        if result == other {
            println!("{result:<12} {name}");
        } else {
            println!("{result:<12} {name}: {other} under probes");
        }
    }
    let same = without.results == under.results;
    println!(
        "{} tests, the results are {}",
        without.results.len(),
        if same { "the same" } else { "different" }
    );
    for (what, run) in [("without probes", &without), ("under probes", &under)] {
        if let Some(trouble) = &run.trouble {
            println!("{what} the kernel is in trouble: {trouble}");
        }
    }
    // Kernel messages that the tests cause without probes do not count.
    let well = same && !without.results.is_empty() && under.trouble.is_none_or(|_| without.trouble.is_some());
    Ok(if well { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn program(name: &str) -> Result<PathBuf> {
    let folders = ["/usr/bin", "/usr/sbin", "/bin", "/sbin"].map(PathBuf::from);
    let found = folders.iter().map(|folder| folder.join(name)).find(|file| file.is_file());
    found.with_context(|| format!("this machine has no {name}, which the tests run"))
}

/// The results of the tests.
struct Results {
    /// The results by the names of the tests.
    results: BTreeMap<String, String>,
    trouble: Option<String>,
}

fn run(guest: &Guest, contents: &Contents, probed: u32, tests: &[String]) -> Result<Results> {
    let runs = vec![format!("exec sh selftests.sh {probed} {}\n", tests.join(" "))];
    let contents = Contents {
        programs: contents.programs.clone(),
        pushed: contents.pushed.clone(),
        module: contents.module.clone(),
        runs,
        ..Contents::default()
    };
    let begin = Instant::now();
    let mut machine = vm::boot(guest, &contents)?;
    let mut ear = Ear::default();
    let end = machine.run(0, LIMIT * guest.kernel.slowness(), &mut ear)?;
    eprint!("{}", String::from_utf8_lossy(&ear.err));
    eprintln!("selftests: {probed} functions probed: {} s", begin.elapsed().as_secs());
    if end != End::Exit(0) {
        bail!("the tests did not finish: {end:?}\n{}", machine.log.excerpt(machine.run_start, 160));
    }
    let results = parse(&String::from_utf8_lossy(&ear.out));
    Ok(Results { results, trouble: machine.log.first_trouble(machine.run_start).map(str::to_owned) })
}

/// `RESULT NAME` on each line.
fn parse(text: &str) -> BTreeMap<String, String> {
    let pairs = text.lines().filter_map(|line| line.split_once(' '));
    pairs.map(|(result, name)| (name.trim().to_owned(), result.to_owned())).collect()
}

/// Shows results as they arrive: a run takes a long time.
#[derive(Default)]
struct Ear {
    out: Vec<u8>,
    err: Vec<u8>,
}

impl Sink for Ear {
    fn out(&mut self, bytes: &[u8]) {
        eprint!("{}", String::from_utf8_lossy(bytes));
        self.out.extend_from_slice(bytes);
    }

    fn err(&mut self, bytes: &[u8]) {
        self.err.extend_from_slice(bytes);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_a_result_and_a_name() {
        let results = parse(
            "PASS Basic trace file check\nUNSUPPORTED (instance)  event tracing\n\nFAIL(4) test-state.sh\n",
        );
        assert_eq!(results["Basic trace file check"], "PASS");
        assert_eq!(results["(instance)  event tracing"], "UNSUPPORTED");
        assert_eq!((results["test-state.sh"].as_str(), results.len()), ("FAIL(4)", 3));
    }
}
