//! The rules for single lines: first lines, words, unfinished and impure code, version tests.

use std::path::Path;
use std::sync::LazyLock;

use regex_lite::Regex;
use xtask::workspace;

use super::pattern::regex;
use super::table::{FOREIGN, IMPURE, MAY_SKIP, PURE, SKIPS, UNFINISHED, VERSION_TESTS, WORDS};
use super::{Finding, Source};

static RULES: LazyLock<Rules> = LazyLock::new(Rules::new);

struct Rules {
    impure: Vec<(Regex, &'static str)>,
    skips: Regex,
    unfinished: Regex,
    version: Regex,
    /// Lower-case words.
    words: Vec<String>,
    /// Lower-case paths.
    places: Vec<String>,
}

impl Rules {
    fn new() -> Rules {
        Rules {
            impure: IMPURE.iter().map(|(pattern, what)| (regex(pattern), *what)).collect(),
            skips: regex(SKIPS),
            unfinished: regex(UNFINISHED),
            version: regex(r"\b(LINUX_VERSION_CODE|KERNEL_VERSION)\b"),
            words: WORDS.iter().map(|(a, b)| format!("{a}{b}")).collect(),
            places: own_places(&workspace::root()),
        }
    }
}

/// The absolute paths of this checkout and of its parent folder, which mean nothing elsewhere.
fn own_places(root: &Path) -> Vec<String> {
    let shown = |path: &Path| path.display().to_string().to_lowercase();
    let mut places = vec![shown(root)];
    if let Some(parent) = root.parent() {
        let generic = ["", "home", "mnt", "opt", "root", "src", "srv", "tmp", "usr", "var"];
        let name = parent.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if parent.components().count() > 2 || !generic.contains(&name.as_str()) {
            places.push(format!("{}/", shown(parent)));
        }
    }
    places
}

pub(super) fn check(source: &Source) -> Vec<Finding> {
    let mut findings = Vec::new();
    if source.is_in(FOREIGN) {
        return findings;
    }
    findings.extend(first_line(source));
    findings.extend(words(source));
    findings.extend(rust(source));
    findings.extend(skips(source));
    findings.extend(module(source));
    findings
}

fn first_line(source: &Source) -> Option<Finding> {
    let first = source.text.lines().next().unwrap_or("");
    if source.is_rust() && !first.starts_with("//! ") {
        return Some(source.finding(1, "the first line does not say what the file is: `//! …`"));
    }
    if source.is_c() && source.is_in(&["kmod"]) && !first.contains("SPDX-License-Identifier:") {
        return Some(
            source.finding(1, "the first line does not name the licence: `SPDX-License-Identifier: …`"),
        );
    }
    None
}

fn words(source: &Source) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (index, line) in source.text.lines().enumerate() {
        let line = line.to_lowercase();
        let words = RULES.words.iter().filter(|word| line.contains(word.as_str()));
        for word in words.chain(RULES.places.iter().filter(|place| has_path(&line, place))) {
            findings.push(source.finding(index + 1, format!("{word:?} does not belong here")));
        }
    }
    findings
}

/// Whether a line contains a path, and not only the path of a folder whose name is longer.
fn has_path(line: &str, path: &str) -> bool {
    let goes_on = |after: char| after.is_alphanumeric() || "-_".contains(after);
    line.match_indices(path)
        .any(|(at, _)| path.ends_with('/') || !line[at + path.len()..].starts_with(goes_on))
}

fn rust(source: &Source) -> Vec<Finding> {
    if !source.is_rust() || source.is_test() || !source.is_in(&["checks", "crates", "src", "xtask"]) {
        return Vec::new();
    }
    let mut findings = Vec::new();
    for (index, line) in source.code().iter().enumerate() {
        if RULES.unfinished.is_match(line) {
            findings.push(source.finding(index + 1, "unfinished code"));
        }
        if !source.is_in(PURE) {
            continue;
        }
        for (pattern, what) in &RULES.impure {
            if pattern.is_match(line) {
                findings.push(source.finding(index + 1, format!("{what} in a stage that must be pure")));
            }
        }
    }
    findings
}

fn skips(source: &Source) -> Vec<Finding> {
    if !source.is_in(&["tests"]) || source.is_in(&[MAY_SKIP]) {
        return Vec::new();
    }
    let lines = source.text.lines().enumerate().filter(|(_, line)| RULES.skips.is_match(line));
    lines.map(|(index, _)| source.finding(index + 1, format!("use {MAY_SKIP} to skip a test"))).collect()
}

fn module(source: &Source) -> Vec<Finding> {
    if !source.is_in(&["kmod"]) || source.is_in(&[VERSION_TESTS]) {
        return Vec::new();
    }
    let lines = source.text.lines().enumerate().filter(|(_, line)| RULES.version.is_match(line));
    lines
        .map(|(index, _)| source.finding(index + 1, format!("a version test outside {VERSION_TESTS}")))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn messages(path: &str, text: &str) -> Vec<String> {
        let source = Source { path: path.into(), text: text.into() };
        check(&source).into_iter().map(|f| format!("{}: {}", f.line, f.message)).collect()
    }

    #[test]
    fn lines_are_judged_by_where_they_are() {
        let pure = "//! x\nfn f() { dbg!(1) }\n";
        assert_eq!(
            messages("crates/dif/src/x.rs", pure),
            ["2: unfinished code", "2: printing in a stage that must be pure"]
        );
        assert_eq!(messages("src/cli/x.rs", pure), ["2: unfinished code"]);
        assert_eq!(messages("src/cli/x.rs", "fn f() {}").len(), 1, "no first line");
        let version = "// SPDX-License-Identifier: GPL-2.0\n#if LINUX_VERSION_CODE\n";
        assert_eq!(messages("kmod/x.c", version), ["2: a version test outside kmod/compat"]);
        assert_eq!(messages("kmod/compat/x.h", version), [""; 0]);
    }

    #[test]
    fn a_test_does_not_skip_itself() {
        let text = "//! x\nfn f() { eprintln!(\"skipped: no perf\"); }\n";
        assert_eq!(messages("tests/x.rs", text), [format!("2: use {MAY_SKIP} to skip a test")]);
        assert_eq!(messages(MAY_SKIP, text), [""; 0]);
    }

    #[test]
    fn words_are_found_in_any_case() {
        let (a, b) = WORDS[0];
        assert_eq!(messages("docs/x.md", &format!("An {}{b}.", a.to_uppercase())).len(), 1);
        assert_eq!(own_places(Path::new("/home/kinst")), ["/home/kinst"]);
        assert_eq!(own_places(Path::new("/home/me/kinst")), ["/home/me/kinst", "/home/me/"]);
        assert!(has_path("cd /tmp/ra; make", "/tmp/ra") && has_path("in /home/me/x", "/home/me/"));
        assert!(!has_path("/tmp/rare/file", "/tmp/ra"));
    }
}
