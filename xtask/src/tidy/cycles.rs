//! No way back: of the modules that share a folder none uses another one that uses it, over however many steps.

use std::collections::{BTreeMap, BTreeSet};

use super::usetree::{Root, module_of, named};
use super::{Finding, Source};

/// What uses what, by folder: the modules in it, as `from → to`, with the file and line of one use.
type Uses<'a> = BTreeMap<Vec<String>, BTreeMap<(String, String), (&'a Source, usize)>>;

pub fn check(sources: &[Source]) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (folder, uses) in uses(sources) {
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

/// A shortest way from a module back to it.
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

fn uses(sources: &[Source]) -> Uses<'_> {
    let is_product = |source: &&Source| source.is_rust() && source.is_in(&["src"]) && !source.is_test();
    let product: Vec<(&Source, Vec<String>)> = sources
        .iter()
        .filter(is_product)
        .filter_map(|source| Some((source, module_of(&source.path)?)))
        .collect();
    let modules: BTreeSet<&[String]> = product.iter().map(|(_, module)| module.as_slice()).collect();
    let mut uses: Uses<'_> = BTreeMap::new();
    for (source, module) in &product {
        for named in named(&source.text, module).unwrap_or_default() {
            if named.root != Root::Own {
                continue;
            }
            let Some(to) =
                (0..=named.path.len()).rev().map(|len| &named.path[..len]).find(|to| modules.contains(to))
            else {
                continue;
            };
            // The folder where the two part; what a folder and the files in it have of each other is no circle.
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
    use super::*;

    fn messages(files: &[(&str, &str)]) -> Vec<String> {
        let source = |(path, text): &(&str, &str)| Source { path: (*path).into(), text: (*text).into() };
        let sources: Vec<Source> = files.iter().map(source).collect();
        check(&sources).into_iter().map(|f| f.shown()).collect()
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
