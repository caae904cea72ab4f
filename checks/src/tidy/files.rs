//! The names of files, and their list in docs/ARCHITECTURE.md: each has the line that it begins with.

use super::usetree::PRODUCT;
use super::{Finding, Source};

pub(super) const PAGE: &str = "docs/ARCHITECTURE.md";
const BEGIN: &str = "<!-- The first line of each file; `cargo xtask tidy --write` writes it. -->";

/// Finds files without a first line of their own, a list that is not that of the files, and names that no person gave.
pub(super) fn check(sources: &[Source]) -> Vec<Finding> {
    let strange = |c: char| !(c.is_ascii_alphanumeric() || "/._-+#".contains(c));
    let odd = sources.iter().filter(|source| source.path.contains(strange));
    let message = "a name of letters, digits and ._-+# is wanted; was a shell's redirection mistyped?";
    let mut findings: Vec<Finding> = odd.map(|source| source.finding(1, message)).collect();
    for source in sources.iter().filter(|source| is_listed(source)) {
        if said(source).is_none() {
            let name = name(source);
            let message = format!("the file does not begin with its line: `{name}: what it is`");
            findings.push(source.finding(if source.is_rust() { 1 } else { 2 }, message));
        }
    }
    let Some(page) = sources.iter().find(|source| source.path == PAGE) else { return findings };
    let Some(at) = page.text.find(BEGIN) else {
        findings.push(page.finding(1, format!("there is no list of files: {BEGIN}")));
        return findings;
    };
    let written: Vec<&str> = page.text[at + BEGIN.len()..].trim().lines().collect();
    let wanted = list(sources);
    let line = page.text[..at].lines().count() + 1;
    for missing in wanted.iter().filter(|line| !written.contains(&line.as_str())) {
        findings.push(page.finding(line, format!("missing in the list of files: {missing}")));
    }
    for more in written.iter().filter(|line| !wanted.iter().any(|wanted| wanted == *line)) {
        findings.push(page.finding(line, format!("no such file, or not its line: {more}")));
    }
    findings
}

/// The page with its list rewritten; `None`: it has no list.
pub(super) fn rewritten(sources: &[Source]) -> Option<String> {
    let page = sources.iter().find(|source| source.path == PAGE)?;
    let at = page.text.find(BEGIN)?;
    Some(format!("{}{BEGIN}\n\n{}\n", &page.text[..at], list(sources).join("\n")))
}

fn list(sources: &[Source]) -> Vec<String> {
    let line = |source: &Source| Some(format!("- `{}`: {}", name(source), said(source)?));
    let mut lines: Vec<String> = sources.iter().filter(|source| is_listed(source)).filter_map(line).collect();
    lines.sort();
    lines.dedup();
    lines
}

/// Whether a file is one of the compiler's or the module's.
fn is_listed(source: &Source) -> bool {
    let rust = source.is_rust()
        && source.is_in(PRODUCT)
        && source.path != "src/lib.rs"
        && !source.is_in(&["src/bin"]);
    let c = [".c", ".h", ".S"].iter().any(|end| source.path.ends_with(end));
    rust || c && source.is_in(&["kmod"]) && !source.is_in(&["kmod/tests"])
}

/// The name in the list: `parser/lex/` for its mod.rs, `dif/insn.rs` for a file of the crate dif, and `dif/` for its
/// lib.rs, `kmod/text/trap.c` for a file of the module.
fn name(source: &Source) -> String {
    let name = source.path.strip_prefix("src/").unwrap_or(&source.path);
    let name = match name.strip_prefix("crates/") {
        Some(rest) => rest.replacen("/src/", "/", 1),
        None => name.to_owned(),
    };
    let folder = name.strip_suffix("mod.rs").or_else(|| name.strip_suffix("lib.rs"));
    folder.map_or_else(|| name.clone(), str::to_owned)
}

/// The description of the file: its first sentence or paragraph, after its name.
fn said(source: &Source) -> Option<String> {
    let name = name(source);
    if source.is_rust() {
        let line = source.text.lines().next()?.strip_prefix("//! ")?;
        return Some(line.strip_prefix(&name)?.strip_prefix(": ")?.to_owned());
    }
    let name = name.strip_prefix("kmod/")?;
    let comment = &source.text[source.text.find("\n/*")? + 3..];
    let comment = &comment[..comment.find("*/")?];
    let lines = comment.lines().map(|line| line.trim().trim_start_matches('*').trim());
    let text: Vec<&str> =
        lines.skip_while(|line| line.is_empty()).take_while(|line| !line.is_empty()).collect();
    let text = text.join(" ");
    let said = text.strip_prefix(name)?.strip_prefix(": ")?;
    let end = said.find(". ").map_or(said.len(), |end| end + 1);
    Some(said[..end].to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sources(page: &str) -> Vec<Source> {
        let source = |(path, text): (&str, &str)| Source { path: path.into(), text: text.into() };
        let c = "// SPDX\n/*\n * text/x.c: what it\n * is. More of it.\n *\n * Much more.\n */\n";
        [("src/a/mod.rs", "//! a/: rooms.\n"), ("kmod/text/x.c", c), (PAGE, page)].map(source).into()
    }

    #[test]
    fn the_list_is_that_of_the_files() {
        let empty = sources(&format!("# Page\n\n{BEGIN}\n"));
        assert_eq!(check(&empty).len(), 2, "both are missing");
        let page = rewritten(&empty).expect("a list");
        assert_eq!(page, format!("# Page\n\n{BEGIN}\n\n- `a/`: rooms.\n- `kmod/text/x.c`: what it is.\n"));
        assert_eq!(check(&sources(&page)), []);
        let gone = sources(&format!("{page}- `gone.rs`: is no more.\n"));
        assert_eq!(check(&gone).len(), 1);
    }

    #[test]
    fn a_name_is_one_that_somebody_gave() {
        let source = |path: &str| Source { path: path.into(), text: String::new() };
        let found =
            check(&[source("size 0"), source("tests/vm/$out"), source(".ci/run"), source("a/b+c-d_#1.d")]);
        assert_eq!(
            found.iter().map(|found| found.path.as_str()).collect::<Vec<_>>(),
            ["size 0", "tests/vm/$out"]
        );
    }

    #[test]
    fn a_file_says_what_it_is() {
        let source = Source { path: "src/a/b.rs".into(), text: "//! b.rs: not its path\n".into() };
        assert_eq!(
            check(&[source])[0].message,
            "the file does not begin with its line: `a/b.rs: what it is`"
        );
    }
}
