//! Running the cases of tests/vm/cases in guests.

mod case;
mod judge;

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Instant;

use anyhow::{Context, Result, bail};

use crate::kernels::{Kernel, Name};
use crate::kmod;
use crate::setup::{peers, pprof};
use crate::vm::{self, Guest, contents::Contents, machine::Captured, machine::Machine};
use crate::workspace;
use case::{Case, Shape};
use judge::{Outcome, judge};

#[derive(clap::Args)]
pub struct Options {
    /// Only the cases that have one of these in their file's name or their own
    pub patterns: Vec<String>,
    /// The kernels to boot [default: stable]
    #[arg(long = "kernel", value_name = "KERNEL")]
    pub kernels: Vec<Name>,
    /// Take dtrace and inlinecall from a build without optimisation
    #[arg(long)]
    pub dev: bool,
    /// Run the cases in guests that may not load the module, as under Secure Boot, with -x backend=bpf
    #[arg(long)]
    pub without_module: bool,
    /// Run each case this many times
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub repeat: usize,
    /// Print the names of the cases and run nothing
    #[arg(long)]
    pub list: bool,
}

/// How many tests passed, and those that failed: each with its name and what was wrong.
#[derive(Default)]
pub struct Tally {
    pub passed: usize,
    pub failed: Vec<String>,
}

impl Tally {
    /// Notes how a test ended, and prints it.
    pub fn end(&mut self, name: &str, seconds: f32, faults: &[String]) {
        if faults.is_empty() {
            self.passed += 1;
            println!("ok    {name} ({seconds:.1} s)");
        } else {
            let what = faults.iter().map(|fault| format!("\n    {}", fault.replace('\n', "\n    ")));
            let failure = format!("{name} ({seconds:.1} s){}", what.collect::<String>());
            println!("FAIL  {failure}");
            self.failed.push(failure);
        }
    }

    pub fn add(&mut self, other: Self) {
        self.passed += other.passed;
        self.failed.extend(other.failed);
    }

    /// What failed, once more, for those who read only the end of a long run, and the numbers.
    pub fn print_end(&self, skipped: usize) -> ExitCode {
        const LINES: usize = 40;
        for failure in &self.failed {
            let lines: Vec<&str> = failure.lines().take(LINES).collect();
            println!("failed: {}", lines.join("\n"));
        }
        let skipped = if skipped == 0 { String::new() } else { format!(", {skipped} skipped") };
        println!("{} passed, {} failed{skipped}", self.passed, self.failed.len());
        if self.failed.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
    }
}

pub fn main(options: &Options) -> Result<ExitCode> {
    let mut cases = select(load()?, &options.patterns)?;
    let all = cases.len();
    if options.without_module {
        cases.retain(is_without_module);
        cases.iter_mut().for_each(without_module);
    }
    let skipped = all - cases.len();
    if options.list {
        for case in cases {
            println!("{}: {}", case.file, case.name);
        }
        return Ok(ExitCode::SUCCESS);
    }
    let kernels = if options.kernels.is_empty() { &[Name::Stable][..] } else { &options.kernels };
    let mut total = Tally::default();
    for &kernel in kernels {
        total.add(run_all(&cases, kernel, options.dev, options.repeat)?);
    }
    Ok(total.print_end(skipped))
}

/// Whether a case can pass without the module; says why it cannot.
fn is_without_module(case: &Case) -> bool {
    if let Some(why) = &case.module_only {
        println!("skip  {}: {}: {why}", case.file, case.name);
    }
    case.module_only.is_none()
}

/// Makes a case one that has no module and may not load it.
fn without_module(case: &mut Case) {
    case.guest.module = false;
    case.guest.append += vm::LOCKED;
    case.script.insert_str(0, vm::BY_BPF);
}

/// Runs every case on one kernel, or every one that is not long.
pub fn run_everything(kernel: Name, long: bool) -> Result<Tally> {
    let mut cases = load()?;
    cases.retain(|case| long || !case.long);
    run_all(&cases, kernel, false, 1)
}

/// Every case of the checkout, in the order of the files' names.
fn load() -> Result<Vec<Case>> {
    let folder = workspace::root().join("tests/vm/cases");
    let entries = fs::read_dir(&folder).with_context(|| format!("cannot read {}", folder.display()))?;
    let mut files: Vec<PathBuf> = entries.flatten().map(|e| e.path()).collect();
    files.retain(|f| f.extension().is_some_and(|e| e == "case"));
    files.sort();
    let mut cases = Vec::new();
    for file in files {
        cases.extend(case::parse(&file, &fs::read_to_string(&file)?)?);
    }
    Ok(cases)
}

fn select(mut cases: Vec<Case>, patterns: &[String]) -> Result<Vec<Case>> {
    let wanted = |c: &Case| patterns.iter().any(|p| format!("{}: {}", c.file, c.name).contains(p.as_str()));
    cases.retain(|c| patterns.is_empty() || wanted(c));
    if cases.is_empty() {
        bail!("no case matches {}", patterns.join(", "));
    }
    Ok(cases)
}

fn run_all(cases: &[Case], kernel: Name, dev: bool, repeat: usize) -> Result<Tally> {
    let wanted = cases.iter().filter(|c| c.is_for(kernel));
    let all: Vec<&Case> = wanted.flat_map(|c| std::iter::repeat_n(c, repeat)).collect();
    let guest = |shape: &Shape| Guest {
        accel: if shape.thread.as_deref() == Some("icount") { "icount" } else { "tcg" }.into(),
        kernel,
        smp: shape.smp,
        mem: shape.mem,
        append: shape.append.clone(),
        cpu: shape.cpu.clone(),
        thread: shape.thread.clone().filter(|thread| thread != "icount"),
        no_module: !shape.module,
        dev,
        ..Guest::default()
    };
    let mut tally = Tally::default();
    for group in groups(&all) {
        let shape = &group[0].guest;
        let guest = guest(shape);
        let built = vm::built(&guest)?;
        let pushed = shape.push.iter().map(|f| pushed(f, kernel)).collect::<Result<_>>()?;
        let runs = group.iter().map(|c| c.script.clone()).collect();
        run_group(&guest, &Contents { pushed, runs, ..built }, &group, &mut tally);
    }
    Ok(tally)
}

/// Groups of cases that can share a guest, each in the order of the files.
fn groups<'a>(cases: &[&'a Case]) -> Vec<Vec<&'a Case>> {
    let mut groups: Vec<Vec<&Case>> = Vec::new();
    for &case in cases {
        let shared = groups.iter_mut().find(|g| !case.own_boot && !g[0].own_boot && g[0].guest == case.guest);
        match shared {
            Some(group) => group.push(case),
            None => groups.push(vec![case]),
        }
    }
    groups
}

/// Runs cases one after the other in one guest, or in as many as it takes: a broken one is replaced.
fn run_group(guest: &Guest, contents: &Contents, cases: &[&Case], tally: &mut Tally) {
    let mut machine: Option<Machine> = None;
    for (id, case) in cases.iter().enumerate() {
        let title = format!("{} {}: {}", guest.kernel, case.file, case.name);
        let begin = Instant::now();
        let result = match machine.take() {
            Some(machine) => Ok(machine),
            None => vm::boot(guest, contents),
        };
        let result = result.and_then(|mut running| {
            let outcome = run_case(&mut running, id, case, guest.kernel.slowness())?;
            Ok((running, outcome))
        });
        let seconds = begin.elapsed().as_secs_f32();
        let faults = match result {
            Ok((mut running, outcome)) => {
                let mut faults = judge(case, &outcome);
                if !faults.is_empty() {
                    faults.push(evidence(&mut running, &outcome));
                }
                // After a crash or a time-out, and after any trouble, the guest's results prove nothing.
                let healthy = matches!(outcome.end, vm::machine::End::Exit(_)) && outcome.trouble.is_none();
                machine = healthy.then_some(running);
                faults
            }
            Err(error) => vec![format!("{error:#}")],
        };
        tally.end(&title, seconds, &faults);
    }
}

fn run_case(machine: &mut Machine, id: usize, case: &Case, slowness: u32) -> Result<Outcome> {
    let from = machine.log.position();
    machine.log.allow(&case.allowed_log);
    let mut output = Captured::default();
    let end = machine.run(id, case.timeout * slowness, &mut output)?;
    let trouble = machine.log.first_trouble(from).map(Into::into);
    let log = machine.log.since(from).to_vec();
    Ok(Outcome { end, stdout: output.out, stderr: output.err, log, trouble })
}

/// The output and log that help to understand a failure.
fn evidence(machine: &mut Machine, outcome: &Outcome) -> String {
    let mut text = String::new();
    for (name, bytes) in [("stdout", &outcome.stdout), ("stderr", &outcome.stderr)] {
        let lines = String::from_utf8_lossy(bytes);
        let lines: Vec<_> = lines.lines().collect();
        let shown = &lines[lines.len().saturating_sub(40)..];
        let cut = if shown.len() < lines.len() { ", its end" } else { "" };
        text += &format!("{name}{cut}:\n");
        shown.iter().for_each(|line| text += &format!("    {line}\n"));
    }
    text += &format!("the kernel's log:\n{}", machine.log.excerpt(machine.run_start, 80));
    if outcome.end == vm::machine::End::Hang {
        text += &format!("\nthe CPUs:\n{}", machine.registers());
    }
    text
}

/// A file to push: as it is, the program that a C source makes, a module, the guest's kernel, or a tree of other programs.
fn pushed(file: &Path, kernel: Name) -> Result<PathBuf> {
    if file.ends_with("vmlinuz") {
        return Ok(Kernel::need(kernel)?.vmlinuz);
    }
    if file.ends_with(peers::FILE) {
        return peers::ensure(kernel);
    }
    if file.ends_with("pprof") {
        return pprof::need();
    }
    if file.ends_with(peers::PROGRAMS) {
        return peers::programs();
    }
    if file.ends_with(vm::programs::INDEX) {
        return vm::programs::exported(&Kernel::need(kernel)?, false);
    }
    if let (Some("ko"), Some(name)) = (file.extension().and_then(OsStr::to_str), file.file_stem()) {
        return kmod::build_beside(&Kernel::need(kernel)?, &name.to_string_lossy());
    }
    vm::programs::from_source(file, &[])
}
