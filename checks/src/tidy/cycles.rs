//! No cycles: of the modules that share a folder, none uses another one that uses it, over however many steps.

use std::collections::{BTreeMap, BTreeSet};

use super::usetree::{Read, Root};
use super::{Finding, Source};

/// The uses, by folder: of the modules in it, as `from → to`, with the file and line of one use.
type Uses<'a> = BTreeMap<Vec<String>, BTreeMap<(String, String), (&'a Source, usize)>>;

pub fn check(files: &[Read<'_>]) -> Vec<Finding> {
    let mut findings = Vec::new();
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
            let place =
                if folder.is_empty() { "src".to_owned() } else { format!("src/{}", folder.join("/")) };
            let way = [&circle[..], &circle[..1]].concat().join(" → ");
            findings.push(source.finding(line, format!("a circle in {place}: {way}")));
        }
    }
    findings
}

/// A shortest path from a module back to it.
fn circle<'a>(edges: &BTreeMap<&'a str, BTreeSet<&'a str>>, start: &'a str) -> Option<Vec<&'a str>> {
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

fn uses<'a>(files: &[Read<'a>]) -> Uses<'a> {
    let modules: BTreeSet<&[String]> = files.iter().map(|file| file.module.as_slice()).collect();
    let mut uses: Uses<'a> = BTreeMap::new();
    for Read { source, module, named } in files {
        for named in named {
            if named.root != Root::Own {
                continue;
            }
            let Some(to) =
                (0..=named.path.len()).rev().map(|len| &named.path[..len]).find(|to| modules.contains(to))
            else {
                continue;
            };
            // The folder where the two part; uses between a folder and the files in it are not a cycle.
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
    use super::super::usetree::read;
    use super::*;

    fn messages(files: &[(&str, &str)]) -> Vec<String> {
        let source = |(path, text): &(&str, &str)| Source { path: (*path).into(), text: (*text).into() };
        let sources: Vec<Source> = files.iter().map(source).collect();
        check(&read(&sources).0).into_iter().map(|f| f.shown()).collect()
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
    fn rooms_are_looked_into() {
        let files = [
            ("src/a/mod.rs", "mod x; mod y;"),
            ("src/a/x.rs", "use super::y::Y;"),
            ("src/a/y.rs", "use crate::a::x;"),
        ];
        assert_eq!(messages(&files), ["src/a/x.rs:1: a circle in src/a: x → y → x"]);
    }
}
