//! cli/path.rs: --path: the paths of single calls through a function, and the branch at which they diverge.

use super::compile::with_given;
use super::config::Config;
use super::console::{Console, Failed};
use super::dtrace_args::Invocation;
use super::dtrace_trace::{self, Taker};
use super::subject::Subject;
use super::viewed::{self, Viewed};
use super::written;
use crate::analysis::counts::group::CROSSING;
use crate::analysis::paths::followed::{Followed, NotFollowed};
use crate::analysis::paths::gathered::{Counts, Gathered};
use crate::analysis::paths::program::{Group, Question};
use crate::analysis::paths::text::Form;
use crate::analysis::paths::{differ, object, program, text, ways};
use crate::analysis::source::Sources;
use kinst_base::probe::{Description, Fields, Probe};
use kinst_sites::flow::Undecodable;
use kinst_sites::{Catalog, ProbeCatalog as _};

/// The number of calls recorded by default.
pub(super) const CALLS: u64 = 1000;

/// Records calls until the trace ends, and writes their paths.
pub(super) fn path(config: &mut Config, subject: &mut Subject, console: &mut Console) -> Result<u8, Failed> {
    let named = [&config.invocation.followed[..], &config.invocation.into].concat();
    let mut viewed = Viewed::to_trace(config, subject, console, &named)?;
    let mut groups = groups(config, subject, console, &viewed)?;
    let catalog = subject.catalog(console)?;
    let differ = config.invocation.differ.is_some();
    bounded(&catalog, console, &groups, differ)?;
    groups.iter().flat_map(|group| &group.members).for_each(|one| report_unseen(console, one));
    look(config, subject, console, &mut groups)?;
    // A call makes many records.
    let given = config.invocation.settings.iter().any(|(name, _)| name == "bufsize");
    let buffers = if given { "" } else { "#pragma D option bufsize=32m\n\n" };
    let text = buffers.to_owned() + &program::write(&groups, &question(&config.invocation, &viewed));
    if let Some(status) = written::take(config, subject, console, "--path", text)? {
        return Ok(status);
    }
    let most = question(&config.invocation, &viewed).calls;
    let gathered = Gathered::new(groups.iter().map(|group| group.into).collect(), most);
    let instructions = std::mem::take(&mut config.invocation.verbose);
    let processes = viewed.processes.take();
    let begin = |armed: &mut dyn Iterator<Item = &Probe>| {
        let armed: Vec<&Probe> = armed.collect();
        gathered.begin(&mut armed.iter().copied());
        if viewed.is_of_programs() {
            let members = groups.iter().flat_map(|group| &group.members);
            let sites = members.flat_map(|one| &one.witnesses).map(|witness| &witness.site);
            gathered.rename(viewed::ids(&catalog, &mut armed.iter().copied(), sites));
        }
    };
    let taker = Taker { begin: &begin, export: Box::new(gathered.clone()), end: None, processes };
    let status = dtrace_trace::trace_into(config, subject, console, Some(taker))?;
    let mut calls = gathered.take();
    let ways = ways::ways(&mut calls, &groups);
    report(&config.invocation, console, &calls.counts, most);
    let comparison = config.invocation.differ.as_ref().map(|_| differ::compare(&ways, &groups));
    if config.invocation.objects {
        console.put(&objects(&ways, &groups, comparison.as_ref()))?;
        return Ok(status);
    }
    let mut sources = viewed.sources(config, subject);
    let without_lines = missing(&viewed.debug_package(), console, &groups, &mut sources);
    let instructions = instructions || without_lines;
    let mut form = Form { color: console.in_color(), instructions, sources: &mut sources };
    let mut text = text::title(&groups, &ways, &calls.counts);
    match &comparison {
        Some(comparison) => {
            text += &form.comparison(comparison, config.invocation.differ.as_deref().unwrap_or_default());
        }
        None => ways.iter().enumerate().for_each(|(number, way)| text += &form.way(number, way, &groups)),
    }
    console.show(&text)?;
    Ok(status)
}

/// Returns the functions that the command line names.
fn groups(
    config: &Config,
    subject: &Subject,
    console: &Console,
    viewed: &Viewed,
) -> Result<Vec<Group>, Failed> {
    let mut disassembler = viewed.disassembler();
    let mut groups = Vec::new();
    let into = config.invocation.into.iter().map(|function| (function, true));
    for (function, into) in config.invocation.followed.iter().map(|function| (function, false)).chain(into) {
        let followed = match Followed::all(&mut disassembler, function) {
            Ok(followed) => followed,
            Err(NotFollowed::Diagnostic(error)) => return console.reported(Err(error)),
            Err(NotFollowed::Unread(name, why)) => {
                let help = match why {
                    Undecodable::NoCode => "dtrace doctor says which files of modules are missing",
                    _ => "dtrace --annotate counts each of its instructions",
                };
                return console.fail(&format!("the paths through {name} are not known: {why}"), Some(help));
            }
        };
        if let Some(one) = followed.iter().find(|one| one.branches > 0 && one.unseen == one.branches) {
            let help = "dtrace --disas shows why no instruction of it can be traced";
            return console.fail(&format!("no branch of {} can be traced", one.name()), Some(help));
        }
        Group::all(followed, into, &mut groups);
    }
    viewed.report_copies(console, &disassembler, &config.invocation.followed, "followed");
    for (copy, function) in Group::settle(&mut groups) {
        console.report.notice(&format!("{copy} is inlined in {function}, and followed there"));
    }
    disassembler.take_remarks().iter().for_each(|remark| console.report.notice(remark));
    subject.report_files(console, config.invocation.verbose);
    let probes: usize = groups.iter().flat_map(|group| &group.members).map(|one| one.witnesses.len()).sum();
    let most = subject.most_probes();
    if probes > most {
        let names: Vec<&str> = groups.iter().map(Group::name).collect();
        let text =
            format!("{} would need {probes} probes; the kernel module arms at most {most}", names.join(", "));
        return console.fail(&text, Some("name one module, or follow fewer functions"));
    }
    Ok(groups)
}

fn report_unseen(console: &Console, one: &Followed) {
    if one.unseen > 0 {
        let name = one.name();
        let text = format!(
            "{name}: {} of {} branches have no space for a probe: where others do not decide them, a path has a ?",
            one.unseen, one.branches
        );
        console.report.notice(&text);
    }
}

/// Checks that the entry and return of each function can be probed.
fn bounded(catalog: &Catalog, console: &Console, groups: &[Group], differ: bool) -> Result<(), Failed> {
    let is_probe = |[provider, module, function]: &[String; 3], name: &str| {
        let fields = Fields::new(provider, module, function, name);
        catalog.matches(&Description::Fields(Box::new(fields))).is_ok_and(|found| !found.is_empty())
    };
    for group in groups {
        let name = group.name();
        if !group.is_in_program() && CROSSING.contains(&name) {
            let text =
                format!("{name} begins in one context and ends in another: its calls cannot be followed");
            return console.fail(&text, Some("dtrace --annotate counts its instructions"));
        }
        let ends = || ["entry", "return"].iter().all(|end| is_probe(&group.at, end));
        if !group.is_copies() && !ends() {
            let help = "dtrace --annotate counts its instructions";
            return console.fail(&format!("the entry and return of {name} cannot be probed"), Some(help));
        }
        if group.is_copies() && !group.into && differ {
            let text = format!("--differ: {name} is inlined: a copy returns no value");
            return console.fail(&text, Some("name the enclosing function, which dtrace --disas shows"));
        }
    }
    Ok(())
}

/// Looks up the variables to record.
fn look(config: &Config, subject: &Subject, console: &Console, groups: &mut [Group]) -> Result<(), Failed> {
    let catalog = subject.catalog(console)?;
    with_given(config, subject, 0, |given| {
        groups.iter_mut().for_each(|group| group.look(given.kernel, &|sites| catalog.scopes(sites)));
    });
    if let Some(group) = groups.first().filter(|group| !group.into && config.invocation.differ.is_some())
        && group.returns.is_none()
    {
        let text = format!("--differ: {} returns no value", group.name());
        return console.fail(&text, Some("--when tests the arguments"));
    }
    subject.report_files(console, config.invocation.verbose);
    Ok(())
}

fn question<'i>(invocation: &'i Invocation, viewed: &Viewed) -> Question<'i> {
    Question {
        whose: viewed.whose(written::whose(invocation)),
        when: invocation.when.as_deref(),
        differ: invocation.differ.as_deref(),
        time: invocation.time.as_deref(),
        calls: invocation.calls.unwrap_or(CALLS),
    }
}

fn report(invocation: &Invocation, console: &Console, counts: &Counts, most: u64) {
    let Counts { whole, broken, long, unfinished, lost, .. } = *counts;
    let calls = |number| text::number(number, "call");
    if broken > 0 {
        let why = match lost {
            0 => String::new(),
            lost => format!(
                ": {} lost; increase the buffers with -b",
                text::number(lost, "record was").replace("record wass", "records were")
            ),
        };
        console.report.warning(&format!(
            "{} could not be recorded completely, and {} left out{why}",
            calls(broken),
            if broken == 1 { "is" } else { "are" }
        ));
    }
    if long > 0 {
        console.report.warning(&format!(
            "{} with more than {} records: left out",
            calls(long),
            program::MOST
        ));
    }
    if unfinished > 0 {
        console.report.notice(&format!("{} had not ended", calls(unfinished)));
    }
    if whole >= most && invocation.calls.is_none() {
        console.report.notice(&format!("ended after {}; --calls sets another limit", calls(most)));
    }
}

/// Formats one JSON object a line.
fn objects(ways: &[ways::Way], groups: &[Group], comparison: Option<&differ::Comparison>) -> String {
    let mut objects: Vec<serde_json::Value> = ways.iter().map(|way| object::of_way(way, groups)).collect();
    objects.extend(comparison.iter().flat_map(|comparison| object::of_comparison(comparison, groups)));
    objects.iter().map(|object| format!("{object}\n")).collect()
}

/// Reports missing debug information and source files. Returns whether no instruction has a source line.
fn missing(package: &str, console: &Console, groups: &[Group], sources: &mut Sources) -> bool {
    let members = || groups.iter().flat_map(|group| &group.members);
    let mut listed = members().flat_map(|one| &one.listings).flat_map(|listing| &listing.instructions);
    if listed.all(|insn| insn.place.is_none()) {
        let name = members().next().map_or("", Followed::name);
        console.report.notice(&format!("no debug information for {name}: showing instructions; {package}"));
        return true;
    }
    let first = members().find_map(|one| one.listings.first()?.source.as_ref());
    if let Some(place) = first.filter(|place| sources.line(&place.file, place.line).is_none()) {
        let file = &place.file;
        console.report.notice(&format!(
            "{file} not found: lines have no text; set its directory with -x sourcepath=DIR"
        ));
    }
    false
}
