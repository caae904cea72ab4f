//! The limits on the length of files and functions.

use super::table::{FILE_LINES, FUNCTION_LINES, LONG, LONG_FILES, LONG_FUNCTIONS};
use super::{Finding, Source};

pub(super) fn check(source: &Source) -> Vec<Finding> {
    if !source.is_rust() && !source.is_c() || source.is_in(LONG) {
        return Vec::new();
    }
    let lines: Vec<&str> = source.text.lines().collect();
    let functions = functions(source, &lines);
    let row = LONG_FILES.iter().any(|(path, _)| *path == source.path);
    let mut findings = Vec::from_iter(judge(source, 1, "the file", lines.len(), FILE_LINES, row));
    if row && lines.len() <= FILE_LINES.0 {
        findings.push(source.finding(1, "a stale row: the file is not long"));
    }
    let rows: Vec<&str> = LONG_FUNCTIONS.iter().filter(|row| row.0 == source.path).map(|row| row.1).collect();
    for function in &functions {
        let row = rows.contains(&function.name.as_str());
        let what = format!("`{}`", function.name);
        findings.extend(judge(source, function.line, &what, function.length, FUNCTION_LINES, row));
    }
    for name in rows {
        if !functions.iter().any(|f| f.name == name && f.length > FUNCTION_LINES.0) {
            findings.push(source.finding(1, format!("a stale row: `{name}` is not long")));
        }
    }
    findings
}

fn judge(
    source: &Source,
    line: usize,
    what: &str,
    length: usize,
    (without, with): (usize, usize),
    row: bool,
) -> Option<Finding> {
    let (most, help) = match row {
        true => (with, ""),
        false => (without, "; split it, or give the reason in checks/src/tidy/table.rs"),
    };
    let message = || format!("{what} has {length} lines, {most} are the most{help}");
    (length > most).then(|| source.finding(line, message()))
}

struct Function {
    name: String,
    /// The line where it begins, from 1.
    line: usize,
    length: usize,
}

fn functions(source: &Source, lines: &[&str]) -> Vec<Function> {
    let found = if source.is_rust() { rust_functions(lines) } else { c_functions(lines) };
    let named = |(line, length): (usize, usize)| {
        let name = if source.is_rust() {
            lines[line - 1].split_once("fn ").map(|(_, rest)| rest)
        } else {
            let head =
                lines[..line - 1].iter().rev().find(|l| l.contains('(') && !l.starts_with([' ', '\t']));
            head.and_then(|head| head.split('(').next()?.rsplit([' ', '*']).next())
        };
        let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_';
        let name = name.unwrap_or("").split(|c| !is_word(c)).next().unwrap_or("").to_owned();
        Function { name, line, length }
    };
    found.into_iter().map(named).collect()
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
    fn what_is_long_has_a_reason() {
        let found = |path: &str, text: String| -> Vec<String> {
            check(&Source { path: path.into(), text }).into_iter().map(|f| f.message).collect()
        };
        let lines = |count: usize| format!("//! x\n{}", "\n".repeat(count - 1));
        let long = |length, most, help| format!("the file has {length} lines, {most} are the most{help}");
        let help = "; split it, or give the reason in checks/src/tidy/table.rs";
        assert_eq!(found("src/x.rs", lines(500)), [""; 0]);
        assert_eq!(found("src/x.rs", lines(501)), [long(501, 500, help)]);
        let (path, _) = LONG_FILES[0];
        assert_eq!(found(path, lines(501)), [""; 0]);
        assert_eq!(found(path, lines(701)), [long(701, 700, "")]);
        assert_eq!(found(path, lines(10)), ["a stale row: the file is not long"]);
        let body = format!("static int f(void)\n{{\n{}}}\n", "\tx();\n".repeat(70));
        assert_eq!(found("kmod/x.c", body), [format!("`f` has 72 lines, 60 are the most{help}")]);
    }
}
