//! The uses of external crates, and of the modules of this one.

use std::collections::BTreeSet;

use super::table::{CRATES, IMPURE_PATHS, MODULES, PURE};
use super::usetree::{Named, Read, Root};
use super::{Finding, Source};

/// The rows of the tables that have been used.
#[derive(Default)]
pub(super) struct Used {
    crates: BTreeSet<(&'static str, &'static str)>,
    modules: BTreeSet<(&'static str, &'static str)>,
    /// First segments of all paths: a dependency must be among them.
    pub roots: BTreeSet<String>,
}

pub(super) fn check(file: &Read<'_>, used: &mut Used) -> Vec<Finding> {
    let Read { source, named, .. } = file;
    let own = named.iter().filter(|named| named.root == Root::Own);
    let own: BTreeSet<&str> = own.filter_map(|named| Some(named.path.last()?.as_str())).collect();
    let mut findings = Vec::new();
    for path in named {
        let finding = match path.root {
            Root::Own => modules(source, path, used),
            // `object::read()` may refer to a module that was imported.
            Root::Unknown if path.path.first().is_some_and(|first| own.contains(first.as_str())) => None,
            Root::Unknown => crates(source, path, used),
        };
        findings.extend(finding.map(|message| source.finding(path.line, message)));
        if path.far {
            findings.push(source.finding(path.line, "super::super: name it from the crate's root"));
        }
    }
    findings.dedup();
    findings
}

fn crates(source: &Source, named: &Named, used: &mut Used) -> Option<String> {
    let first = named.path.first()?.as_str();
    used.roots.insert(first.to_owned());
    if source.is_in(PURE)
        && let Some((_, what)) = IMPURE_PATHS.iter().find(|(path, _)| is_below(&named.path.join("::"), path))
    {
        return Some(format!("{what} in a stage that must be pure"));
    }
    let (name, folders) = CRATES.iter().find(|(name, _)| *name == first)?;
    match folders.iter().find(|folder| source.is_in(&[folder])) {
        Some(folder) => {
            used.crates.insert((name, folder));
            None
        }
        None => Some(format!("the crate {name} belongs to {}", folders.join(", "))),
    }
}

fn modules(source: &Source, named: &Named, used: &mut Used) -> Option<String> {
    let (folder, allowed) = MODULES.iter().find(|(folder, _)| source.is_in(&[folder]))?;
    let own = folder.replacen("/src", "", 1);
    let own = own.trim_start_matches("crates/").trim_start_matches("src/").trim_end_matches(".rs");
    let own = own.replace('/', "::");
    let path = named.path.join("::");
    if is_below(&path, &own) {
        return None;
    }
    match allowed.iter().find(|module| is_below(&path, module)) {
        Some(module) => {
            used.modules.insert((folder, module));
            None
        }
        None => Some(match allowed {
            [] => format!("{folder} may not use {path}: it uses no other module"),
            _ => format!("{folder} may not use {path}, only {}", allowed.join(", ")),
        }),
    }
}

fn is_below(path: &str, module: &str) -> bool {
    path.strip_prefix(module).is_some_and(|rest| rest.is_empty() || rest.starts_with("::"))
}

/// Rows that allow uses that do not occur.
pub(super) fn stale(table: &Source, used: &Used) -> Vec<Finding> {
    let rows = |rows: &'static [(&str, &[&str])]| {
        rows.iter().flat_map(|(name, allowed)| allowed.iter().map(move |allowed| (*name, *allowed)))
    };
    let crates = rows(CRATES).filter(|row| !used.crates.contains(row));
    let crates = crates.map(|(name, folder)| (name, format!("{folder} does not use the crate {name}")));
    let modules = rows(MODULES).filter(|row| !used.modules.contains(row));
    let modules = modules.map(|(folder, module)| (folder, format!("{folder} does not use {module}")));
    let line = |name: &str| {
        let row = format!("(\"{name}\",");
        let broken = format!("\"{name}\",");
        let is_row = |line: &&str| line.contains(&row) || line.trim() == broken;
        table.text.lines().position(|text| is_row(&text)).map_or(1, |at| at + 1)
    };
    crates
        .chain(modules)
        .map(|(name, message)| table.finding(line(name), format!("a stale row: {message}")))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::super::usetree::read;
    use super::*;

    fn messages(path: &str, text: &str) -> Vec<String> {
        let sources = [Source { path: path.into(), text: text.into() }];
        let (files, _) = read(&sources);
        let findings = check(&files[0], &mut Used::default());
        findings.into_iter().map(|f| format!("{}: {}", f.line, f.message)).collect()
    }

    #[test]
    fn a_crate_has_its_folders() {
        assert_eq!(messages("src/parser/lex/mod.rs", "use logos::Logos;"), [""; 0]);
        assert_eq!(
            messages("src/sugar/x.rs", "\nuse logos::Logos;"),
            ["2: the crate logos belongs to src/parser"]
        );
        let imported = "use crate::dif::{asm,\n object};\nfn f() { object::read(); }";
        assert_eq!(messages("src/codegen/x.rs", imported), [""; 0], "a module of that name");
        assert_eq!(messages("src/codegen/x.rs", "fn f() { object::read(); }").len(), 1);
        assert_eq!(messages("src/codegen/x.rs", "fn f() { my::object::read(); }"), [""; 0]);
    }

    #[test]
    fn a_module_has_its_neighbours() {
        assert_eq!(
            messages(
                "src/parser/print/pretty.rs",
                "use crate::vocabulary::X;\nuse kinst_base::{source::Span, probe::Fields};"
            ),
            [""; 0]
        );
        let found = messages("src/parser/x.rs", "use kinst_sites::Copy;");
        assert!(found[0].starts_with("1: src/parser may not use sites::Copy, only "), "{found:?}");
        assert_eq!(messages("src/sugar/x.rs", "use crate::sugar::Insn;\nuse kinst_base::probe::X;"), [""; 0]);
        assert_eq!(messages("src/cli/x.rs", "use crate::anything;"), [""; 0]);
    }

    #[test]
    fn what_is_far_or_impure_is_found_however_it_is_written() {
        let far = "use super::super::Site;";
        assert_eq!(
            messages("crates/sites/src/index/x.rs", far),
            ["1: super::super: name it from the crate's root"]
        );
        let impure = ["1: input and output in a stage that must be pure"];
        assert_eq!(messages("crates/dif/src/x.rs", "use std::{collections::HashMap, fs};"), impure);
        assert_eq!(messages("crates/dif/src/x.rs", "fn f() { std::io::stdin(); }"), impure);
        assert_eq!(messages("src/cli/x.rs", "use std::{fs, io};"), [""; 0]);
    }
}
