//! `cargo xtask sweep`: every instruction of a kernel armed in a guest, batch after batch, under a self-checking load.

mod bisect;
mod guest;
mod lines;
mod progress;
mod report;
mod state;
mod traceable;

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Instant;

use anyhow::{Context, Result, bail};

use crate::kernels::{Arch, Name};
use crate::workspace;
use guest::{Bench, Ended, Request, Run};
use progress::Progress;
use state::{Finding, State};

#[derive(clap::Args, Clone)]
pub(crate) struct Options {
    /// The machine
    #[arg(long, default_value = "amd64")]
    pub arch: Arch,
    /// The kernel to boot
    #[arg(long, default_value_t)]
    pub kernel: Name,
    /// The number of virtual CPUs
    #[arg(long, value_name = "N", default_value_t = 2)]
    pub cpus: u32,
    /// Memory in megabytes
    #[arg(long, value_name = "MB", default_value_t = 2048)]
    pub mem: u32,
    /// Sweep the functions of the modules that the guest loads, instead of the kernel's own
    #[arg(long)]
    pub modules: bool,
    /// Begin with the function at or after this address; guests run without address randomisation
    #[arg(long, value_name = "ADDR", value_parser = address)]
    pub from: Option<u64>,
    /// Continue where the last run of the same kind stopped
    #[arg(long, conflicts_with = "from")]
    pub resume: bool,
    /// Take only every Nth function
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub sample: u32,
    /// Probes of a batch
    #[arg(long, value_name = "N", default_value_t = 15_000)]
    pub size: u32,
    /// Stop after this many batches
    #[arg(long, value_name = "N")]
    pub batches: Option<usize>,
    /// Least seconds of load in each batch; it always finishes its first round
    #[arg(long, value_name = "SECS", default_value_t = 1.0)]
    pub load: f64,
    /// The load: kinst's own, which checks its results, or another program. With modules and on arm64 it is always
    /// kinst's own
    #[arg(long, value_name = "PROGRAM", default_value = "workload", conflicts_with = "modules")]
    pub with: Load,
    /// Run a false predicate instead of counting each probe: quicker, but does not show which ones fired
    #[arg(long)]
    pub no_count: bool,
    /// Use only breakpoints, no jumps
    #[arg(long)]
    pub nojump: bool,
    /// Use one-shot probes: a batch can have 500,000
    #[arg(long, conflicts_with = "nojump")]
    pub once: bool,
    /// The file for the report [default: next to the state, in target/sweep]
    #[arg(long, value_name = "FILE")]
    pub report: Option<PathBuf>,
    /// Arm nothing: print how many instructions can be traced, and why the others cannot
    #[arg(long)]
    pub traceable: bool,
}

/// The load on the kernel while a batch is armed.
#[derive(clap::ValueEnum, Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Load {
    /// kinst's own
    Workload,
    /// Debian's stress-ng, its stressors in groups side by side
    StressNg,
    /// Debian's trinity, a fuzzer of system calls
    Trinity,
}

/// The sweep leaves a batch out after this many failures, or deaths of the guest, without a known cause.
const MOST_TRIES: usize = 3;

pub(crate) fn main(options: &Options) -> Result<ExitCode> {
    if options.arch == Arch::Arm64 && (options.with != Load::Workload || options.modules) {
        bail!("on arm64 only the kernel's own functions are swept, under kinst's own load");
    }
    let bench = Bench::new(options)?;
    if options.traceable {
        return traceable::main(&bench).map(|()| ExitCode::SUCCESS);
    }
    let folder = workspace::target().join("sweep").join(name(options));
    let mut state = State::open(&folder, options, &bench)?;
    let progress = Progress::new();
    sweep(&bench, &mut state, &progress)?;
    progress.end();
    let json = report::json(&state);
    let mut files = vec![folder.join("report.json")];
    files.extend(options.report.clone());
    for file in &files {
        std::fs::write(file, &json).with_context(|| format!("cannot write {}", file.display()))?;
    }
    print!("{}", report::table(&state));
    println!("report             {}", files.last().expect("there is one").display());
    Ok(if state.findings.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Boots guests until all is swept.
fn sweep(bench: &Bench, state: &mut State, progress: &Progress) -> Result<()> {
    while !state.done {
        let begin = Instant::now();
        let left = bench.options.batches.map(|n| n.saturating_sub(state.batches.len()));
        if left == Some(0) {
            break;
        }
        let request = Request {
            from: state.next_at,
            skip: state.skip.clone(),
            batches: left,
            ..Request::of(&bench.options)
        };
        progress.say(&format!("boot {}, from {:#x}", state.boots + 1, state.next_at));
        state.boots += 1;
        let run = bench.run(&request, &mut |batch, total| {
            progress.batch(&batch, total);
            state.took(batch, total)
        })?;
        state.seconds += begin.elapsed().as_secs_f64();
        match &run.ended {
            Ended::Whole => state.done = left.is_none_or(|left| run.batches < left),
            Ended::Fault(what) => fault(bench, state, &run, what, progress)?,
        }
        if state.done && state.total == 0 {
            bail!("no function to sweep");
        }
        state.save()?;
        if state.done || left.is_some_and(|left| run.batches >= left) {
            break;
        }
    }
    Ok(())
}

/// Handles a faulty batch: finds the cause, and lets the sweep continue without it.
fn fault(bench: &Bench, state: &mut State, run: &Run, what: &str, progress: &Progress) -> Result<()> {
    let Some(begun) = &run.begun else {
        bail!("the guest fails before any probe is armed: {what}\n{}", run.console);
    };
    progress.say(&format!("{} … {}: {what}", begun.first, begun.last));
    let begin = Instant::now();
    let tried = state.findings.iter().filter(|f| f.first_at == begun.first_at).count() + 1;
    let mut finding = Finding {
        what: what.into(),
        phase: run.phase.clone(),
        first: begun.first.clone(),
        last: begun.last.clone(),
        first_at: begun.first_at.clone(),
        last_at: begun.last_at.clone(),
        console: run.console.clone(),
        ..Finding::default()
    };
    // The finding is saved before the long part.
    state.findings.push(finding.clone());
    state.save()?;
    bisect::investigate(bench, state, begun, &mut finding, progress)?;
    match &finding.skip {
        Some(skip) => state.skip.push(*skip),
        None if tried >= MOST_TRIES => {
            finding.left_out = true;
            state.skip.push((begun.first_address()?, begun.last_address()? + 1));
        }
        None => {}
    }
    finding.seconds = begin.elapsed().as_secs_f64();
    progress.say(&finding.shown());
    state.findings.pop();
    state.findings.push(finding);
    state.next_at = begun.first_address()?;
    Ok(())
}

/// The name of the folder for a kind of sweep.
fn name(options: &Options) -> String {
    let mut name = format!("{}-{}", options.kernel, options.cpus);
    if options.arch == Arch::Arm64 {
        name = format!("arm64-{name}");
    }
    if options.modules {
        name += "-modules";
    }
    if options.sample > 1 {
        name += &format!("-sample{}", options.sample);
    }
    if options.nojump {
        name += "-nojump";
    }
    if options.once {
        name += "-once";
    }
    match options.with {
        Load::Workload => {}
        Load::StressNg => name += "-stress-ng",
        Load::Trinity => name += "-trinity",
    }
    name
}

fn address(text: &str) -> Result<u64, String> {
    let digits = text.strip_prefix("0x").unwrap_or(text);
    u64::from_str_radix(digits, 16).map_err(|_| format!("{text} is not a hexadecimal address"))
}
