//! No cycles: no module uses another one in its folder that uses it in turn, directly or over other modules.
//!
//! A folder's mod.rs declares the files in it, so a file that uses an item which its mod.rs defines or re-exports is
//! a cycle too, and evades the rule: through mod.rs every file reaches every other one.

use std::collections::{BTreeMap, BTreeSet};

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
            findings.push(source.finding(line, format!("a cycle in {place}: {way}")));
        }
    }
    findings
}

/// The uses of items that the mod.rs of the file's folder, or of a folder above it, defines or re-exports.
pub(super) fn upward(files: &[Read<'_>]) -> Vec<Finding> {
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
            let path = named.path.join("::");
            let message = format!(
                "{path} is {folder}/{file}'s, which is above this file: name the file that defines it"
            );
            findings.push(source.finding(named.line, message));
        }
    }
    findings
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

/// The module of this crate that contains the item of a path.
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
            // The innermost folder of both. Uses between a folder and the files in it are for `upward`.
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

    fn upward_messages(files: &[(&str, &str)]) -> Vec<String> {
        upward(&read(&sources(files)).0).into_iter().map(|f| f.shown()).collect()
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
        assert_eq!(messages(&files), ["src/a.rs:1: a cycle in src: a → b → c → a"]);
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
        let found = [
            "src/a/b/deep.rs:2: a::X is src/a/mod.rs's, which is above this file: name the file that defines it",
            "src/a/b/deep.rs:3: a::b::Z is src/a/b/mod.rs's, which is above this file: name the file that defines it",
            "src/a/x.rs:1: a::Y is src/a/mod.rs's, which is above this file: name the file that defines it",
        ];
        assert_eq!(upward_messages(&files), found);
    }

    #[test]
    fn rooms_are_looked_into() {
        let files = [
            ("src/a/mod.rs", "mod x; mod y;"),
            ("src/a/x.rs", "use super::y::Y;"),
            ("src/a/y.rs", "use crate::a::x;"),
        ];
        assert_eq!(messages(&files), ["src/a/x.rs:1: a cycle in src/a: x → y → x"]);
    }
}
