//! The rules for comments and documents: words, openings, the width of lines.

use std::sync::LazyLock;

use regex_lite::Regex;

use super::pattern::regex;
use super::table::{AS_BUILT, FOREIGN, LONG, MARKDOWN_COLUMNS, NATURAL, OPENINGS, SHORT, STILTED};
use super::{Finding, Source};

static STILTED_WORDS: LazyLock<Regex> = LazyLock::new(|| regex(STILTED));
static OPENING: LazyLock<Regex> = LazyLock::new(|| regex(OPENINGS));

pub(super) fn check(source: &Source) -> Vec<Finding> {
    if source.is_in(FOREIGN) || source.is_in(&[AS_BUILT]) {
        return Vec::new();
    }
    if source.path.ends_with(".md") { document(source) } else { comments(source) }
}

/// Lines of prose that are too long, and documents that are. A table or a block of code may be wider.
fn document(source: &Source) -> Vec<Finding> {
    let mut findings = Vec::new();
    let mut code = false;
    for (index, line) in source.text.lines().enumerate() {
        let fence = line.trim_start().starts_with("```");
        code ^= fence;
        let columns = line.chars().count();
        if !code && !fence && !line.starts_with('|') && columns > MARKDOWN_COLUMNS {
            let message = format!("the line has {columns} columns, {MARKDOWN_COLUMNS} are the most");
            findings.push(source.finding(index + 1, message));
        }
    }
    let lines = source.text.lines().count();
    if let Some((_, most)) = SHORT.iter().find(|(path, most)| *path == source.path && lines > *most) {
        findings.push(source.finding(1, format!("the document has {lines} lines, {most} are the most")));
    }
    findings
}

fn comments(source: &Source) -> Vec<Finding> {
    let is_c = source.is_c();
    if !is_c && !source.is_rust() || source.is_in(LONG) {
        return Vec::new();
    }
    let mut findings = Vec::new();
    let mut inside = false;
    for (index, line) in source.text.lines().enumerate() {
        let Some((begins, text)) = comment(line, is_c) else {
            inside = false;
            continue;
        };
        let first = begins || !inside;
        // A comment of C whose first line is empty begins with the next one.
        inside = !text.is_empty();
        if first && let Some(word) = OPENING.find(text) {
            let message = format!("a comment begins with {:?}: see docs/STYLE.md", word.as_str());
            findings.push(source.finding(index + 1, message));
        }
        // Names and quotations are between backticks or quotes.
        let prose: String = text.split(['`', '"']).step_by(2).collect();
        let prose = NATURAL.iter().fold(prose, |prose, expression| prose.replace(expression, ""));
        if let Some(word) = STILTED_WORDS.find(&prose) {
            let word = word.as_str().trim();
            findings.push(source.finding(index + 1, format!("{word:?} in a comment: see docs/STYLE.md")));
        }
    }
    findings
}

/// The text of a comment in a line, and whether the comment certainly begins there.
fn comment(line: &str, is_c: bool) -> Option<(bool, &str)> {
    let trimmed = line.trim_start();
    if !is_c {
        let text = trimmed.strip_prefix("//")?;
        return Some((false, text.trim_start_matches(['/', '!']).trim()));
    }
    let within = |rest: &'_ str| rest.find("*/").map_or(rest.len(), |end| end);
    if let Some((_, rest)) = line.split_once("/*") {
        return Some((true, rest[..within(rest)].trim_start_matches('*').trim()));
    }
    if let Some(text) = trimmed.strip_prefix("//") {
        return Some((false, text.trim()));
    }
    let rest = trimmed.strip_prefix('*').filter(|rest| rest.is_empty() || rest.starts_with([' ', '/']))?;
    Some((false, rest[..within(rest)].trim_matches('/').trim()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn messages(path: &str, text: &str) -> Vec<String> {
        let source = Source { path: path.into(), text: text.into() };
        check(&source).into_iter().map(|f| format!("{}: {}", f.line, f.message)).collect()
    }

    #[test]
    fn comments_are_read_once() {
        let c = "/* SPDX-License-Identifier: GPL-2.0 */\nint x; /* Nobody asks. */\nchar *told;\n";
        assert_eq!(messages("kmod/x.h", c), ["2: \"Nobody\" in a comment: see docs/STYLE.md"]);
        let rust = "//! x\n/// The text\n/// that stands before it.\nlet told = 1;\n// A name `behind` it stands for more.\n";
        assert_eq!(messages("src/x.rs", rust), ["3: \"stands before\" in a comment: see docs/STYLE.md"]);
        assert_eq!(messages("src/x.rs", "//! x\n// It is no list.\n").len(), 1);
        assert_eq!(messages("src/x.rs", "//! x\n// It is no longer a list.\n"), [""; 0]);
    }

    #[test]
    fn a_comment_begins_with_a_noun_or_a_verb() {
        let rust = "//! x\n\n/// What is left.\nfn f() {}\n/// The rest.\n/// Of all, the last.\n";
        assert_eq!(messages("src/x.rs", rust), ["3: a comment begins with \"What\": see docs/STYLE.md"]);
        let c = "/* Where it is. */\nint a;\n/*\n * Those that are left,\n * who knows.\n */\nint b;\n/*\n * A list.\n */\n";
        assert_eq!(messages("kmod/x.c", c).len(), 2);
    }

    #[test]
    fn prose_has_a_width_and_a_table_has_none() {
        let long = "word ".repeat(30);
        let text = format!("{long}\n| {long} |\n\n```\n{long}\n```\n");
        assert_eq!(messages("docs/x.md", &text), ["1: the line has 150 columns, 120 are the most"]);
        assert_eq!(messages("docs/ARCHITECTURE.md", &"line\n".repeat(151)).len(), 1);
    }
}
