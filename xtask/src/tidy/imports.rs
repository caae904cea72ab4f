//! Who uses what: external crates, and the modules of this one.

use regex::Regex;

use super::table::{CRATES, MODULES};
use super::usetree::crate_paths;
use super::{Finding, Source};

pub fn check(source: &Source, all: &[Source]) -> Vec<Finding> {
    if !source.is_rust() || source.is_test() || !source.is_in(&["src"]) {
        return Vec::new();
    }
    let mut findings = crates(source, all);
    findings.extend(modules(source));
    findings
}

fn crates(source: &Source, all: &[Source]) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (name, folders) in CRATES {
        if source.is_in(folders) || is_own_module(source, all, name) {
            continue;
        }
        let named =
            Regex::new(&format!(r"(^|[^\w:]){name}::|\buse (::)?{name}\b")).expect("a crate's name is plain");
        for (index, line) in source.code().iter().enumerate() {
            if named.is_match(line) {
                let message = format!("the crate {name} belongs to {}", folders.join(", "));
                findings.push(source.finding(index + 1, message));
            }
        }
    }
    findings
}

/// Whether a module of the same name stands beside the file or is imported by it (`dif::object`, not the crate).
fn is_own_module(source: &Source, all: &[Source], name: &str) -> bool {
    let imported =
        Regex::new(&format!(r"\buse (crate|super)::[\w:{{}},\s]*\b{name}\b")).expect("a name is plain");
    if imported.is_match(&source.code().join("\n")) {
        return true;
    }
    let Some((folder, _)) = source.path.rsplit_once('/') else { return false };
    let candidates = [format!("{folder}/{name}.rs"), format!("{folder}/{name}/mod.rs")];
    all.iter().any(|other| candidates.contains(&other.path))
}

fn modules(source: &Source) -> Vec<Finding> {
    let Some((folder, allowed)) = MODULES.iter().find(|(folder, _)| source.is_in(&[folder])) else {
        return Vec::new();
    };
    let own = folder.trim_start_matches("src/").trim_end_matches(".rs");
    let below = |path: &str, module: &str| {
        path.strip_prefix(module).is_some_and(|rest| rest.is_empty() || rest.starts_with("::"))
    };
    let mut findings = Vec::new();
    for (line, path) in crate_paths(&source.code()) {
        if !below(&path, own) && !allowed.iter().any(|module| below(&path, module)) {
            let message = match allowed {
                [] => format!("{folder} does not know {path}: it uses no other module"),
                _ => format!("{folder} does not know {path}: it may use {}", allowed.join(", ")),
            };
            findings.push(source.finding(line, message));
        }
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::*;

    fn messages(path: &str, text: &str) -> Vec<String> {
        let source = Source { path: path.into(), text: text.into() };
        let beside = Source { path: "src/dif/object.rs".into(), text: String::new() };
        check(&source, &[beside]).into_iter().map(|f| format!("{}: {}", f.line, f.message)).collect()
    }

    #[test]
    fn a_crate_has_its_folders() {
        assert_eq!(messages("src/parser/lexer.rs", "use logos::Logos;"), [""; 0]);
        assert_eq!(
            messages("src/sugar/x.rs", "\nuse logos::Logos;"),
            ["2: the crate logos belongs to src/parser"]
        );
        assert_eq!(messages("src/dif/asm.rs", "let a = object::write();"), [""; 0], "a module of that name");
        assert_eq!(messages("src/codegen/x.rs", "let a = object::read();").len(), 1);
        assert_eq!(
            messages("src/codegen/x.rs", "use crate::dif::{asm,\n object};\nlet a = object::read();"),
            [""; 0]
        );
        assert_eq!(messages("src/codegen/x.rs", "let a = my::object::read();"), [""; 0]);
    }

    #[test]
    fn a_module_has_its_neighbours() {
        assert_eq!(messages("src/parser/pretty.rs", "use crate::{source::Span, sugar::plain};"), [""; 0]);
        let message = "1: src/parser does not know sites::Copy: it may use diag, source, sugar::plain";
        assert_eq!(messages("src/parser/x.rs", "use crate::sites::Copy;"), [message]);
        assert_eq!(messages("src/dif/x.rs", "use crate::dif::insn::Insn;\nuse crate::uapi;"), [""; 0]);
        assert_eq!(messages("src/cli/x.rs", "use crate::anything;"), [""; 0]);
    }
}
