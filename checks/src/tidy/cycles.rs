//! No cycles: of the modules that share a folder, none uses another one that uses it, over however many steps.
//!
//! A folder's mod.rs declares the files in it, so a file that uses what its mod.rs defines or re-exports is a cycle too,
//! and a way around the rule: by way of mod.rs every file reaches every other one.

use std::collections::{BTreeMap, BTreeSet};

use super::table::KNOTS;
use super::usetree::{Named, Read, Root, folder_of};
use super::{Finding, Source};

/// The uses, by folder: of the modules in it, as `from → to`, with the file and line of one use.
type Uses<'a> = BTreeMap<Vec<String>, BTreeMap<(String, String), (&'a Source, usize)>>;

pub(super) fn check(files: &[Read<'_>]) -> Vec<Finding> {
    let mut findings = Vec::new();
    let paths = paths(files);
    for (folder, uses) in uses(files) {
        let mut edges: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
        for (from, to) in uses.keys() {
            edges.entry(from).or_default().insert(to);
        }
        let mut told: BTreeSet<&str> = BTreeSet::new();
        for start in edges.keys() {
            if told.contains(start) {
                continue;
            }
            let Some(circle) = circle(&edges, start) else { continue };
            told.extend(&circle);
            let (first, second) = (circle[0].to_owned(), circle[1 % circle.len()].to_owned());
            let (source, line) = uses[&(first, second)];
            let (place, _) = folder_of(&folder, &paths);
            let way = [&circle[..], &circle[..1]].concat().join(" → ");
            findings.push(source.finding(line, format!("a circle in {place}: {way}")));
        }
    }
    findings
}

/// The uses of what the mod.rs of a file's own folder, or of a folder around that, defines or re-exports. `used`: the
/// folders with an exception that had one.
pub(super) fn upward(files: &[Read<'_>], used: &mut BTreeSet<&'static str>) -> Vec<Finding> {
    let modules = modules(files);
    let paths = paths(files);
    let mut findings = Vec::new();
    for Read { source, module, named } in files {
        for named in named {
            let Some(to) = target(&modules, named) else { continue };
            if to.is_empty() || to.len() >= module.len() || !module.starts_with(to) {
                continue;
            }
            let (folder, file) = folder_of(to, &paths);
            if let Some((known, _)) = KNOTS.iter().find(|(known, _)| *known == folder) {
                used.insert(known);
                continue;
            }
            let path = named.path.join("::");
            let message = format!("{path} is {folder}/{file}'s, which is above: name the file that has it");
            findings.push(source.finding(named.line, message));
        }
    }
    findings
}

/// Exceptions that nothing needs.
pub(super) fn stale(table: &Source, used: &BTreeSet<&'static str>) -> Vec<Finding> {
    let stale = KNOTS.iter().filter(|(folder, _)| !used.contains(folder));
    let line = |folder: &str| {
        let row = format!("(\"{folder}\",");
        // MODULES has rows of the same folders.
        let mut lines = table.text.lines().skip_while(|line| !line.starts_with("pub const KNOTS"));
        let (whole, rest) = (table.text.lines().count(), lines.clone().count());
        lines.position(|text| text.contains(&row)).map_or(1, |at| whole - rest + at + 1)
    };
    let message = |folder: &str| format!("a stale row: no file of {folder} uses its mod.rs or lib.rs");
    stale.map(|(folder, _)| table.finding(line(folder), message(folder))).collect()
}

/// A shortest path from a module back to it.
pub(super) fn circle<'a>(
    edges: &BTreeMap<&'a str, BTreeSet<&'a str>>,
    start: &'a str,
) -> Option<Vec<&'a str>> {
    let mut ways: Vec<Vec<&str>> = vec![vec![start]];
    let mut seen: BTreeSet<&str> = BTreeSet::new();
    let mut at = 0;
    while let Some(way) = ways.get(at).cloned() {
        at += 1;
        let last = way.last()?;
        for next in edges.get(last).into_iter().flatten() {
            if next == &start {
                return Some(way);
            }
            if seen.insert(next) {
                ways.push([&way[..], &[*next]].concat());
            }
        }
    }
    None
}

fn paths<'f>(files: &'f [Read<'_>]) -> Vec<&'f str> {
    files.iter().map(|file| file.source.path.as_str()).collect()
}

fn modules<'f>(files: &'f [Read<'_>]) -> BTreeSet<&'f [String]> {
    files.iter().map(|file| file.module.as_slice()).collect()
}

/// The module of this crate that has what a path names.
fn target<'n>(modules: &BTreeSet<&[String]>, named: &'n Named) -> Option<&'n [String]> {
    let parts = || (0..=named.path.len()).rev().map(|len| &named.path[..len]);
    (named.root == Root::Own).then(|| parts().find(|to| modules.contains(to)))?
}

fn uses<'a>(files: &[Read<'a>]) -> Uses<'a> {
    let modules = modules(files);
    let mut uses: Uses<'a> = BTreeMap::new();
    for Read { source, module, named } in files {
        for named in named {
            let Some(to) = target(&modules, named) else { continue };
            // The folder where the two part. Uses between a folder and the files in it are for `upward`.
            let common = module.iter().zip(to).take_while(|(a, b)| a == b).count();
            if let (Some(from), Some(to)) = (module.get(common), to.get(common)) {
                let folder = uses.entry(module[..common].to_vec()).or_default();
                folder.entry((from.clone(), to.clone())).or_insert((source, named.line));
            }
        }
    }
    uses
}

#[cfg(test)]
mod tests {
    use super::super::sources_of as sources;
    use super::super::usetree::read;
    use super::*;

    fn messages(files: &[(&str, &str)]) -> Vec<String> {
        check(&read(&sources(files)).0).into_iter().map(|f| f.shown()).collect()
    }

    fn upward_messages(files: &[(&str, &str)], used: &mut BTreeSet<&'static str>) -> Vec<String> {
        upward(&read(&sources(files)).0, used).into_iter().map(|f| f.shown()).collect()
    }

    #[test]
    fn a_circle_is_found_over_several_steps() {
        let files = [
            ("src/lib.rs", "pub mod a; pub mod b; pub mod c;"),
            ("src/a.rs", "use crate::b::B;"),
            ("src/b/mod.rs", "mod deep;"),
            ("src/b/deep.rs", "use super::B;\nuse crate::c::C;"),
            ("src/c.rs", "\n\nfn f() -> crate::a::A {}"),
        ];
        assert_eq!(messages(&files), ["src/a.rs:1: a circle in src: a → b → c → a"]);
        assert_eq!(messages(&files[..4]), [""; 0], "a file and its folder");
    }

    #[test]
    fn a_file_does_not_use_its_mod_rs() {
        let files = [
            ("src/lib.rs", "pub mod a;"),
            ("src/a/mod.rs", "mod b; mod x; pub use x::X; pub struct Y;"),
            ("src/a/b/mod.rs", "mod deep; pub struct Z;"),
            ("src/a/b/deep.rs", "\nuse crate::a::X;\nuse super::Z;\nuse crate::a::x::X as Fine;"),
            ("src/a/x.rs", "use super::{Y, b::Z};\npub(in crate::a) struct X;\nuse crate::Root;"),
        ];
        let mut used = BTreeSet::new();
        let found = [
            "src/a/b/deep.rs:2: a::X is src/a/mod.rs's, which is above: name the file that has it",
            "src/a/b/deep.rs:3: a::b::Z is src/a/b/mod.rs's, which is above: name the file that has it",
            "src/a/x.rs:1: a::Y is src/a/mod.rs's, which is above: name the file that has it",
        ];
        assert_eq!(upward_messages(&files, &mut used), found);
        assert!(used.is_empty());
    }

    #[test]
    fn exceptions_are_used_or_stale() {
        let Some((folder, _)) = KNOTS.first() else { return };
        let (above, below) = (format!("{folder}/mod.rs"), format!("{folder}/x.rs"));
        let mut used = BTreeSet::new();
        let files = [(above.as_str(), "mod x; pub struct Y;"), (&below, "use super::Y;")];
        assert_eq!(upward_messages(&files, &mut used), [""; 0]);
        assert!(used.contains(folder));
        let row = format!("    (\"{folder}\", \"why\"),");
        let text = format!("    (\"{folder}\", &[]),\npub const KNOTS: …\n{row}\n");
        let table = Source { path: "table.rs".into(), text };
        let shown = |findings: Vec<Finding>| findings.first().map(Finding::shown);
        let message = format!("table.rs:3: a stale row: no file of {folder} uses its mod.rs or lib.rs");
        assert_eq!(shown(stale(&table, &BTreeSet::new())), Some(message));
        let all = KNOTS.iter().map(|(folder, _)| *folder).collect();
        assert_eq!(stale(&table, &all), []);
    }

    #[test]
    fn rooms_are_looked_into() {
        let files = [
            ("src/a/mod.rs", "mod x; mod y;"),
            ("src/a/x.rs", "use super::y::Y;"),
            ("src/a/y.rs", "use crate::a::x;"),
        ];
        assert_eq!(messages(&files), ["src/a/x.rs:1: a circle in src/a: x → y → x"]);
    }
}
