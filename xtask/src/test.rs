//! All tests, step by step, to the end even if some fail.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::thread;
use std::time::Instant;

use anyhow::{Result, bail};

use crate::kernels::{Kernel, Name};
use crate::vmtest::{self, Tally};
use crate::{checks, crates, exec, guide, kmod, setup, uapi, vm, workspace};

#[derive(clap::Args)]
pub struct Options {
    /// Leave out what needs a kernel: the module and the guests
    #[arg(long)]
    pub quick: bool,
    /// Run the cases that take long, too
    #[arg(long)]
    pub long: bool,
    /// The kernels to build the module for and to boot [default: stable]
    #[arg(long = "kernel", value_name = "KERNEL")]
    pub kernels: Vec<Name>,
}

pub fn main(options: &Options) -> Result<ExitCode> {
    let kernels = if options.kernels.is_empty() { &[Name::Stable][..] } else { &options.kernels };
    let mut all = Steps::begin()?;
    // Tests on the host look into the kernels too, and all of them into the stable one.
    if !options.quick {
        let others = kernels.iter().filter(|name| **name != Name::Stable);
        for &name in [Name::Stable].iter().chain(others) {
            all.step(&format!("setup of the {name} kernel"), || setup::ensure(&[name], false).map(drop));
        }
    }
    // Beside clippy, which uses another folder of the target, and not both processors all the time.
    let programs = (!options.quick).then(|| thread::spawn(|| vm::programs::build(false)));
    all.step("formatting", || cargo(&["fmt", "--all", "--check"]));
    all.step("clippy", || cargo(&["clippy", "--workspace", "--all-targets", "--", "-D", "warnings"]));
    all.step("tidy", checks::expect_tidy);
    all.step("the ABI in Rust is that of the header", || uapi::main(&uapi::Options { check: true }));
    if let Some(programs) = programs {
        all.step("the programs for guests", || match programs.join() {
            Ok(built) => built.map(drop),
            Err(panic) => std::panic::resume_unwind(panic),
        });
    }
    all.step("tests on the host", || host_tests(&options.kernels));
    all.step("the module's pure parts in user space", || {
        exec::run(Command::new("make").current_dir(workspace::root()).args(["-C", "kmod/tests", "check"]))
    });
    if !options.quick {
        all.step("the guide as a book", || guide::build().map(drop));
        for &name in kernels {
            all.step(&format!("the module for the {name} kernel"), || {
                match kmod::build(&Kernel::need(name)?, kmod::Warnings::Denied)? {
                    Some(_) => Ok(()),
                    None => bail!("there is no kmod/Kbuild to build"),
                }
            });
            all.cases(name, options.long);
        }
    }
    Ok(all.end())
}

/// The successes and failures so far.
#[derive(Default)]
struct Steps {
    tally: Tally,
}

/// The file in which tests write why they do not run: a line of what is missing, what brings it, and the test,
/// separated by tabs.
fn skipped() -> PathBuf {
    workspace::target().join("skipped")
}

impl Steps {
    fn begin() -> Result<Self> {
        match fs::remove_file(skipped()) {
            Err(error) if error.kind() != ErrorKind::NotFound => Err(error.into()),
            _ => Ok(Self::default()),
        }
    }

    fn step(&mut self, name: &str, run: impl FnOnce() -> Result<()>) {
        eprintln!("── {name}");
        let begin = Instant::now();
        let result = run();
        let faults = result.err().map(|error| format!("{error:#}"));
        self.tally.end(name, begin.elapsed().as_secs_f32(), faults.as_slice());
    }

    fn cases(&mut self, kernel: Name, long: bool) {
        eprintln!("── cases in guests, {kernel} kernel");
        match vmtest::run_everything(kernel, long) {
            Ok(tally) => self.tally.add(tally),
            Err(error) => self.step(&format!("cases in guests, {kernel} kernel"), || Err(error)),
        }
    }

    fn end(self) -> ExitCode {
        let skipped = reasons(&fs::read_to_string(skipped()).unwrap_or_default());
        for (reason, tests) in &skipped {
            println!("skipped: {reason}: {}", Vec::from_iter(tests.iter().cloned()).join(", "));
        }
        let tests: BTreeSet<&String> = skipped.values().flatten().collect();
        self.tally.print_end(tests.len())
    }
}

/// Tests by what is missing for them.
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

fn command(arguments: &[&str]) -> Command {
    let mut command = crates::cargo(&workspace::root());
    // Tools that would prompt or write snapshots behave as on a machine without a user.
    command.env("CI", "true").args(arguments);
    command
}

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
        return run(&["test", "--workspace", "--no-fail-fast"]);
    }
    run(&["nextest", "run", "--workspace", "--no-fail-fast", "--status-level", "fail"])?;
    // nextest leaves the examples in the documentation to cargo.
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
