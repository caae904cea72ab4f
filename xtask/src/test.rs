//! All tests, step by step, to the end even if some fail.
//!
//! One guest runs while cargo checks, builds and tests on the host; afterwards guests use all processors.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::thread;
use std::time::Instant;

use anyhow::{Result, bail};

use crate::kernels::{Arch, Name};
use crate::setup::{self, Part};
use crate::tally::Tally;
use crate::vmtest::{self, Workers};
use crate::{checks, crates, exec, guide, kmod, steps, uapi, vm, workspace};

#[derive(clap::Args)]
pub(crate) struct Options {
    /// Leave out the module and the guests
    #[arg(long)]
    pub quick: bool,
    /// Also run the cases that take long
    #[arg(long)]
    pub long: bool,
    /// The kernels to build the module for and to boot [default: the kernel of this machine's release; arm64: 6.12]
    #[arg(long = "kernel", value_name = "KERNEL")]
    pub kernels: Vec<Name>,
    /// The machine of the guests; for arm64, nothing but the module is built and the cases run
    #[arg(long, default_value = "amd64", conflicts_with = "quick")]
    pub arch: Arch,
}

pub(crate) fn main(options: &Options) -> Result<ExitCode> {
    if options.arch != Arch::default() {
        return of_guests(options);
    }
    forget_skipped()?;
    let workers = Workers::new(1);
    let (mut host, mut guests) = (Tally::default(), Tally::default());
    brought(options, &mut guests);
    thread::scope(|scope| {
        let tested = scope.spawn(|| {
            host_steps(options, &mut host);
            workers.add();
        });
        if !options.quick {
            guest_steps(options, &workers, &mut guests);
        }
        tested.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
    });
    host.add(guests);
    let skipped = reasons(&fs::read_to_string(skipped()).unwrap_or_default());
    for (reason, tests) in &skipped {
        println!("skipped: {reason}: {}", Vec::from_iter(tests.iter().cloned()).join(", "));
    }
    let tests: BTreeSet<&String> = skipped.values().flatten().collect();
    Ok(host.print_end(tests.len()))
}

/// The module and the cases for guests of another architecture.
fn of_guests(options: &Options) -> Result<ExitCode> {
    let mut tally = Tally::default();
    tally.run("dtrace and inlinecall", || vm::programs::build(false).map(drop));
    tally.run("setup", || {
        let kernels = Name::or_default_of(options.arch, &options.kernels);
        kernels.into_iter().try_for_each(|kernel| vm::fetched(options.arch, kernel).map(drop))
    });
    guest_steps(options, &Workers::all(), &mut tally);
    Ok(tally.print_end(0))
}

/// Fetches the kernels, and builds the guests' programs and the program that checks the house rules. Tests on the
/// host read the kernels, too, and always 6.1, unless the user supplies a kernel.
fn brought(options: &Options, tally: &mut Tally) {
    let mut kernels = Name::or_default(&options.kernels);
    if !kernels.contains(&Name::Own) && !kernels.contains(&Name::V6_1) {
        kernels.insert(0, Name::V6_1);
    }
    let of_kernels = kernels.iter().flat_map(|&name| [Part::Kernel(name), Part::Disk(name)]);
    let parts: Vec<Part> = [Part::Guests].into_iter().chain(of_kernels).chain([Part::Tests]).collect();
    thread::scope(|scope| {
        // The build does not depend on the fetched files.
        let built = scope.spawn(|| timed(vm::programs::build_with_tests));
        if !options.quick {
            tally.run("setup", || setup::ensure(&parts, false));
        }
        let (seconds, faults) = built.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        tally.step("dtrace and inlinecall", seconds, &faults);
    });
}

/// The tests without a guest.
fn host_steps(options: &Options, tally: &mut Tally) {
    tally.run("formatting", || cargo(&["fmt", "--all", "--check"]));
    tally.run("clippy", || build(&["clippy", "--workspace", "--all-targets", "--", "-D", "warnings"]));
    tally.run("links between comments", || {
        build(&["doc", "--workspace", "--no-deps", "--document-private-items"])
    });
    tally.run("tidy", checks::expect_tidy);
    tally.run("the ABI in Rust matches the header", || uapi::main(&uapi::Options { check: true }));
    tally.run("the tests on the host are built", || build(&[TESTS, &["--no-run"]].concat()));
    tally.run("tests on the host", || host_tests(&options.kernels));
    tally.run("the module's pure parts in user space", || {
        exec::run(Command::new("make").current_dir(workspace::root()).args(["-C", "kmod/tests", "check"]))
    });
    if !options.quick {
        tally.run("the guide as a book", || guide::build().map(drop));
    }
}

/// The module, and the cases in guests.
fn guest_steps(options: &Options, workers: &Workers, tally: &mut Tally) {
    for name in Name::or_default_of(options.arch, &options.kernels) {
        if name.has_kprobes() {
            tally.run(&format!("the module for the kernel {name}"), || {
                match kmod::build(&vm::kernel(options.arch, name)?, kmod::Warnings::Denied)? {
                    Some(_) => Ok(()),
                    None => bail!("this checkout has no kmod/Kbuild"),
                }
            });
        }
        let step = format!("cases in guests, kernel {name}");
        let (seconds, faults) =
            timed(|| vmtest::run_everything(options.arch, name, options.long, workers, tally));
        if faults.is_empty() {
            tally.took(&step, seconds);
        } else {
            tally.step(&step, seconds, &faults);
        }
    }
}

impl Tally {
    fn run(&mut self, name: &str, run: impl FnOnce() -> Result<()>) {
        let (seconds, faults) = timed(run);
        self.step(name, seconds, &faults);
    }
}

/// Runs a function; returns its seconds, and its error.
fn timed(run: impl FnOnce() -> Result<()>) -> (f32, Vec<String>) {
    let begin = Instant::now();
    let faults = run().err().map(|error| format!("{error:#}"));
    (begin.elapsed().as_secs_f32(), faults.into_iter().collect())
}

/// The file in which tests record that they are skipped. A line has the missing thing, how to get it, and the test,
/// separated by tabs.
fn skipped() -> PathBuf {
    workspace::target().join("skipped")
}

fn forget_skipped() -> Result<()> {
    match fs::remove_file(skipped()) {
        Err(error) if error.kind() != ErrorKind::NotFound => Err(error.into()),
        _ => Ok(()),
    }
}

/// The skipped tests, by the thing that is missing.
fn reasons(lines: &str) -> BTreeMap<String, BTreeSet<String>> {
    let mut reasons: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for line in lines.lines() {
        if let [what, how, test] = line.split('\t').collect::<Vec<_>>()[..] {
            reasons.entry(format!("no {what} ({how})")).or_default().insert(test.to_owned());
        }
    }
    reasons
}

fn cargo(arguments: &[&str]) -> Result<()> {
    exec::run(&mut command(arguments))
}

/// Runs a cargo that builds, and shows progress.
fn build(arguments: &[&str]) -> Result<()> {
    steps::step(format!("cargo {}", arguments[0]), |step| crates::build(&mut command(arguments), step))
}

fn command(arguments: &[&str]) -> Command {
    let mut command = crates::cargo(&workspace::root());
    // With CI set, tools neither prompt nor write snapshots.
    command.env("CI", "true").args(arguments);
    command
}

/// The tests of all crates, as nextest and cargo itself call them.
const NEXTEST: &[&str] = &["nextest", "run", "--workspace", "--no-fail-fast", "--status-level", "fail"];
const TESTS: &[&str] = &["test", "--workspace", "--no-fail-fast"];

/// Runs the tests on the host. The requested kernels must be there.
fn host_tests(kernels: &[Name]) -> Result<()> {
    let run = |arguments: &[&str]| {
        let mut command = command(arguments);
        command.env("KINST_SKIPPED", Path::new(&skipped()));
        if !kernels.is_empty() {
            command
                .env("KINST_KERNELS", kernels.iter().map(|name| name.as_str()).collect::<Vec<_>>().join(","));
        }
        exec::run(&mut command)
    };
    let has_nextest = exec::captured(Command::new("cargo-nextest").args(["nextest", "--version"]));
    if !has_nextest.is_ok_and(|out| out.status.success()) {
        return run(TESTS);
    }
    run(NEXTEST)?;
    // nextest does not run the examples in the documentation.
    cargo(&["test", "--workspace", "--doc"])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_test_is_named_once_for_each_reason() {
        let lines =
            "dwz\tcargo xtask setup\tdwarf::a\nperf\tapt\tlocals::b\ndwz\tcargo xtask setup\tdwarf::a\n";
        let reasons: Vec<_> =
            reasons(lines).into_iter().map(|(reason, tests)| (reason, tests.len())).collect();
        assert_eq!(reasons, [("no dwz (cargo xtask setup)".to_owned(), 1), ("no perf (apt)".to_owned(), 1)]);
    }
}
