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

use crate::kernels::Name;
use crate::tally::Tally;
use crate::{vm, workspace};
use case::Case;
pub(crate) use run::Workers;

#[derive(clap::Args, Default)]
pub(crate) struct Options {
    /// Run only the cases with one of these in their name or their file's name
    pub patterns: Vec<String>,
    /// The kernels to boot [default: the kernel of this machine's release]
    #[arg(long = "kernel", value_name = "KERNEL")]
    pub kernels: Vec<Name>,
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
    let all = select(load()?, &options.patterns)?;
    let (mut total, mut skipped) = (Tally::default(), 0);
    for kernel in Name::or_default(&options.kernels) {
        let mut cases = all.clone();
        if options.without_module || !kernel.has_kprobes() {
            without_module(&mut cases);
            skipped += all.len() - cases.len();
        }
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
    cases.retain(|case| {
        if let Some(why) = &case.module_only {
            println!("skip  {}: {}: {why}", case.file, case.name);
        }
        case.module_only.is_none()
    });
    for case in cases {
        case.guest.module = false;
        case.guest.append += vm::LOCKED;
        case.script.insert_str(0, vm::BY_BPF);
    }
}

/// Runs every case on one kernel, without the long ones unless `long`.
pub(crate) fn run_everything(kernel: Name, long: bool, workers: &Workers, tally: &mut Tally) -> Result<()> {
    let mut cases = load()?;
    cases.retain(|case| long || !case.long);
    if !kernel.has_kprobes() {
        without_module(&mut cases);
    }
    run::cases(&cases, kernel, &Options { repeat: 1, tested: true, ..Options::default() }, workers, tally)
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
