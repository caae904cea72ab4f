//! analysis/counts/text.rs: counts as text: the source lines, or the instructions.

use super::latency::{self, Costs};
use super::sum::{Copies, Shown};
use super::view::{self, Branch, Line, Lines};
use crate::analysis::counts::counted::{Counted, Executed, Executions, Spent};
use crate::analysis::listing::{chain, entered_at, short, titled};
use crate::analysis::source::Sources;
use anstyle::{AnsiColor, Style};
use kinst_base::diag::color;
use kinst_sites::listing::Place;
use kinst_sites::listing::disas::{Listed, Listing, in_source};
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::Arc;

/// The target of a branch that leaves the shown code.
const ELSEWHERE: &str = "outside";

const BOLD: Style = Style::new().bold();
const DIM: Style = Style::new().dimmed();
const CYAN: Style = AnsiColor::Cyan.on_default();
const YELLOW: Style = AnsiColor::Yellow.on_default();

/// The style of the output.
pub(crate) struct Form<'s> {
    pub color: bool,
    /// Instructions rather than lines.
    pub instructions: bool,
    pub latency: Option<Latency>,
    pub sources: &'s mut Sources,
}

/// The output with --latency.
#[derive(Clone, Copy, Default)]
pub(crate) struct Latency {
    pub costs: Costs,
    /// The total of the output, which shares refer to.
    pub total: Spent,
}

/// The column of a line's branches, after its text.
const TEXT: usize = 72;

/// Writes a function or copy, or the joined copies of a function.
pub(crate) fn write(shown: &Shown<'_>, form: &mut Form<'_>) -> String {
    match shown {
        Shown::One((counted, executions)) => one(counted, executions, form),
        Shown::Copies(copies) => sum(copies, form),
    }
}

fn one(counted: &Counted, executions: &Executions, form: &mut Form<'_>) -> String {
    let mut out = String::new();
    let title = counted.listings.first().map(titled).unwrap_or_default();
    // Writing to a String cannot fail.
    let _ = writeln!(out, "{}", form.paint(BOLD, &title));
    let _ = writeln!(out, "{}", about(counted, executions));
    let lines = if form.instructions { Vec::new() } else { view::lines(counted, executions) };
    let place = if lines.is_empty() { "offset" } else { "line" };
    form.of(&mut out, latency::total(std::iter::once(executions)), executions.calls, place);
    if lines.is_empty() {
        form.instructions(&mut out, counted, executions);
    } else {
        let source = counted.listings.first().and_then(|listing| listing.source.as_ref());
        form.files(&mut out, &lines, source);
    }
    out
}

/// Joined copies, with the calls of each, and with `instructions` the copies that were called.
fn sum(copies: &Copies<'_>, form: &mut Form<'_>) -> String {
    let mut out = String::new();
    // Writing to a String cannot fail.
    let _ = writeln!(out, "{}", form.paint(BOLD, &copies.title()));
    let _ = writeln!(out, "{}", copies.about());
    let executions = copies.members.iter().map(|(_, executions)| *executions);
    form.of(&mut out, latency::total(executions), copies.calls, "line");
    form.files(&mut out, &copies.lines, copies.source.as_ref());
    let _ = writeln!(out, "{}", form.paint(CYAN, "  calls by copy"));
    let (called, others) = copies.members.split_at(copies.called);
    for (counted, executions) in called {
        let place = counted.listings.first().and_then(inlined_in).unwrap_or_default();
        let _ = writeln!(out, "{:>10}  {place}", count(executions.calls));
    }
    if !others.is_empty() {
        let names: Vec<String> =
            others.iter().filter_map(|(counted, _)| inlined_in(counted.listings.first()?)).collect();
        let text = match form.instructions {
            true => names.iter().map(|name| format!("{:>10}  {name}\n", 0)).collect(),
            false => format!("{:>10}  in {} more; -v lists them\n", 0, others.len()),
        };
        out += &text.lines().map(|line| form.paint(DIM, line) + "\n").collect::<String>();
    }
    if form.instructions {
        for (counted, executions) in called {
            out += "\n";
            out += &one(counted, executions, form);
        }
    }
    out
}

/// `vmlinux:vfs_write at offset 598`
pub(crate) fn inlined_in(listing: &Listing) -> Option<String> {
    let copy = listing.copy.as_ref()?;
    Some(format!("{}:{} {}", listing.module, in_source(&copy.caller), entered_at(listing, copy)))
}

/// `1000 calls; 18 probes for 30 blocks`
pub(crate) fn about(counted: &Counted, executions: &Executions) -> String {
    let calls = calls(executions.calls);
    let places = counted.places();
    let blocks = if counted.unread.is_some() { "instructions" } else { "blocks" };
    format!("{calls}; {places} probes for {} {blocks}", counted.blocks)
}

fn calls(calls: Option<u64>) -> String {
    match calls {
        Some(1) => "1 call".to_owned(),
        Some(calls) => format!("{calls} calls"),
        None => "calls unknown".to_owned(),
    }
}

impl Copies<'_> {
    /// `fsnotify_modify, include/linux/fsnotify.h:237, inlined 9 times`
    pub(crate) fn title(&self) -> String {
        let source = self.source.as_ref().map(|place| format!(", {}:{}", place.file, place.line));
        format!("{}{}, inlined {} times", self.function, source.unwrap_or_default(), self.members.len())
    }

    /// `3 calls in 1 of 9 copies; 40 probes for 70 blocks`
    pub(crate) fn about(&self) -> String {
        let probes: usize = self.members.iter().map(|(counted, _)| counted.places()).sum();
        let blocks: usize = self.members.iter().map(|(counted, _)| counted.blocks).sum();
        let (calls, all) = (calls(self.calls), self.members.len());
        format!("{calls} in {} of {all} copies; {probes} probes for {blocks} blocks", self.called)
    }
}

/// The line numbers to show from a file. Lines without instructions are included if their text is
/// available. `begin`: the line where the function begins, if it is in this file.
pub(crate) fn numbers(
    file: &str,
    lines: &BTreeMap<u64, Line>,
    begin: Option<u64>,
    sources: &mut Sources,
) -> Vec<u64> {
    // Lines far apart, as from macros, do not belong to one function.
    const APART: u64 = 4000;
    let (Some(first), Some(last)) = (lines.keys().next(), lines.keys().next_back()) else {
        return Vec::new();
    };
    let first = begin.map_or(*first, |begin| begin.min(*first));
    match sources.line(file, first).is_some() && last - first < APART {
        true => (first..=*last).collect(),
        false => lines.keys().copied().collect(),
    }
}

impl Form<'_> {
    fn paint(&self, style: Style, text: &str) -> String {
        color::paint(text, style, self.color)
    }

    /// Writes the total time, and begins the columns of the time.
    fn of(&mut self, out: &mut String, total: Option<Spent>, calls: Option<u64>, place: &str) {
        let Some(latency) = &mut self.latency else { return };
        latency.total = total.unwrap_or_default();
        let _ = writeln!(out, "{}", latency::about(latency.total, calls));
        let _ = writeln!(out, "{}", latency::measured(latency.costs));
        let head = format!("{:>7} {:>8} {:>8} {:>10} {place:>6}", "share", "time", "each", "executed");
        let _ = writeln!(out, "{}", self.paint(DIM, &head));
    }

    /// The columns for the time of a line or instruction, and of one execution.
    fn spent(&self, spent: Option<Spent>, executed: Option<u64>) -> String {
        let Some(Latency { total, .. }) = self.latency else { return String::new() };
        let Some(spent) = spent.filter(|spent| spent.times > 0) else { return " ".repeat(26) };
        let rest = spent.rest();
        if !spent.is_sure() {
            return format!("{:>7} {:>8} {:>8} ", "", "~0", "");
        }
        let share = latency::share(rest, total.rest());
        format!("{share:>7} {:>8} {:>8} ", latency::time(rest), latency::time(spent.each(executed)))
    }

    fn files(&mut self, out: &mut String, lines: &Lines, source: Option<&Place>) {
        for (number, (file, lines)) in lines.iter().enumerate() {
            let _ = writeln!(out, "{}", self.paint(CYAN, &format!("  {file}")));
            let begin = source.filter(|own| own.file == *file && number == 0).map(|own| own.line);
            self.lines(out, file, lines, begin);
        }
    }

    fn lines(&mut self, out: &mut String, file: &str, lines: &BTreeMap<u64, Line>, begin: Option<u64>) {
        for number in numbers(file, lines, begin, self.sources) {
            let text = self.sources.line(file, number).map(|text| text.replace('\t', "    "));
            let line = lines.get(&number);
            self.line(out, number, text.as_deref(), line);
        }
    }

    fn line(&self, out: &mut String, number: u64, text: Option<&str>, line: Option<&Line>) {
        let Some(line) = line else {
            let _ = writeln!(
                out,
                "{}",
                self.paint(
                    DIM,
                    format!("{}{:>10} {number:>6}  {}", self.spent(None, None), "", text.unwrap_or_default())
                        .trim_end()
                )
            );
            return;
        };
        let branches: Vec<String> = line.branches.iter().map(branch).collect();
        let inlined: Vec<String> = match text {
            // The source text shows the calls.
            Some(_) => Vec::new(),
            None => line.inlined.iter().map(|(name, times)| format!("{name}() {}", count(*times))).collect(),
        };
        let notes = [inlined, branches, line.notes.clone()].concat().join("; ");
        let spent = self.spent(line.spent, line.count);
        let shown = format!("{spent}{:>10} {number:>6}  {}", count(line.count), text.unwrap_or_default());
        let shown = match (line.count, &line.reason) {
            (None, Some(reason)) => format!("{shown}  (cannot be counted: {reason})"),
            _ => shown,
        };
        let shown = if notes.is_empty() || text.is_none() {
            shown.trim_end().to_owned()
        } else {
            format!("{shown:<TEXT$}")
        };
        let style = if line.count == Some(0) { DIM } else { Style::new() };
        let notes = if notes.is_empty() { notes } else { format!("  {}", self.paint(YELLOW, &notes)) };
        let _ = writeln!(out, "{}{notes}", self.paint(style, &shown));
    }

    fn instructions(&mut self, out: &mut String, counted: &Counted, executions: &Executions) {
        for (part, (listing, executed)) in counted.listings.iter().zip(&executions.parts).enumerate() {
            if part > 0 {
                let _ = writeln!(out, "{}", self.paint(BOLD, &titled(listing)));
            }
            let mut frames = None;
            let mut place = None;
            for (insn, executed) in listing.instructions.iter().zip(executed) {
                let is_new = frames.is_none_or(|frames| !Arc::ptr_eq(frames, &insn.frames));
                if is_new && !insn.frames.is_empty() {
                    let _ = writeln!(out, "  {}", self.paint(CYAN, &chain(&insn.frames)));
                }
                frames = Some(&insn.frames);
                if let Some(now) = insn.place.as_ref().filter(|now| place != Some(*now)) {
                    let spent = self.spent(None, None);
                    if let Some(text) = self.sources.line(&now.file, now.line) {
                        let text = format!("{spent}{:>10} {:>6}  {}", "", now.line, text.trim());
                        let _ = writeln!(out, "{}", self.paint(CYAN, &text));
                    }
                    place = Some(now);
                }
                self.instruction(out, (counted, listing), insn, executed);
            }
        }
    }

    fn instruction(
        &self,
        out: &mut String,
        (counted, listing): (&Counted, &Listing),
        insn: &Listed,
        executed: &Executed,
    ) {
        let offset = listing.number(insn.offset.into());
        let place = insn.place.as_ref().map(short).unwrap_or_default();
        let mark = if executed.counted && executed.begins { "*" } else { " " };
        let shown = format!("{:>10}{mark}{offset:>6}  {:<44} {place}", count(executed.count), insn.text);
        let shown = self.spent(executed.spent, executed.count) + &shown;
        let ways: Vec<String> = executed
            .ways
            .iter()
            .filter(|way| !way.falls_through)
            .map(|way| {
                let to = counted.target(way).map(|(listing, to)| listing.number(to.offset.into()));
                let to = to.unwrap_or_else(|| ELSEWHERE.to_owned());
                format!("{} of {} -> {to}", count(way.count), count(executed.count))
            })
            .collect();
        let reason = insn.refused.filter(|_| executed.count.is_none());
        let style = if executed.count == Some(0) { DIM } else { Style::new() };
        let mut line = self.paint(style, shown.trim_end());
        if !ways.is_empty() {
            line += &format!("  {}", self.paint(YELLOW, &ways.join("; ")));
        }
        if let Some(reason) = reason {
            line += &format!("  cannot be counted: {reason}");
        }
        let _ = writeln!(out, "{line}");
    }
}

fn count(count: Option<u64>) -> String {
    count.map_or_else(|| "?".to_owned(), |count| count.to_string())
}

/// `34 of 1234 -> 470`
fn branch(branch: &Branch) -> String {
    let to = branch.to.as_ref().map_or(ELSEWHERE.to_owned(), |to| to.line.to_string());
    format!("{} of {} -> {to}", count(branch.jumps), count(branch.count))
}
