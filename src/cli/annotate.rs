//! cli/annotate.rs: --annotate: how often each line and instruction of a function was executed.

use super::config::Config;
use super::console::{Console, Failed};
use super::dtrace_args::Invocation;
use super::dtrace_trace::{self, Taker};
use super::subject::Subject;
use super::viewed::{self, Viewed};
use super::written;
use crate::analysis::counts::counted::{Counted, Executions, How};
use crate::analysis::counts::gathered::Gathered;
use crate::analysis::counts::group::{self, Group};
use crate::analysis::counts::latency::Costs;
use crate::analysis::counts::program::Question;
use crate::analysis::counts::sum::Shown;
use crate::analysis::counts::text::{Form, Latency};
use crate::analysis::counts::{html, latency, object, program, sum, text};
use crate::options::From;
use kinst_base::probe::{Description, Fields, Place, Probe, Spot};
use kinst_base::space::Space;
use kinst_sites::{Catalog, ProbeCatalog as _};
use std::collections::HashMap;

/// A function or copy, with its executions.
type Answer<'a> = (&'a Counted, Executions);

/// Counts until the trace ends, and writes the result.
pub(super) fn annotate(
    config: &mut Config,
    subject: &mut Subject,
    console: &mut Console,
) -> Result<u8, Failed> {
    let mut viewed = Viewed::to_trace(config, subject, console, &config.invocation.annotated)?;
    let all = counted(config, subject, console, &viewed)?;
    readable(&config.invocation, console, &all)?;
    let by_call = config.invocation.when.is_some() || config.invocation.latency;
    let mut groups = group::groups(&all, by_call);
    let catalog = subject.catalog(console)?;
    bounded(&config.invocation, &catalog, console, &mut groups)?;
    if config.invocation.latency {
        apart(console, &groups)?;
    }
    let text = program::write(&groups, &question(&config.invocation, &viewed));
    if let Some(status) = written::take(config, subject, console, "--annotate", text)? {
        return Ok(status);
    }
    let page = written::open(console, config.invocation.page.as_ref())?;
    if config.invocation.latency {
        // Each probe has to cost the same: no breakpoint may be replaced by a jump.
        let set = config.options.set("nojump", None, From::CommandLine);
        debug_assert!(set.is_ok(), "an option without a value");
    }
    let gathered = Gathered::default();
    // -v applies to the listing of the function, not to the program.
    let instructions = std::mem::take(&mut config.invocation.verbose);
    let processes = viewed.processes.take();
    let begin = |armed: &mut dyn Iterator<Item = &Probe>| match viewed.is_of_programs() {
        false => gathered.begin(armed),
        true => gathered.begin_at(&viewed::ids(&catalog, armed, groups.iter().flat_map(Group::sites))),
    };
    let taker = Taker { begin: &begin, export: Box::new(gathered.clone()), end: None, processes };
    let status = dtrace_trace::trace_into(config, subject, console, Some(taker))?;
    let (answers, costs) = answers(&config.invocation, console, &groups, &gathered);
    let mut sources = viewed.sources(config, subject);
    if config.invocation.objects {
        console.put(&objects(&sum::shown(&answers)))?;
    } else if let Some(mut page) = page {
        written::put(console, &mut page, &html::page(&answers, costs, &mut sources))?;
    } else {
        let latency = costs.map(|costs| Latency { costs, ..Latency::default() });
        let form = Form { color: console.in_color(), instructions, latency, sources: &mut sources };
        console.show(&written_out(&answers, form))?;
    }
    Ok(status)
}

/// Works out the executions, and reports uncertain counts. The costs of the probes are `Some` with
/// --latency.
fn answers<'a>(
    invocation: &Invocation,
    console: &Console,
    groups: &[Group<'a>],
    gathered: &Gathered,
) -> (Vec<Answer<'a>>, Option<Costs>) {
    report_lost(console, gathered);
    report_set(console, gathered);
    let members = groups.iter().enumerate();
    let members = members.flat_map(|(number, group)| group.members.iter().map(move |one| (number, *one)));
    let costs = invocation.latency.then(|| latency::costs(members, gathered));
    let mut answers = Vec::new();
    for (number, group) in groups.iter().enumerate() {
        report_unfinished(console, group, gathered.unfinished(number));
        for one in &group.members {
            let mut executions = one.work_out(|site| gathered.of(number, site));
            if let Some(costs) = costs {
                latency::fill(one, number, gathered, costs, &mut executions);
            }
            report(console, invocation.exact, one, &executions);
            answers.push((*one, executions));
        }
    }
    (answers, costs)
}

/// Reports functions whose control flow is not known: an error with --latency, otherwise a notice.
fn readable(invocation: &Invocation, console: &Console, all: &[Counted]) -> Result<(), Failed> {
    for one in all {
        let (Some(why), Some(listing)) = (&one.unread, one.listings.first()) else { continue };
        let function = &listing.function;
        if invocation.latency {
            let help = "without --latency, each instruction is counted";
            return console.fail(&format!("--latency: {function}: {why}"), Some(help));
        }
        if !invocation.dump {
            console.report.notice(&format!("{function}: {why}: each instruction is counted"));
        }
    }
    Ok(())
}

/// Returns the functions and copies that the command line names, with the places to count.
fn counted(
    config: &Config,
    subject: &Subject,
    console: &Console,
    viewed: &Viewed,
) -> Result<Vec<Counted>, Failed> {
    let mut disassembler = viewed.disassembler().cutting_calls();
    let mut all = Vec::new();
    let how = match config.invocation {
        ref one if one.latency => How::Time,
        ref one if one.exact => How::Exact,
        _ => How::Count,
    };
    for description in &config.invocation.annotated {
        all.extend(console.reported(Counted::all(&mut disassembler, description, how))?);
    }
    disassembler.take_remarks().iter().for_each(|remark| console.report.notice(remark));
    viewed.report_copies(console, &disassembler, &config.invocation.annotated, "counted");
    subject.report_files(console, config.invocation.verbose);
    let probes: usize = all.iter().map(Counted::places).sum();
    let names = || config.invocation.annotated.join(", ");
    if probes == 0 {
        let help = "dtrace --disas shows why no instruction of it can be traced";
        return console.fail(&format!("no instruction of {} can be counted", names()), Some(help));
    }
    let most = subject.most_probes();
    if probes > most {
        let help = "name one module: --annotate MODULE:FUNCTION";
        return console.fail(
            &format!("{} would need {probes} probes; the kernel module arms at most {most}", names()),
            Some(help),
        );
    }
    Ok(all)
}

/// Checks whether the entry and return of each function can be probed. If not, calls already in progress when the trace
/// begins are counted from there on.
fn bounded(
    invocation: &Invocation,
    catalog: &Catalog,
    console: &Console,
    groups: &mut [Group<'_>],
) -> Result<(), Failed> {
    let probes = |[provider, module, function]: &[String; 3], boundary: &str| {
        let fields = Fields::new(provider, module, function, boundary);
        catalog.matches(&Description::Fields(Box::new(fields))).unwrap_or_default()
    };
    for group in groups.iter_mut() {
        let function = group.prefix();
        let asked = group.by_call;
        if group.by_call && !group.copies {
            let [entry, exits] = ["entry", "return"].map(|name| probes(&group.at, name));
            group.by_call = !entry.is_empty() && !exits.is_empty();
            if invocation.latency && group.space != Space::Kernel {
                group.find_ends([&spots(&entry), &spots(&exits)]);
            }
        }
        // A command of -c is stopped before it has called anything.
        let begins_anew = group.space != Space::Kernel && !invocation.commands.is_empty();
        if group.by_call || begins_anew && !asked {
            continue;
        }
        let option = match invocation {
            one if one.when.is_some() => Some("--when"),
            one if one.latency => Some("--latency"),
            _ => None,
        };
        if let Some(option) = option {
            return console
                .fail(&format!("{option}: the entry and return of {function} cannot be probed"), None);
        }
        console.report.notice(&format!("{function}: calls already in progress are counted in part"));
    }
    Ok(())
}

/// Refuses functions of programs that share places: one hit would count as two probes, whose cost is subtracted.
fn apart(console: &Console, groups: &[Group<'_>]) -> Result<(), Failed> {
    let mut known: HashMap<Fields, &Group<'_>> = HashMap::new();
    for group in groups.iter().filter(|group| group.space != Space::Kernel) {
        for site in group.sites() {
            if let Some(other) = known.insert(site.fields(), group).filter(|other| other.at != group.at) {
                let (one, other) = (other.name(), group.name());
                let title = format!("--latency: {one} and {other} share instructions");
                return console.fail(&title, Some("one is inlined in the other: time them in two runs"));
            }
        }
    }
    Ok(())
}

/// The instructions of probes in programs.
fn spots(probes: &[Probe]) -> Vec<Spot> {
    let spots = probes.iter().flat_map(|probe| match &probe.place {
        Place::Program(place) => place.spots.clone(),
        _ => Vec::new(),
    });
    spots.collect()
}

fn question<'i>(invocation: &'i Invocation, viewed: &Viewed) -> Question<'i> {
    Question {
        whose: viewed.whose(written::whose(invocation)),
        when: invocation.when.as_deref(),
        time: invocation.time.as_deref(),
        latency: invocation.latency,
    }
}

fn report_lost(console: &Console, gathered: &Gathered) {
    if gathered.lost() > 0 {
        console.report.warning(&format!("{} executions were lost: the counts are too low", gathered.lost()));
    }
}

/// The limit in nanoseconds below which a clock change is ignored: NTP corrects wall-clock time all the time, by far
/// less than this.
const SET: u64 = 5_000_000;

fn report_set(console: &Console, gathered: &Gathered) {
    if gathered.set() > SET {
        let set = latency::time(gathered.set());
        console
            .report
            .warning(&format!("the clock was set by {set} during the trace: times may be off by as much"));
    }
}

fn report_unfinished(console: &Console, group: &Group<'_>, unfinished: u64) {
    let function = group.name();
    match unfinished {
        0 => {}
        1 => console.report.warning(&format!("{function}: 1 call had not ended: counts may be off by 1")),
        more => {
            console
                .report
                .warning(&format!("{function}: {more} calls had not ended: counts may be off by as much"));
        }
    }
}

/// Warns about counts that are inexact or do not add up.
fn report(console: &Console, exact: bool, counted: &Counted, executions: &Executions) {
    let Some(listing) = counted.listings.first() else { return };
    let function = listing.copy.as_ref().map_or(&listing.function, |copy| &copy.function);
    if executions.imbalance > 0 {
        console.report.warning(&format!(
            "{function}: counts may be off by {}: they do not add up",
            executions.imbalance
        ));
    }
    if !exact || counted.unread.is_some() {
        return;
    }
    let (right, wrong) = (executions.right, executions.wrong.len());
    console
        .report
        .notice(&format!("{function}: of {} instructions {right} have the derived count", right + wrong));
    for (part, at, own, follows) in &executions.wrong {
        let listing = &counted.listings[*part];
        let offset = listing.number(listing.instructions[*at].offset.into());
        console
            .report
            .warning(&format!("{}:{offset}: counted {own}, derived {follows}", listing.in_source()));
    }
}

fn written_out(answers: &[Answer<'_>], mut form: Form<'_>) -> String {
    let texts: Vec<String> = sum::shown(answers).iter().map(|shown| text::write(shown, &mut form)).collect();
    texts.join(
        "
",
    )
}

/// Formats one JSON object a line: the source lines of all copies together, then each copy's instructions.
fn objects(shown: &[Shown<'_>]) -> String {
    let mut all = Vec::new();
    for shown in shown {
        match shown {
            Shown::One((one, executions)) => all.extend(object::objects(one, executions)),
            Shown::Copies(copies) => {
                all.extend(object::lines(copies));
                let each = copies.members.iter();
                all.extend(each.flat_map(|(one, executions)| object::objects(one, executions)));
            }
        }
    }
    all.iter().map(|object| format!("{object}\n")).collect()
}
