//! The functions of the kernel module: a header declares only functions that its folder defines. Otherwise a folder
//! could call one above it without including it.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::LazyLock;

use regex_lite::Regex;

use super::includes::{is_of_room, row};
use super::table::PORTS;
use super::{Finding, Source};

/// The line at whose beginning a function of external linkage is declared or defined.
static HEAD: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"^[a-z_][\w\s\*]*[\s\*](\w+)\(").expect("it is a regular expression"));

pub(super) fn check(sources: &[Source], used: &mut BTreeSet<&'static str>) -> Vec<Finding> {
    let files = || sources.iter().filter(|source| is_of_room(source));
    let mut defined: BTreeMap<&str, &Source> = BTreeMap::new();
    for source in files().filter(|source| source.path.ends_with(".c")) {
        defined.extend(functions(&source.text, true).into_iter().map(|(name, _)| (name, source)));
    }
    let mut findings = Vec::new();
    for header in files().filter(|source| source.path.ends_with(".h")) {
        for (name, line) in functions(&header.text, false) {
            let Some(source) = defined.get(name) else { continue };
            let (Some((own, _)), Some((other, _))) = (row(&header.path), row(&source.path)) else { continue };
            if own == other {
                continue;
            }
            if let Some((port, ..)) = PORTS.iter().find(|row| (row.0, row.1) == (&header.path, other)) {
                used.insert(port);
                continue;
            }
            let message =
                format!("{name} is defined in {}: declare it in a header of that folder", source.path);
            findings.push(header.finding(line, message));
        }
    }
    findings
}

/// Rows without a use.
pub(super) fn stale(table: &Source, used: &BTreeSet<&'static str>) -> Vec<Finding> {
    let stale = PORTS.iter().filter(|(header, ..)| !used.contains(header));
    let line = |header: &str| {
        let row = format!("(\"{header}\",");
        table.text.lines().position(|text| text.contains(&row)).map_or(1, |at| at + 1)
    };
    let message = |header: &str, room: &str| format!("a stale row: kmod/{room} defines nothing of {header}");
    stale.map(|(header, room, _)| table.finding(line(header), message(header, room))).collect()
}

/// The functions of external linkage that a source file defines, or only declares, and their lines.
fn functions(text: &str, defines: bool) -> Vec<(&str, usize)> {
    let lines: Vec<&str> = text.lines().collect();
    let mut found = Vec::new();
    for (index, line) in lines.iter().enumerate() {
        let is_other = ["static ", "typedef ", "return "].iter().any(|word| line.starts_with(word));
        let Some(head) = HEAD.captures(line).filter(|_| !is_other) else { continue };
        // A body begins on a separate line.
        let end = lines[index..].iter().find(|line| **line == "{" || line.contains(';'));
        if end.is_some_and(|end| (*end == "{") == defines) {
            let name = head.get(1).map_or("", |name| name.as_str());
            found.push((name, index + 1));
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sources(files: &[(&str, &str)]) -> Vec<Source> {
        let source = |(path, text): &(&str, &str)| Source { path: (*path).into(), text: (*text).into() };
        files.iter().map(source).collect()
    }

    #[test]
    fn declarations_and_definitions_are_told_apart() {
        let text = "int f(int a,\n\tint b);\nstruct x *g(void);\nstatic int h(void);\nextern int v;\n__at_hit u64 k(void)\n{\n\tl();\n}\n#define m(x) \\\n\tn(x);\n";
        assert_eq!(functions(text, false), [("f", 1), ("g", 3)]);
        assert_eq!(functions(text, true), [("k", 6)]);
    }

    #[test]
    fn a_header_declares_what_its_room_defines() {
        let files = [
            ("kmod/text/x.h", "void f(void);\n\nint g(int a);\nint thunk(void);\n"),
            ("kmod/text/x.c", "void f(void)\n{\n}\n"),
            ("kmod/session/y.c", "int g(int a)\n{\n}\n"),
        ];
        let shown = |files| -> Vec<String> {
            check(&sources(files), &mut BTreeSet::new()).iter().map(Finding::shown).collect()
        };
        let message =
            "kmod/text/x.h:3: g is defined in kmod/session/y.c: declare it in a header of that folder";
        assert_eq!(shown(&files[..]), [message]);
        assert_eq!(shown(&files[..2]), [""; 0], "what C does not define is not looked for");
    }

    #[test]
    fn ports_are_used_or_stale() {
        let Some((header, room, _)) = PORTS.first() else { return };
        let source = format!("kmod/{room}/x.c");
        let files = sources(&[(header, "int f(void);\n"), (&source, "int f(void)\n{\n}\n")]);
        let mut used = BTreeSet::new();
        assert_eq!(check(&files, &mut used), []);
        assert!(used.contains(header));
        let table =
            Source { path: "table.rs".into(), text: format!("\n    (\"{header}\", \"{room}\", \"\"),\n") };
        let all: Vec<usize> = stale(&table, &BTreeSet::new()).iter().map(|finding| finding.line).collect();
        assert_eq!((all.len(), all[0]), (PORTS.len(), 2));
        assert_eq!(stale(&table, &used).len(), PORTS.len() - 1);
    }
}
