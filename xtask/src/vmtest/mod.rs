//! Running the cases of tests/vm/cases in guests.

mod case;
mod judge;
mod plan;
mod pushed;
mod run;

use std::fs;
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context, Result, bail};

use crate::kernels::{Arch, Name};
use crate::tally::Tally;
use crate::{vm, workspace};
use case::Case;
pub(crate) use run::Workers;

#[derive(clap::Args, Default)]
pub(crate) struct Options {
    /// Run only the cases with one of these in their name or their file's name
    pub patterns: Vec<String>,
    /// The kernels to boot [default: the kernel of this machine's release; arm64: 6.12]
    #[arg(long = "kernel", value_name = "KERNEL")]
    pub kernels: Vec<Name>,
    /// The machine of the guests
    #[arg(long, default_value = "amd64")]
    pub arch: Arch,
    /// Use dtrace and inlinecall as built for the packages, which takes minutes longer
    #[arg(long)]
    pub release: bool,
    /// Whether they have been built already, with the tests
    #[arg(skip)]
    pub tested: bool,
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

pub(crate) fn main(options: &Options) -> Result<ExitCode> {
    let all = select(load(options.arch)?, &options.patterns)?;
    let (mut total, mut skipped) = (Tally::default(), 0);
    for kernel in Name::or_default_of(options.arch, &options.kernels) {
        let mut cases = all.clone();
        leave_out(&mut cases, |case| case.why_not(options.arch, kernel));
        if options.without_module || !kernel.has_kprobes() {
            without_module(&mut cases);
        }
        skipped += all.len() - cases.len();
        if options.list {
            cases.iter().for_each(|case| println!("{}: {}", case.file, case.name));
            return Ok(ExitCode::SUCCESS);
        }
        run::cases(&cases, kernel, options, &Workers::all(), &mut total)?;
    }
    Ok(total.print_end(skipped))
}

/// Leaves out the cases that need the module, and prints why; the others have no module and may not load it.
fn without_module(cases: &mut Vec<Case>) {
    leave_out(cases, |case| case.module_only.as_deref());
    for case in cases {
        case.guest.module = false;
        case.guest.append += vm::LOCKED;
        case.script.insert_str(0, vm::BY_BPF);
    }
}

/// Leaves out the cases for which there is a reason, and prints it.
fn leave_out(cases: &mut Vec<Case>, why: impl Fn(&Case) -> Option<&str>) {
    cases.retain(|case| {
        let why = why(case);
        if let Some(why) = why {
            println!("skip  {}: {}: {why}", case.file, case.name);
        }
        why.is_none()
    });
}

/// Runs every case on one kernel, without the long ones unless `long`. dtrace for this machine has been built.
pub(crate) fn run_everything(
    arch: Arch,
    kernel: Name,
    long: bool,
    workers: &Workers,
    tally: &mut Tally,
) -> Result<()> {
    let mut cases = load(arch)?;
    cases.retain(|case| long || !case.long);
    leave_out(&mut cases, |case| case.why_not(arch, kernel));
    if !kernel.has_kprobes() {
        without_module(&mut cases);
    }
    let options = Options { arch, repeat: 1, tested: true, ..Options::default() };
    run::cases(&cases, kernel, &options, workers, tally)
}

/// The text of cases for guests of an architecture: they name the kernel's functions for system calls as x86-64 does.
fn for_arch(arch: Arch, text: String) -> String {
    match arch {
        Arch::Amd64 => text,
        Arch::Arm64 => {
            ["__x64_sys_", "__do_sys_"].iter().fold(text, |text, name| text.replace(name, "__arm64_sys_"))
        }
    }
}

/// Every case of the checkout, in the order of the files' names.
fn load(arch: Arch) -> Result<Vec<Case>> {
    let folder = workspace::root().join("tests/vm/cases");
    let entries = fs::read_dir(&folder).with_context(|| format!("cannot read {}", folder.display()))?;
    let mut files: Vec<PathBuf> = entries.flatten().map(|e| e.path()).collect();
    files.retain(|f| f.extension().is_some_and(|e| e == "case"));
    files.sort();
    let mut cases = Vec::new();
    for file in files {
        let text = for_arch(arch, fs::read_to_string(&file)?);
        cases.extend(case::parse(&file, &text)?);
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
