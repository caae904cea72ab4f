//! The limits on the length of files and functions.

use super::table::{FILE_LINES, FUNCTION_LINES, LONG};
use super::{Finding, Source};

pub fn check(source: &Source) -> Vec<Finding> {
    let is_code = [".rs", ".c", ".h", ".S"].iter().any(|end| source.path.ends_with(end));
    if !is_code || source.is_in(LONG) {
        return Vec::new();
    }
    let mut findings = Vec::new();
    let lines: Vec<&str> = source.text.lines().collect();
    findings.extend(judge(source, 1, "the file", lines.len(), FILE_LINES));
    let functions = if source.is_rust() { rust_functions(&lines) } else { c_functions(&lines) };
    for (line, length) in functions {
        findings.extend(judge(source, line, "the function", length, FUNCTION_LINES));
    }
    findings
}

fn judge(
    source: &Source,
    line: usize,
    what: &str,
    length: usize,
    (soft, hard): (usize, usize),
) -> Option<Finding> {
    let finding =
        source.finding(line, format!("{what} has {length} lines; {soft} are plenty, {hard} the most"));
    (length > soft).then_some(Finding { soft: length <= hard, ..finding })
}

/// The first lines and the lengths of functions, in code that rustfmt has laid out: the body ends with a brace that
/// is indented as the first line is.
fn rust_functions(lines: &[&str]) -> Vec<(usize, usize)> {
    let mut found = Vec::new();
    for (index, line) in lines.iter().enumerate() {
        let indent = &line[..line.len() - line.trim_start().len()];
        if !is_signature(line.trim_start()) || line.ends_with([';', '}']) {
            continue;
        }
        let end = format!("{indent}}}");
        // A declaration without a body ends with a semicolon on a line of the same indentation.
        let stop = |l: &&str| **l == end || (l.starts_with(&format!("{indent})")) && l.ends_with(';'));
        if let Some(length) = lines[index..].iter().position(stop)
            && lines[index + length] == end
        {
            found.push((index + 1, length + 1));
        }
    }
    found
}

fn is_signature(line: &str) -> bool {
    let mut rest = line;
    loop {
        if rest.starts_with("fn ") {
            return true;
        }
        let Some((word, after)) = rest.split_once(' ') else { return false };
        let is_modifier = matches!(word, "pub" | "const" | "async" | "unsafe" | "extern" | "default")
            || word.starts_with("pub(")
            || word.starts_with('"');
        if !is_modifier {
            return false;
        }
        rest = after;
    }
}

/// The first lines and the lengths of functions, in kernel style: the braces of a body are in the first column.
fn c_functions(lines: &[&str]) -> Vec<(usize, usize)> {
    let mut found = Vec::new();
    let mut begin = None;
    for (index, line) in lines.iter().enumerate() {
        match *line {
            "{" => begin = Some(index),
            "}" => found.extend(begin.take().map(|from| (from + 1, index - from + 1))),
            _ => {}
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn functions_are_measured() {
        let rust = "pub fn one() {\n    a();\n}\nfn declared(\n    a: u8,\n);\npub(crate) const fn two(\n    a: u8,\n) {\n    b();\n}\nfn f() {}\n";
        assert_eq!(rust_functions(&rust.lines().collect::<Vec<_>>()), [(1, 3), (7, 5)]);
        let c = "static int f(void)\n{\n\treturn 1;\n}\nstruct x {\n\tint a;\n};\n";
        assert_eq!(c_functions(&c.lines().collect::<Vec<_>>()), [(2, 3)]);
    }

    #[test]
    fn budgets_are_soft_then_hard() {
        let of = |lines: usize| {
            let text = format!("//! x\n{}", "\n".repeat(lines - 1));
            check(&Source { path: "src/x.rs".into(), text }).first().map(|f| f.soft)
        };
        assert_eq!((of(500), of(501), of(701)), (None, Some(true), Some(false)));
    }
}
