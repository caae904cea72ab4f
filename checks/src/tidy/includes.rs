//! The includes of the kernel module: each folder has a list of folders whose headers it may include, and no file
//! includes itself, directly or over others. A `.c` file is one unit with its header.

use std::collections::{BTreeMap, BTreeSet};

use super::cycles::circle;
use super::table::INCLUDES;
use super::{Finding, Source};

const ROOT: &str = "kmod/";
/// The tests, which include the code that they test.
const TESTS: &str = "kmod/tests";
/// The folder of the architectures: `<machine/x.h>` is in the folder of the target.
const ARCH: &str = "kmod/arch/";

/// The rows with a use: the folder, and the row's item that it includes.
pub(super) type Used = BTreeSet<(&'static str, &'static str)>;

/// One line `#include`, as far as it names a file of the module.
struct Include<'a> {
    from: &'a Source,
    to: &'a str,
    line: usize,
}

pub(super) fn check(sources: &[Source], used: &mut Used) -> Vec<Finding> {
    let files: Vec<&Source> = sources.iter().filter(|source| is_of_module(&source.path)).collect();
    let paths: BTreeSet<&str> = files.iter().map(|source| source.path.as_str()).collect();
    let files: Vec<&Source> = files.into_iter().filter(|source| is_of_room(source)).collect();
    let mut findings: Vec<Finding> = files.iter().filter_map(|source| without_row(source)).collect();
    let includes: Vec<Include<'_>> = files.iter().flat_map(|source| includes(source, &paths)).collect();
    findings.extend(includes.iter().filter_map(|include| room(include, used)));
    findings.extend(circles(&includes));
    findings
}

/// Whether it is a file of the module; tests are not.
pub(super) fn is_of_room(source: &Source) -> bool {
    is_of_module(&source.path) && !source.is_in(&[TESTS])
}

fn is_of_module(path: &str) -> bool {
    path.starts_with(ROOT) && [".c", ".h", ".S"].iter().any(|end| path.ends_with(end))
}

fn includes<'a>(source: &'a Source, paths: &BTreeSet<&'a str>) -> Vec<Include<'a>> {
    let lines = source.text.lines().zip(1..);
    let named = lines.filter_map(|(text, line)| Some((name(text)?, line)));
    let include =
        |(name, line)| Some(Include { from: source, to: resolved(&source.path, name, paths)?, line });
    named.filter_map(include).collect()
}

/// The name in a line `#include "name"` or `#include <name>`.
fn name(line: &str) -> Option<&str> {
    let rest = line.trim_start().strip_prefix('#')?.trim_start().strip_prefix("include")?.trim_start();
    let (rest, end) = match rest.strip_prefix('"') {
        Some(rest) => (rest, '"'),
        None => (rest.strip_prefix('<')?, '>'),
    };
    Some(rest.split_once(end)?.0)
}

/// The module's file with this name, by the search order of the compiler; `None` if it is the kernel's.
fn resolved<'a>(from: &str, name: &str, paths: &BTreeSet<&'a str>) -> Option<&'a str> {
    let beside = from.rsplit_once('/').map(|(folder, _)| format!("{folder}/{name}"));
    let own = beside.into_iter().chain([format!("{ROOT}{name}")]);
    let found = own.filter_map(|path| paths.get(path.as_str()).copied()).next();
    let is_of_machine = |path: &str| {
        let rest = path.strip_prefix(ARCH).and_then(|rest| rest.split_once('/'));
        rest.is_some_and(|(_, rest)| rest == name)
    };
    found.or_else(|| paths.iter().copied().find(|path| is_of_machine(path)))
}

/// The first row whose folder contains the file: the folder, and the folders and files that it may include.
pub(super) fn row(path: &str) -> Option<(&'static str, &'static [&'static str])> {
    INCLUDES.iter().find(|(room, _)| is_below(path, room)).copied()
}

fn is_below(path: &str, room: &str) -> bool {
    let rest = path.strip_prefix(ROOT).and_then(|path| path.strip_prefix(room));
    rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

fn without_row(source: &Source) -> Option<Finding> {
    let message = "the module has no such folder: add a row to INCLUDES, with the folders below it";
    row(&source.path).is_none().then(|| source.finding(1, message))
}

/// The finding if the file's folder may not include the header's.
fn room(include: &Include<'_>, used: &mut Used) -> Option<Finding> {
    let (room, allowed) = row(&include.from.path)?;
    if row(include.to).is_some_and(|(to, _)| to == room) {
        return None;
    }
    // The longest one, as a subfolder has a separate row.
    let fits = allowed.iter().filter(|allowed| is_below(include.to, allowed));
    if let Some(fit) = fits.max_by_key(|allowed| allowed.len()) {
        used.insert((room, fit));
        return None;
    }
    let name = include.to.trim_start_matches(ROOT);
    Some(include.from.finding(
        include.line,
        match allowed {
            [] => format!("kmod/{room} may not include {name}: it includes no other folder"),
            _ => format!("kmod/{room} may not include {name}, only {}", allowed.join(", ")),
        },
    ))
}

/// A file with its header: the path without its ending.
fn unit(path: &str) -> &str {
    path.rsplit_once('.').map_or(path, |(unit, _)| unit)
}

fn circles(includes: &[Include<'_>]) -> Vec<Finding> {
    let mut edges: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    let mut lines: BTreeMap<(&str, &str), &Include<'_>> = BTreeMap::new();
    for include in includes {
        let (from, to) = (unit(&include.from.path), unit(include.to));
        if from != to {
            edges.entry(from).or_default().insert(to);
            lines.entry((from, to)).or_insert(include);
        }
    }
    let mut findings = Vec::new();
    let mut told: BTreeSet<&str> = BTreeSet::new();
    for start in edges.keys() {
        if told.contains(start) {
            continue;
        }
        let Some(circle) = circle(&edges, start) else { continue };
        told.extend(&circle);
        let include = lines[&(circle[0], circle[1 % circle.len()])];
        let way = [&circle[..], &circle[..1]].concat().join(" → ");
        findings.push(include.from.finding(include.line, format!("a cycle of includes: {way}")));
    }
    findings
}

/// Rows without a use.
pub(super) fn stale(table: &Source, used: &Used) -> Vec<Finding> {
    let line = |name: &str| {
        let row = format!("(\"{name}\",");
        let broken = format!("\"{name}\",");
        let mut lines =
            table.text.lines().zip(1..).skip_while(|(text, _)| !text.contains("pub const INCLUDES"));
        lines.find(|(text, _)| text.contains(&row) || text.trim() == broken).map_or(1, |(_, line)| line)
    };
    let rows =
        INCLUDES.iter().flat_map(|(room, allowed)| allowed.iter().map(move |allowed| (*room, *allowed)));
    let stale = rows.filter(|row| !used.contains(row));
    let message = |room, allowed| format!("a stale row: kmod/{room} does not include {allowed}");
    stale.map(|(room, allowed)| table.finding(line(room), message(room, allowed))).collect()
}

#[cfg(test)]
mod tests {
    use super::super::sources_of as sources;
    use super::*;

    fn messages(files: &[(&str, &str)]) -> Vec<String> {
        check(&sources(files), &mut Used::default()).iter().map(Finding::shown).collect()
    }

    #[test]
    fn names_are_found_as_the_compiler_finds_them() {
        assert_eq!(name("#include \"a/b.h\" /* why */"), Some("a/b.h"));
        assert_eq!(name("  #  include <machine/x.h>"), Some("machine/x.h"));
        assert_eq!(name("#include MACRO"), None);
        assert_eq!(name("// #include \"a.h\""), None);
        let paths = BTreeSet::from(["kmod/arch/x86/machine/x.h", "kmod/text/x.h", "kmod/top.h"]);
        let found = |name| resolved("kmod/text/y.c", name, &paths);
        assert_eq!(found("x.h"), Some("kmod/text/x.h"));
        assert_eq!(found("text/x.h"), Some("kmod/text/x.h"));
        assert_eq!(found("top.h"), Some("kmod/top.h"));
        assert_eq!(found("machine/x.h"), Some("kmod/arch/x86/machine/x.h"));
        assert_eq!(found("linux/list.h"), None);
    }

    #[test]
    fn a_room_includes_those_below_it() {
        let files = [
            ("kmod/text/x.c", "#include <linux/list.h>\n#include \"text/x.h\"\n#include \"arch/arch.h\"\n"),
            ("kmod/text/x.h", ""),
            ("kmod/arch/arch.h", ""),
            ("kmod/providers/sources.h", ""),
        ];
        assert_eq!(messages(&files), [""; 0]);
        let up = ("kmod/text/y.c", "\n#include \"providers/sources.h\"\n");
        let found = messages(&[&files[..], &[up]].concat());
        let message = "kmod/text/y.c:2: kmod/text may not include providers/sources.h, only ";
        assert!(found.len() == 1 && found[0].starts_with(message), "{found:?}");
        let up = [("kmod/compat/x.h", "#include \"arch/arch.h\"\n"), ("kmod/arch/arch.h", "")];
        let message =
            "kmod/compat/x.h:1: kmod/compat may not include arch/arch.h: it includes no other folder";
        assert_eq!(messages(&up), [message]);
    }

    #[test]
    fn a_room_has_a_row_and_tests_have_none() {
        let message = "the module has no such folder: add a row to INCLUDES, with the folders below it";
        assert_eq!(messages(&[("kmod/cellar/x.c", "")]), [format!("kmod/cellar/x.c:1: {message}")]);
        let test = [("kmod/tests/x.c", "#include \"text/x.h\"\n"), ("kmod/text/x.h", "")];
        assert_eq!(messages(&test), [""; 0]);
    }

    #[test]
    fn a_circle_is_found_over_several_units() {
        let files = [
            ("kmod/text/a.c", "#include \"text/a.h\"\n#include \"text/b.h\"\n"),
            ("kmod/text/a.h", ""),
            ("kmod/text/b.c", "\n#include \"text/c.h\"\n"),
            ("kmod/text/b.h", ""),
            ("kmod/text/c.h", "#include \"text/a.h\"\n"),
        ];
        let circle = "kmod/text/a → kmod/text/b → kmod/text/c → kmod/text/a";
        assert_eq!(messages(&files), [format!("kmod/text/a.c:2: a cycle of includes: {circle}")]);
        assert_eq!(messages(&files[..4]), [""; 0], "a file and its header");
    }

    #[test]
    fn rows_are_used_or_stale() {
        let text = "(\"text\",\npub const INCLUDES: …\n    (\"hit.h\", &[\"include\"]),\n";
        let table = Source { path: "table.rs".into(), text: text.into() };
        let mut used: Used =
            INCLUDES.iter().flat_map(|(room, allowed)| allowed.iter().map(move |to| (*room, *to))).collect();
        assert_eq!(stale(&table, &used), []);
        assert!(used.remove(&("hit.h", "include")));
        let shown: Vec<String> = stale(&table, &used).iter().map(Finding::shown).collect();
        assert_eq!(shown, ["table.rs:3: a stale row: kmod/hit.h does not include include"]);
        let files =
            [("kmod/hit.h", "#include \"include/uapi/kinst.h\"\n"), ("kmod/include/uapi/kinst.h", "")];
        assert_eq!(check(&sources(&files), &mut used), []);
        assert_eq!(stale(&table, &used), []);
    }
}
