//! cli/coverage.rs: --coverage: which blocks, lines and branches of the named functions are executed at all.

use super::config::Config;
use super::console::{Console, Failed};
use super::dtrace_args::Invocation;
use super::dtrace_trace::{self, Taker};
use super::output::{AtEnd, reason};
use super::subject::Subject;
use super::viewed::{self, Viewed};
use super::written;
use crate::analysis::counts::gathered::Gathered;
use crate::analysis::coverage::covered::Scope;
use crate::analysis::coverage::program::Counting;
use crate::analysis::coverage::tally::Tally;
use crate::analysis::coverage::{against, html, lcov, object, program, text};
use crate::analysis::source::Sources;
use crate::analysis::whose::Whose;
use crate::backend::Fired;
use crate::consumer::export::{Export, Tables};
use crate::consumer::message::Message;
use kinst_base::probe::{Fields, Probe, Site};
use std::cell::RefCell;
use std::collections::HashMap;

/// Traces until the end, and writes what was executed.
pub(crate) fn coverage(
    config: &mut Config,
    subject: &mut Subject,
    console: &mut Console,
) -> Result<u8, Failed> {
    let mut viewed = Viewed::to_trace(config, subject, console, &config.invocation.covered)?;
    // Files that cannot be read are reported before the trace.
    let files = config.invocation.files.clone();
    let merged = files.merged.iter().map(|path| read(console, path)).collect::<Result<Vec<_>, _>>()?;
    let against = files.against.as_ref().map(|path| read(console, path)).transpose()?;
    let scope = scope(config, subject, console, &viewed)?;
    let counting = match viewed.whose(written::whose(&config.invocation)) {
        Whose::All if viewed.is_of_programs() => Counting::OnceInPrograms,
        whose if viewed.is_of_programs() => Counting::Of(whose),
        _ => Counting::Once,
    };
    let text = program::write(&scope, counting, config.invocation.time.as_deref());
    if let Some(status) = written::take(config, subject, console, "--coverage", text)? {
        return Ok(status);
    }
    let lcov = written::open(console, files.lcov.as_ref())?;
    let page = written::open(console, config.invocation.page.as_ref())?;
    let verbose = std::mem::take(&mut config.invocation.verbose);
    let reached = RefCell::new(Reached::default());
    let catalog = subject.catalog(console)?;
    let gathered = Gathered::default();
    let processes = viewed.processes.take();
    let begin = |armed: &mut dyn Iterator<Item = &Probe>| {
        let sites = scope.functions.iter().flat_map(|function| &function.watched).map(|(_, site)| site);
        let ids = match viewed.is_of_programs() {
            false => armed.map(|probe| (probe.name.clone(), probe.id)).collect(),
            true => viewed::ids(&catalog, armed, sites),
        };
        gathered.begin_at(&ids);
        reached.borrow_mut().ids = ids;
    };
    let end = |probes: &[Probe], fired: &[Fired]| reached.borrow_mut().take(probes, fired);
    let export: Box<dyn Export> = match counting {
        Counting::Once | Counting::OnceInPrograms => Box::new(Nothing),
        Counting::Of(_) => Box::new(gathered.clone()),
    };
    let taker = Taker { begin: &begin, export, end: Some(&end), processes };
    let status = dtrace_trace::trace_into(config, subject, console, Some(taker))?;
    let reached = reached.into_inner();
    let state = |site: &Site| match counting {
        Counting::Once | Counting::OnceInPrograms => reached.of(site),
        Counting::Of(_) => gathered.of(0, site).map(|executions| executions > 0),
    };
    let mut tally = Tally::default();
    for function in &scope.functions {
        let known: HashMap<usize, bool> =
            function.watched.iter().filter_map(|(way, site)| Some((*way, state(site)?))).collect();
        tally.add(&scope, function, &function.covered(&known));
    }
    let mut sources = viewed.sources(config, subject);
    let against = joined(&viewed, &mut tally, &mut sources, merged, against);
    write_files(console, &tally, against.as_ref(), (lcov, page), &mut sources)?;
    write(config, console, &tally, against.as_ref(), verbose)?;
    Ok(status)
}

/// The fate of each probe.
#[derive(Default)]
struct Reached {
    /// The ids of the armed sites.
    ids: HashMap<Fields, u32>,
    probes: HashMap<u32, bool>,
}

impl Reached {
    /// Leaves out abandoned places: they may or may not have been reached.
    fn take(&mut self, probes: &[Probe], fired: &[Fired]) {
        let known = probes.iter().zip(fired).filter(|(_, fired)| **fired != Fired::Left);
        self.probes = known.map(|(probe, fired)| (probe.id, *fired == Fired::Yes)).collect();
    }

    fn of(&self, site: &Site) -> Option<bool> {
        self.probes.get(self.ids.get(&site.fields())?).copied()
    }
}

/// The limit on places in programs, of which the kernel arms thousands in a millisecond.
const MOST_IN_PROGRAMS: usize = 200_000;

/// The limit on places without the module: the kernel takes milliseconds to arm each.
const MOST_EVENTS: usize = 10_000;

/// Discards the output of the program, which has none.
struct Nothing;

impl Export for Nothing {
    fn message(&mut self, _: &Message, _: &mut Vec<u8>) {}

    fn finish(&mut self, _: &dyn Tables, _: u8, _: &mut Vec<u8>) -> Option<String> {
        None
    }
}

/// The functions that the command line names.
fn scope(config: &Config, subject: &Subject, console: &Console, viewed: &Viewed) -> Result<Scope, Failed> {
    let mut disassembler = viewed.disassembler().cutting_calls();
    let most = match subject.without_module.get() {
        _ if viewed.is_of_programs() => MOST_IN_PROGRAMS,
        Some(_) => MOST_EVENTS,
        None => subject.device().map_or(usize::MAX, |device| device.info.max_once as usize),
    };
    let patterns = &config.invocation.covered;
    let what = "reading the functions";
    let found = console.progress.during(what, || Scope::read(&mut disassembler, patterns, most));
    let scope = console.reported(found)?;
    subject.report_files(console, config.invocation.verbose);
    for (function, why) in &scope.unread {
        let outcome = if viewed.is_of_programs() { "each instruction is watched" } else { "it is left out" };
        console.report.notice(&format!("{function}: {why}: {outcome}"));
    }
    if scope.functions.iter().all(|function| function.watched.is_empty()) {
        let help = "dtrace --disas shows why no instruction of a function can be traced";
        return console.fail(&format!("no instruction of {} can be traced", patterns.join(", ")), Some(help));
    }
    Ok(scope)
}

/// Adds the other runs; returns the one of --against. In programs, their files have the paths that --lcov writes.
fn joined(
    viewed: &Viewed,
    tally: &mut Tally,
    sources: &mut Sources,
    merged: Vec<Tally>,
    against: Option<Tally>,
) -> Option<Tally> {
    let names = tally.files.keys().filter(|_| viewed.is_of_programs());
    let paths: Vec<(String, String)> =
        names.filter_map(|name| Some((shown(sources, name)?, name.clone()))).collect();
    let renamed = |other: Tally| paths.iter().fold(other, |other, (path, name)| other.renamed(path, name));
    merged.into_iter().for_each(|one| tally.merge(&renamed(one)));
    against.map(renamed)
}

/// The path of a source file, as --lcov writes it.
fn shown(sources: &mut Sources, name: &str) -> Option<String> {
    sources.path(name).map(|path| path.display().to_string())
}

fn read(console: &Console, path: &str) -> Result<Tally, Failed> {
    let text = std::fs::read(path)
        .or_else(|error| console.fail(&format!("failed to read {path}: {}", reason(&error)), None))?;
    lcov::read(&String::from_utf8_lossy(&text)).or_else(|(line, why)| {
        let help = "expected a file from --lcov or from lcov";
        console.fail(&format!("{path}:{line}: {why}"), Some(help))
    })
}

/// Writes the files that were opened before the trace.
fn write_files(
    console: &Console,
    tally: &Tally,
    against: Option<&Tally>,
    (lcov, page): (Option<AtEnd>, Option<AtEnd>),
    sources: &mut Sources,
) -> Result<(), Failed> {
    if let Some(mut file) = lcov {
        written::put(console, &mut file, &lcov::write(tally, sources))?;
    }
    if let Some(mut page) = page {
        written::put(console, &mut page, &html::page(tally, against, sources))?;
    }
    Ok(())
}

fn write(
    config: &Config,
    console: &Console,
    tally: &Tally,
    against: Option<&Tally>,
    verbose: bool,
) -> Result<(), Failed> {
    let Invocation { objects, files, .. } = &config.invocation;
    if *objects {
        return console.put(&object::objects(tally));
    }
    let color = console.in_color();
    let mut text = text::summary(tally, verbose, color);
    if let Some(against) = against {
        text += &against::write(tally, against, files.against.as_deref().unwrap_or_default(), color);
    }
    console.show(&text)
}
