//! cli/path.rs: --path: the ways that single calls of a function go, and where some of them part from the others.

use super::dtrace_trace::{self, Taker};
use super::pager::Pager;
use super::report::in_color;
use super::run::{Failed, Run};
use super::written;
use crate::analysis::counts::program::CROSSING;
use crate::analysis::paths::gathered::{Counts, Gathered};
use crate::analysis::paths::program::{Group, Question};
use crate::analysis::paths::text::Form;
use crate::analysis::paths::{differ, object, program, text, ways};
use crate::analysis::source::Sources;
use crate::options::key;
use crate::os;
use crate::probe::{Description, Fields, Probe};
use crate::sites::ProbeCatalog as _;
use crate::sites::flow::Undecodable;
use crate::sites::listing::disas::Disassembler;
use crate::sites::listing::followed::{Followed, NotFollowed};
use std::io::IsTerminal as _;

/// How many calls are recorded if the command line does not say.
pub const CALLS: u64 = 1000;

/// Records calls until the trace ends, and writes their ways.
pub fn path(run: &mut Run) -> Result<u8, Failed> {
    written::require_backend(run)?;
    let mut groups = groups(run)?;
    bounded(run, &groups)?;
    groups.iter().flat_map(|group| &group.members).for_each(|one| report_unseen(run, one));
    look(run, &mut groups)?;
    // A call has many records.
    let given = run.invocation.settings.iter().any(|(name, _)| name == "bufsize");
    let buffers = if given { "" } else { "#pragma D option bufsize=32m\n\n" };
    let text = buffers.to_owned() + &program::write(&groups, &question(run));
    if let Some(status) = written::take(run, "--path", text)? {
        return Ok(status);
    }
    let most = question(run).calls;
    let gathered = Gathered::new(groups.iter().map(|group| group.into).collect(), most);
    let instructions = std::mem::take(&mut run.invocation.verbose);
    let begin = |armed: &mut dyn Iterator<Item = &Probe>| gathered.begin(armed);
    let taker = Taker { begin: &begin, export: Box::new(gathered.clone()), end: None };
    let status = dtrace_trace::trace_into(run, Some(taker))?;
    let mut calls = gathered.take();
    let ways = ways::ways(&mut calls, &groups);
    report(run, &calls.counts, most);
    write(run, &groups, &ways, &calls.counts, instructions)?;
    Ok(status)
}

/// The functions that the command line names.
fn groups(run: &Run) -> Result<Vec<Group>, Failed> {
    let kernel = run.kernel()?;
    let live = run.live_text();
    let mut disassembler = Disassembler::new(&kernel, live.as_deref());
    let mut groups = Vec::new();
    let into = run.invocation.into.iter().map(|function| (function, true));
    for (function, into) in run.invocation.followed.iter().map(|function| (function, false)).chain(into) {
        let followed = match disassembler.followed(function) {
            Ok(followed) => followed,
            Err(NotFollowed::Diagnostic(error)) => {
                run.report.diagnostic(&run.sources, &error, None);
                return Err(Failed);
            }
            Err(NotFollowed::Unread(name, why)) => {
                let help = match why {
                    Undecodable::NoCode => "dtrace doctor says which files of modules are missing",
                    _ => "dtrace --annotate counts each instruction of it",
                };
                return run.fail_as(&format!("the ways through {name} are not known: {why}"), Some(help));
            }
        };
        if let Some(one) = followed.iter().find(|one| one.branches > 0 && one.unseen == one.branches) {
            let help = "dtrace --disas shows why no instruction of it can be traced";
            return run.fail_as(&format!("nothing of {} can be followed", one.name()), Some(help));
        }
        Group::all(followed, into, &mut groups);
    }
    for (copy, function) in Group::settle(&mut groups) {
        run.report.notice(&format!("{copy} is inlined in {function}, and followed there"));
    }
    disassembler.take_remarks().iter().for_each(|remark| run.report.notice(remark));
    run.tell_of_kernel();
    let probes: usize = groups.iter().flat_map(|group| &group.members).map(|one| one.witnesses.len()).sum();
    let most = run.device().map_or(usize::MAX, |device| device.info.max_probes as usize);
    if probes > most {
        let names: Vec<&str> = groups.iter().map(Group::name).collect();
        let text = format!("{} would need {probes} probes, the kernel module arms {most}", names.join(", "));
        return run.fail_as(&text, Some("name one module, or follow fewer functions"));
    }
    Ok(groups)
}

fn report_unseen(run: &Run, one: &Followed) {
    if one.unseen > 0 {
        let name = one.name();
        let text = format!(
            "{name}: {} of {} branches have no room for a probe: where these are not decided by others, a way has a ?",
            one.unseen, one.branches
        );
        run.report.notice(&text);
    }
}

/// Checks that calls have a beginning and an end that can be probed.
fn bounded(run: &Run, groups: &[Group]) -> Result<(), Failed> {
    let catalog = run.catalog()?;
    let is_probe = |boundary: &str, name: &str| {
        let mut fields = boundary.splitn(3, ':').map(str::to_owned);
        let mut next = || fields.next().unwrap_or_default();
        let fields = Fields { provider: next(), module: next(), function: next(), name: name.to_owned() };
        catalog.matches(&Description::Fields(Box::new(fields))).is_ok_and(|found| !found.is_empty())
    };
    for group in groups {
        let name = group.name();
        if CROSSING.contains(&name) {
            let text =
                format!("{name} begins in one context and ends in another: its calls cannot be followed");
            return run.fail_as(&text, Some("dtrace --annotate counts what it executes"));
        }
        let ends = || ["entry", "return"].iter().all(|end| is_probe(&group.boundary, end));
        if !group.is_copies() && !ends() {
            let help = "dtrace --annotate counts what it executes";
            return run.fail_as(&format!("the entry and the return of {name} cannot be probed"), Some(help));
        }
        if group.is_copies() && !group.into && run.invocation.differ.is_some() {
            let text = format!("--differ: {name} is inlined: a copy returns no value");
            return run.fail_as(&text, Some("name the function around it, as dtrace --disas shows it"));
        }
    }
    Ok(())
}

/// Finds the variables that are recorded.
fn look(run: &Run, groups: &mut [Group]) -> Result<(), Failed> {
    let kernel = run.kernel()?;
    run.with_given(0, |given| {
        groups.iter_mut().for_each(|group| group.look(given.kernel, &|sites| kernel.scopes(sites)));
    });
    if let Some(group) = groups.first().filter(|group| !group.into && run.invocation.differ.is_some())
        && group.returns.is_none()
    {
        let text = format!("--differ: {} returns no value", group.name());
        return run.fail_as(&text, Some("--when is about the arguments"));
    }
    run.tell_of_kernel();
    Ok(())
}

fn question(run: &Run) -> Question<'_> {
    let invocation = &run.invocation;
    Question {
        whose: written::whose(invocation),
        when: invocation.when.as_deref(),
        differ: invocation.differ.as_deref(),
        time: invocation.time.as_deref(),
        calls: invocation.calls.unwrap_or(CALLS),
    }
}

fn report(run: &Run, counts: &Counts, most: u64) {
    let Counts { whole, broken, long, unfinished, lost, .. } = *counts;
    let calls = |number| text::number(number, "call");
    if broken > 0 {
        let why = match lost {
            0 => String::new(),
            lost => format!(
                ": {} lost; -b makes the buffers larger",
                text::number(lost, "record was").replace("record wass", "records were")
            ),
        };
        run.report.warning(&format!(
            "{} could not be recorded whole, and {} left out{why}",
            calls(broken),
            if broken == 1 { "is" } else { "are" }
        ));
    }
    if long > 0 {
        run.report.warning(&format!("{} with more than {} records: left out", calls(long), program::MOST));
    }
    if unfinished > 0 {
        run.report.notice(&format!("{} had not ended", calls(unfinished)));
    }
    if whole >= most && run.invocation.calls.is_none() {
        run.report.notice(&format!("ended after {}; --calls takes another number", calls(most)));
    }
}

fn write(
    run: &Run,
    groups: &[Group],
    ways: &[ways::Way],
    counts: &Counts,
    instructions: bool,
) -> Result<(), Failed> {
    let comparison = run.invocation.differ.as_ref().map(|_| differ::compare(ways, groups));
    if run.invocation.objects {
        let mut objects: Vec<serde_json::Value> =
            ways.iter().map(|way| object::of_way(way, groups)).collect();
        objects.extend(comparison.iter().flat_map(|comparison| object::of_comparison(comparison, groups)));
        return run.put(&objects.iter().map(|object| format!("{object}\n")).collect::<String>());
    }
    let running = run.options.text(key::SYSROOT).is_none();
    let release = running.then(os::release);
    let mut sources = Sources::new(run.options.list(key::SOURCEPATH), release.as_deref());
    let without_lines = missing(run, groups, &mut sources)?;
    let to_terminal = run.invocation.output.is_none() && std::io::stdout().is_terminal();
    let mut form = Form {
        color: run.invocation.output.is_none() && in_color(&std::io::stdout()),
        instructions: instructions || without_lines,
        sources: &mut sources,
    };
    let mut text = text::title(groups, ways, counts);
    match &comparison {
        Some(comparison) => {
            text += &form.comparison(comparison, run.invocation.differ.as_deref().unwrap_or_default());
        }
        None => ways.iter().enumerate().for_each(|(number, way)| text += &form.way(number, way, groups)),
    }
    if to_terminal && Pager::show(&text) { Ok(()) } else { run.put(&text) }
}

/// Says what lines need and is not there. Returns whether there are none.
fn missing(run: &Run, groups: &[Group], sources: &mut Sources) -> Result<bool, Failed> {
    let members = || groups.iter().flat_map(|group| &group.members);
    let mut listed = members().flat_map(|one| &one.listings).flat_map(|listing| &listing.instructions);
    if listed.all(|insn| insn.place.is_none()) {
        let name = members().next().map_or("", Followed::name);
        let package = run.kernel()?.debug_package();
        run.report.notice(&format!("no debug information of {name}: these are its instructions; {package}"));
        return Ok(true);
    }
    let first = members().find_map(|one| one.listings.first()?.source.as_ref());
    if let Some(place) = first.filter(|place| sources.line(&place.file, place.line).is_none()) {
        let file = &place.file;
        run.report.notice(&format!(
            "{file} is not there: lines have no text; -x sourcepath=FOLDER names its folder"
        ));
    }
    Ok(false)
}
