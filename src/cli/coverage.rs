//! cli/coverage.rs: --coverage: which blocks, lines and branches of some functions are executed at all.

use super::dtrace_trace::{self, Taker};
use super::output::{AtEnd, reason};
use super::pager::Pager;
use super::report::in_color;
use super::run::{Failed, Run};
use super::written;
use crate::analysis::coverage::tally::Tally;
use crate::analysis::coverage::{against, html, lcov, object, program, text};
use crate::analysis::source::Sources;
use crate::backend::Fired;
use crate::consumer::export::{Export, Tables};
use crate::consumer::message::Message;
use crate::options::key;
use crate::os;
use crate::probe::{Fields, Probe};
use crate::sites::listing::covered::Scope;
use crate::sites::listing::disas::Disassembler;
use std::cell::RefCell;
use std::collections::{HashMap, HashSet};
use std::io::IsTerminal as _;

/// Watches until the trace ends, and writes what was executed.
pub fn coverage(run: &mut Run) -> Result<u8, Failed> {
    written::require_backend(run)?;
    // What cannot be read is to be known before the trace.
    let files = run.invocation.files.clone();
    let merged = files.merged.iter().map(|path| read(run, path)).collect::<Result<Vec<_>, _>>()?;
    let against = files.against.as_ref().map(|path| read(run, path)).transpose()?;
    let scope = scope(run)?;
    let text = program::write(&scope, run.invocation.time.as_deref());
    if let Some(status) = written::take(run, "--coverage", text)? {
        return Ok(status);
    }
    let lcov = written::open(run, files.lcov.as_ref())?;
    let page = written::open(run, run.invocation.page.as_ref())?;
    let verbose = std::mem::take(&mut run.invocation.verbose);
    let reached = RefCell::new(Reached::default());
    let begin = |armed: &mut dyn Iterator<Item = &Probe>| {
        reached.borrow_mut().armed = armed.map(|probe| probe.name.clone()).collect();
    };
    let end = |probes: &[Probe], fired: &[Fired]| reached.borrow_mut().take(probes, fired);
    let taker = Taker { begin: &begin, export: Box::new(Nothing), end: Some(&end) };
    let status = dtrace_trace::trace_into(run, Some(taker))?;
    let reached = reached.into_inner();
    let mut tally = Tally::default();
    for function in &scope.functions {
        let known: HashMap<usize, bool> = function
            .watched
            .iter()
            .filter_map(|(way, site)| Some((*way, *reached.sites.get(&site.fields())?)))
            .collect();
        tally.add(&scope, function, &function.covered(&known));
    }
    merged.iter().for_each(|one| tally.merge(one));
    write(run, &tally, against.as_ref(), verbose, (lcov, page))?;
    Ok(status)
}

/// What became of the probes, by name.
#[derive(Default)]
struct Reached {
    armed: HashSet<Fields>,
    sites: HashMap<Fields, bool>,
}

impl Reached {
    /// Of a place that was given up it is not known whether it would have been reached.
    fn take(&mut self, probes: &[Probe], fired: &[Fired]) {
        for (probe, fired) in probes.iter().zip(fired) {
            if *fired != Fired::Left && self.armed.contains(&probe.name) {
                self.sites.insert(probe.name.clone(), *fired == Fired::Yes);
            }
        }
    }
}

/// The most places without the module: the kernel takes milliseconds for each.
const MOST_EVENTS: usize = 10_000;

/// Takes the output of the program, which has none.
struct Nothing;

impl Export for Nothing {
    fn message(&mut self, _: &Message, _: &mut Vec<u8>) {}

    fn finish(&mut self, _: &dyn Tables, _: u8, _: &mut Vec<u8>) -> Option<String> {
        None
    }
}

/// The functions that the command line names.
fn scope(run: &Run) -> Result<Scope, Failed> {
    let kernel = run.kernel()?;
    let live = run.live_text();
    let mut disassembler = Disassembler::new(&kernel, live.as_deref());
    let most = match run.without_module.get() {
        Some(_) => MOST_EVENTS,
        None => run.device().map_or(usize::MAX, |device| device.info.max_once as usize),
    };
    let patterns = &run.invocation.covered;
    let what = "reading the functions";
    let found = run.progress.during(what, || disassembler.scope(patterns, most));
    let scope = found.map_err(|error| {
        run.report.diagnostic(&run.sources, &error, None);
        Failed
    })?;
    run.tell_of_kernel();
    for (function, why) in &scope.unread {
        run.report.notice(&format!("{function} is left out: {why}"));
    }
    if scope.functions.iter().all(|function| function.watched.is_empty()) {
        let help = "dtrace --disas shows why no instruction of a function can be traced";
        return run.fail_as(&format!("nothing of {} can be watched", patterns.join(", ")), Some(help));
    }
    Ok(scope)
}

fn read(run: &Run, path: &str) -> Result<Tally, Failed> {
    let text = std::fs::read(path)
        .or_else(|error| run.fail_as(&format!("failed to read {path}: {}", reason(&error)), None))?;
    lcov::read(&String::from_utf8_lossy(&text)).or_else(|(line, why)| {
        let help = "a file of --lcov, or of lcov, is expected";
        run.fail_as(&format!("{path}:{line}: {why}"), Some(help))
    })
}

fn write(
    run: &Run,
    tally: &Tally,
    against: Option<&Tally>,
    verbose: bool,
    (lcov, page): (Option<AtEnd>, Option<AtEnd>),
) -> Result<(), Failed> {
    let invocation = &run.invocation;
    let release = run.is_running().then(os::release);
    let mut sources = Sources::new(run.options.list(key::SOURCEPATH), release.as_deref());
    if let Some(mut file) = lcov {
        written::put(run, &mut file, &lcov::write(tally, &mut sources))?;
    }
    if let Some(mut page) = page {
        written::put(run, &mut page, &html::page(tally, against, &mut sources))?;
    }
    if invocation.objects {
        return run.put(&object::objects(tally));
    }
    let color = invocation.output.is_none() && in_color(&std::io::stdout());
    let mut text = text::summary(tally, verbose, color);
    if let Some(against) = against {
        text +=
            &against::write(tally, against, invocation.files.against.as_deref().unwrap_or_default(), color);
    }
    let to_terminal = invocation.output.is_none() && std::io::stdout().is_terminal();
    if to_terminal && Pager::show(&text) { Ok(()) } else { run.put(&text) }
}
