//! analysis/coverage/html.rs: --html: coverage as a self-contained page.

use super::tally::{File, Tally, Way};
use crate::analysis::page::Page;
use crate::analysis::source::Sources;
use serde_json::{Value, json};

const PAGE: Page = Page {
    title: "Coverage",
    buttons: "  <button id=\"all\">All files</button>",
    keys: "/ search, N next match, j and k down and up, Enter open, m next not executed, b next branch with an exit not taken, n next executed only in this run, a all files",
    style: include_str!("page.css"),
    script: include_str!("page.js"),
};

/// Writes the page; lines that only this run executed are marked if another run is given.
pub(crate) fn page(tally: &Tally, against: Option<&Tally>, sources: &mut Sources) -> String {
    let files: Vec<Value> = tally
        .files
        .iter()
        .map(|(name, file)| of_file(name, file, against.map(|other| other.files.get(name)), sources))
        .collect();
    PAGE.fill(&json!({ "files": files, "compared": against.is_some(), "missing": sources.missing() }))
}

fn of_file(name: &str, file: &File, other: Option<Option<&File>>, sources: &mut Sources) -> Value {
    let mut functions: Vec<(u32, Value)> = file
        .functions
        .iter()
        .map(|(name, called)| {
            let blocks = [called.blocks.yes, called.blocks.known()];
            (called.line, json!([name, called.line, called.called, blocks]))
        })
        .collect();
    functions.sort_by_key(|(line, _)| *line);
    let numbers = numbers(name, file, sources);
    let lines: Vec<Value> =
        numbers.into_iter().map(|number| line(name, file, number, other, sources)).collect();
    let sums = [file.lines_sum(), file.branches_sum(), file.blocks_sum(), file.functions_sum()];
    json!({
        "name": name,
        "sums": sums.map(|sum| [sum.yes, sum.known(), sum.unknown]),
        "functions": functions.into_iter().map(|(_, function)| function).collect::<Vec<_>>(),
        "lines": lines,
    })
}

/// All lines of a file whose text is available, else the lines with code.
fn numbers(name: &str, file: &File, sources: &mut Sources) -> Vec<u32> {
    let last = file.lines.keys().next_back().copied().unwrap_or(0);
    match sources.line(name, last.into()).is_some() {
        true => (1..=last).collect(),
        false => file.lines.keys().copied().collect(),
    }
}

/// The number, the text, the state if it has code, the exits, and whether only this run executed it.
fn line(name: &str, file: &File, number: u32, other: Option<Option<&File>>, sources: &mut Sources) -> Value {
    let text = sources.line(name, number.into());
    let Some(state) = file.lines.get(&number) else { return json!([number, text]) };
    let [first, last] = [0, u32::MAX].map(|end| Way { line: number, file: end, to: end });
    let ways: Vec<Value> = file
        .branches
        .range(first..=last)
        .map(|(way, taken)| json!([if way.file == 0 { way.to } else { 0 }, taken]))
        .collect();
    let theirs = other.map(|other| other.and_then(|other| other.lines.get(&number).copied().flatten()));
    let is_new = *state == Some(true) && theirs.is_some_and(|theirs| theirs != Some(true));
    json!([number, text, state, ways, is_new])
}
