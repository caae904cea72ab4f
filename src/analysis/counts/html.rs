//! analysis/counts/html.rs: --html: counts as a self-contained page.

use super::latency::{self, Costs};
use super::sum::{self, Copies, Shown};
use super::text::{about, numbers};
use super::view::{self, Line, Lines};
use crate::analysis::counts::counted::{Counted, Executed, Executions, Spent};
use crate::analysis::listing::{short, titled};
use crate::analysis::page::Page;
use crate::analysis::source::Sources;
use kinst_sites::listing::Place;
use kinst_sites::listing::disas::{Listed, Listing};
use serde_json::{Value, json};
use std::collections::BTreeMap;

const PAGE: Page = Page {
    title: "Executions",
    buttons: concat!(
        "  <button id=\"lines\" aria-pressed=\"true\">Lines</button>\n",
        "  <button id=\"instructions\" aria-pressed=\"false\">Instructions</button>",
    ),
    keys: "/ search, n next match, j and k down and up, b next branch, h hottest row, u unfold or fold all, v lines or instructions",
    style: include_str!("page.css"),
    script: include_str!("page.js"),
};

/// Writes the page of some functions and copies; the copies of a function are shown together first. `costs`:
/// the cost of the probes, if the time was taken.
pub(crate) fn page(all: &[(&Counted, Executions)], costs: Option<Costs>, sources: &mut Sources) -> String {
    let mut functions = Vec::new();
    for shown in sum::shown(all) {
        match shown {
            Shown::One((counted, executions)) => {
                functions.push(function(counted, executions, costs, sources))
            }
            Shown::Copies(copies) => {
                functions.push(together(&copies, costs, sources));
                functions.extend(
                    copies
                        .members
                        .iter()
                        .map(|(counted, executions)| function(counted, executions, costs, sources)),
                );
            }
        }
    }
    PAGE.fill(&json!({ "functions": functions, "missing": sources.missing() }))
}

fn function(
    counted: &Counted,
    executions: &Executions,
    costs: Option<Costs>,
    sources: &mut Sources,
) -> Value {
    let counts = executions.parts.iter().flatten().filter_map(|executed| executed.count);
    let parts = counted.listings.iter().zip(&executions.parts);
    let source = counted.listings.first().and_then(|listing| listing.source.as_ref());
    json!({
        "title": counted.listings.first().map(titled),
        "about": about(counted, executions),
        "time": time(latency::total(std::iter::once(executions)), executions.calls, costs),
        "most": counts.max().unwrap_or(0),
        "files": files(&view::lines(counted, executions), source, sources),
        "parts": parts.map(|(listing, executed)| part(counted, listing, executed)).collect::<Vec<_>>(),
    })
}

/// Joins copies by their lines, as their instructions differ.
fn together(copies: &Copies<'_>, costs: Option<Costs>, sources: &mut Sources) -> Value {
    let counts = copies.lines.iter().flat_map(|(_, lines)| lines.values()).filter_map(|line| line.count);
    let executions = copies.members.iter().map(|(_, executions)| *executions);
    json!({
        "title": copies.title(),
        "about": copies.about(),
        "time": time(latency::total(executions), copies.calls, costs),
        "most": counts.max().unwrap_or(0),
        "files": files(&copies.lines, copies.source.as_ref(), sources),
        "parts": [],
    })
}

/// The time of a function or copy, if it was taken: its description, and the total for shares.
fn time(total: Option<Spent>, calls: Option<u64>, costs: Option<Costs>) -> Option<Value> {
    let total = total.unwrap_or_default();
    let about = format!("{}; {}", latency::about(total, calls), latency::measured(costs?));
    Some(json!({ "about": about, "total": total.rest() }))
}

/// The time of a line or instruction; `None` if it is zero within the known cost of the probes.
fn spent(spent: Option<Spent>, executed: Option<u64>) -> Option<Value> {
    let spent = spent.filter(Spent::is_sure)?;
    let shown = latency::time(spent.rest());
    Some(json!({ "ns": spent.rest(), "shown": shown, "each": latency::time(spent.each(executed)) }))
}

fn files(lines: &Lines, source: Option<&Place>, sources: &mut Sources) -> Vec<Value> {
    let file = |(index, (file, lines)): (usize, &(String, BTreeMap<u64, Line>))| {
        let begin = source.filter(|own| own.file == *file && index == 0).map(|own| own.line);
        json!({ "name": file, "lines": file_lines(file, lines, begin, sources) })
    };
    lines.iter().enumerate().map(file).collect()
}

fn file_lines(
    file: &str,
    lines: &BTreeMap<u64, Line>,
    begin: Option<u64>,
    sources: &mut Sources,
) -> Vec<Value> {
    numbers(file, lines, begin, sources)
        .into_iter()
        .map(|number| {
            let text = sources.line(file, number);
            let Some(line) = lines.get(&number) else { return json!({ "line": number, "text": text }) };
            let branches: Vec<Value> = line
                .branches
                .iter()
                .map(|branch| {
                    let to = branch.to.as_ref().map(|to| to.line);
                    json!({ "count": branch.count, "jumps": branch.jumps, "to": to })
                })
                .collect();
            json!({
                "line": number, "text": text, "count": line.count, "branches": branches,
                "inlined": line.inlined, "reason": line.reason, "notes": line.notes, "spent": spent(line.spent, line.count),
            })
        })
        .collect()
}

fn part(counted: &Counted, listing: &Listing, executed: &[Executed]) -> Value {
    let instructions = listing.instructions.iter().zip(executed);
    json!({
        "title": titled(listing),
        "instructions": instructions.map(|(insn, executed)| instruction(counted, listing, insn, executed)).collect::<Vec<_>>(),
    })
}

fn instruction(counted: &Counted, listing: &Listing, insn: &Listed, executed: &Executed) -> Value {
    let ways: Vec<Value> = executed
        .ways
        .iter()
        .filter(|way| !way.falls_through)
        .map(|way| {
            let to = counted.target(way).map(|(listing, to)| listing.number(to.offset.into()));
            json!({ "count": way.count, "to": to })
        })
        .collect();
    json!({
        "offset": listing.number(insn.offset.into()),
        "text": insn.text,
        "place": insn.place.as_ref().map(short).unwrap_or_default(),
        "frames": insn.frames.iter().rev().map(|frame| &frame.name).collect::<Vec<_>>(),
        "count": executed.count,
        "ways": ways,
        "spent": spent(executed.spent, executed.count),
        "reason": insn.refused.map(|refused| refused.to_string()),
    })
}
