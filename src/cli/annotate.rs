//! cli/annotate.rs: --annotate: functions with how often each line and instruction was executed.

use super::dtrace_trace::{self, Taker};
use super::output::AtEnd;
use super::pager::Pager;
use super::report::in_color;
use super::run::{Failed, Run};
use super::written;
use crate::analysis::counts::gathered::Gathered;
use crate::analysis::counts::latency::Cost;
use crate::analysis::counts::program::{Group, Question};
use crate::analysis::counts::sum::Shown;
use crate::analysis::counts::text::{Form, Latency};
use crate::analysis::counts::{html, latency, object, program, sum, text};
use crate::analysis::source::Sources;
use crate::options::{From, key};
use crate::os;
use crate::probe::{Description, Fields, Probe};
use crate::sites::ProbeCatalog as _;
use crate::sites::listing::counted::{Counted, Executions, How};
use crate::sites::listing::disas::Disassembler;
use std::io::IsTerminal as _;

/// A function or copy with its executions.
type Answer<'a> = (&'a Counted, Executions);

/// Counts until the trace ends, and writes what follows.
pub fn annotate(run: &mut Run) -> Result<u8, Failed> {
    written::require_backend(run)?;
    let all = counted(run)?;
    readable(run, &all)?;
    let mut groups = program::groups(&all);
    bounded(run, &mut groups)?;
    let text = program::write(&groups, &question(run));
    if let Some(status) = written::take(run, "--annotate", text)? {
        return Ok(status);
    }
    let page = written::open(run, run.invocation.page.as_ref())?;
    if run.invocation.latency {
        // Each probe costs the same: no jump takes the place of its breakpoint.
        let set = run.options.set("nojump", None, From::CommandLine);
        debug_assert!(set.is_ok(), "an option without a value");
    }
    let gathered = Gathered::default();
    // More is said of the function, not of the program.
    let instructions = std::mem::take(&mut run.invocation.verbose);
    let begin = |armed: &mut dyn Iterator<Item = &Probe>| gathered.begin(armed);
    let taker = Taker { begin: &begin, export: Box::new(gathered.clone()), end: None };
    let status = dtrace_trace::trace_into(run, Some(taker))?;
    let (answers, cost) = answers(run, &groups, &gathered);
    write(run, &answers, cost, instructions, page)?;
    Ok(status)
}

/// What is not certain is said. The cost of the probes is there if the time was taken, and is `None` where it could not be measured.
fn answers<'a>(
    run: &Run,
    groups: &[Group<'a>],
    gathered: &Gathered,
) -> (Vec<Answer<'a>>, Option<Option<Cost>>) {
    report_lost(run, gathered);
    report_set(run, gathered);
    let members = groups.iter().enumerate();
    let members = members.flat_map(|(number, group)| group.members.iter().map(move |one| (number, *one)));
    let cost = run.invocation.latency.then(|| latency::cost(members, gathered));
    let mut answers = Vec::new();
    for (number, group) in groups.iter().enumerate() {
        report_unfinished(run, group, gathered.unfinished(number));
        for one in &group.members {
            let mut executions = one.work_out(|site| gathered.of(number, site));
            if let Some(cost) = cost {
                latency::fill(one, number, gathered, cost, &mut executions);
            }
            report(run, one, &executions);
            answers.push((*one, executions));
        }
    }
    (answers, cost)
}

/// Whether the control flow is known, as far as it has to be.
fn readable(run: &Run, all: &[Counted]) -> Result<(), Failed> {
    for one in all {
        let (Some(why), Some(listing)) = (&one.unread, one.listings.first()) else { continue };
        let function = &listing.function;
        if run.invocation.latency {
            let help = "without --latency, each instruction is counted";
            return run.fail_as(&format!("--latency: {function}: {why}"), Some(help));
        }
        if !run.invocation.dump {
            run.report.notice(&format!("{function}: {why}: each instruction is counted"));
        }
    }
    Ok(())
}

/// What the command line names, with what is to be counted.
fn counted(run: &Run) -> Result<Vec<Counted>, Failed> {
    let kernel = run.kernel()?;
    let live = run.live_text();
    let mut disassembler = Disassembler::new(&kernel, live.as_deref());
    let mut all = Vec::new();
    let how = match run.invocation {
        ref one if one.latency => How::Time,
        ref one if one.exact => How::Exact,
        _ => How::Count,
    };
    for description in &run.invocation.annotated {
        match disassembler.counted(description, how) {
            Ok(found) => all.extend(found),
            Err(error) => {
                run.report.diagnostic(&run.sources, &error, None);
                return Err(Failed);
            }
        }
    }
    disassembler.take_remarks().iter().for_each(|remark| run.report.notice(remark));
    run.tell_of_kernel();
    let probes: usize = all.iter().map(Counted::places).sum();
    let names = || run.invocation.annotated.join(", ");
    if probes == 0 {
        let help = "dtrace --disas shows why no instruction of it can be traced";
        return run.fail_as(&format!("nothing of {} can be counted", names()), Some(help));
    }
    let most = run.device().map_or(usize::MAX, |device| device.info.max_probes as usize);
    if probes > most {
        let help = "name one module: --annotate MODULE:FUNCTION";
        return run.fail_as(
            &format!("{} would need {probes} probes, the kernel module arms {most}", names()),
            Some(help),
        );
    }
    Ok(all)
}

/// Looks whether calls have a beginning and an end that can be probed. Otherwise what there is of calls that are under way at the beginning
/// is counted, too.
fn bounded(run: &Run, groups: &mut [Group<'_>]) -> Result<(), Failed> {
    let catalog = run.catalog()?;
    let is_probe = |function: &str, boundary: &str| {
        let mut fields = function.splitn(3, ':').map(str::to_owned);
        let mut next = || fields.next().unwrap_or_default();
        let fields = Fields { provider: next(), module: next(), function: next(), name: boundary.to_owned() };
        catalog.matches(&Description::Fields(Box::new(fields))).is_ok_and(|found| !found.is_empty())
    };
    for group in groups.iter_mut() {
        let function = &group.function;
        if group.by_call && function.starts_with("fbt:") {
            group.by_call = is_probe(function, "entry") && is_probe(function, "return");
        }
        if group.by_call {
            continue;
        }
        let option = match &run.invocation {
            one if one.when.is_some() => Some("--when"),
            one if one.latency => Some("--latency"),
            _ => None,
        };
        if let Some(option) = option {
            return run
                .fail_as(&format!("{option}: the entry and the return of {function} cannot be told"), None);
        }
        run.report.notice(&format!("{function}: calls that began before are counted in part"));
    }
    Ok(())
}

fn question(run: &Run) -> Question<'_> {
    let invocation = &run.invocation;
    Question {
        whose: written::whose(invocation),
        when: invocation.when.as_deref(),
        time: invocation.time.as_deref(),
        latency: invocation.latency,
    }
}

fn report_lost(run: &Run, gathered: &Gathered) {
    if gathered.lost() > 0 {
        run.report.warning(&format!("{} executions were lost: the counts are too small", gathered.lost()));
    }
}

/// The clock of the day is corrected all the time, by far less than this.
const SET: u64 = 5_000_000;

fn report_set(run: &Run, gathered: &Gathered) {
    if gathered.set() > SET {
        let set = latency::time(gathered.set());
        run.report.warning(&format!("the clock was set by {set} meanwhile: the times are wrong by as much"));
    }
}

fn report_unfinished(run: &Run, group: &Group<'_>, unfinished: u64) {
    let function = &group.function;
    match unfinished {
        0 => {}
        1 => run.report.warning(&format!("{function}: 1 call had not ended: counts may be off by 1")),
        more => {
            run.report
                .warning(&format!("{function}: {more} calls had not ended: counts may be off by as much"));
        }
    }
}

/// Says where the counts are not what they seem.
fn report(run: &Run, counted: &Counted, executions: &Executions) {
    let Some(listing) = counted.listings.first() else { return };
    let function = listing.copy.as_ref().map_or(&listing.function, |copy| &copy.function);
    if executions.imbalance > 0 {
        run.report.warning(&format!(
            "{function}: counts may be off by {}: they do not add up",
            executions.imbalance
        ));
    }
    if !run.invocation.exact || counted.unread.is_some() {
        return;
    }
    let (right, wrong) = (executions.right, executions.wrong.len());
    run.report.notice(&format!(
        "{function}: of {} instructions {right} have the count that follows for them",
        right + wrong
    ));
    for (part, at, own, follows) in &executions.wrong {
        let listing = &counted.listings[*part];
        let offset = listing.instructions[*at].offset;
        run.report.warning(&format!("{}:{offset}: counted {own}, {follows} follows", listing.function));
    }
}

fn write(
    run: &Run,
    all: &[Answer<'_>],
    cost: Option<Option<Cost>>,
    instructions: bool,
    page: Option<AtEnd>,
) -> Result<(), Failed> {
    let shown = sum::shown(all);
    if run.invocation.objects {
        return run.put(&objects(&shown));
    }
    let release = run.is_running().then(os::release);
    let mut sources = Sources::new(run.options.list(key::SOURCEPATH), release.as_deref());
    if let Some(mut page) = page {
        return written::put(run, &mut page, &html::page(all, cost, &mut sources));
    }
    let to_terminal = run.invocation.output.is_none() && std::io::stdout().is_terminal();
    let mut form = Form {
        color: run.invocation.output.is_none() && in_color(&std::io::stdout()),
        instructions,
        latency: cost.map(|cost| Latency { cost, ..Latency::default() }),
        sources: &mut sources,
    };
    let texts: Vec<String> = shown.iter().map(|shown| text::write(shown, &mut form)).collect();
    let text = texts.join("\n");
    if to_terminal && Pager::show(&text) { Ok(()) } else { run.put(&text) }
}

/// An object a line: the lines of copies together, and the instructions of all.
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
