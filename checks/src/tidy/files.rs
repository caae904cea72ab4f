//! The names of files, and the first line of each, which has its path and says what it is.

use super::usetree::PRODUCT;
use super::{Finding, Source};

/// Finds files without such a line, and names that a shell made.
pub(super) fn check(sources: &[Source]) -> Vec<Finding> {
    let strange = |c: char| !(c.is_ascii_alphanumeric() || "/._-+#".contains(c));
    let odd = sources.iter().filter(|source| source.path.contains(strange));
    let message =
        "file names consist of letters, digits and ._-+#; is this a mistyped redirection of a shell?";
    let mut findings: Vec<Finding> = odd.map(|source| source.finding(1, message)).collect();
    for source in sources.iter().filter(|source| is_listed(source)) {
        let name = name(source);
        if !has_line(source, &name) {
            let message = format!("the first line is not `{name}: what it is`");
            findings.push(source.finding(if source.is_rust() { 1 } else { 2 }, message));
        }
    }
    findings
}

/// Whether a file is one of the compiler's or the module's.
fn is_listed(source: &Source) -> bool {
    let rust = source.is_rust()
        && source.is_in(PRODUCT)
        && source.path != "src/lib.rs"
        && !source.is_in(&["src/bin"]);
    rust || source.is_c() && source.is_in(&["kmod"]) && !source.is_in(&["kmod/tests"])
}

/// The name in the first line: `parser/lex/` for its mod.rs, `dif/insn.rs` for a file of the crate dif, and `dif/` for its
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

/// Whether a file begins with its line: in C, after the licence, in the first comment.
fn has_line(source: &Source, name: &str) -> bool {
    let (line, name) = match source.is_rust() {
        true => (source.text.lines().next().and_then(|line| line.strip_prefix("//! ")), name),
        false => {
            let comment = source.text.split_once("\n/*").map(|(_, comment)| comment.lines());
            let mut lines =
                comment.into_iter().flatten().map(|line| line.trim().trim_start_matches('*').trim());
            (lines.find(|line| !line.is_empty()), name.strip_prefix("kmod/").unwrap_or(name))
        }
    };
    line.and_then(|line| line.strip_prefix(name)).is_some_and(|rest| rest.starts_with(": "))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn messages(path: &str, text: &str) -> Vec<String> {
        let source = Source { path: path.into(), text: text.into() };
        check(&[source]).into_iter().map(|found| found.message).collect()
    }

    #[test]
    fn a_file_of_c_says_what_it_is_after_its_licence() {
        let c = "// SPDX\n/*\n * text/x.c: what it\n * is. More of it.\n *\n * Much more.\n */\n";
        assert_eq!(messages("kmod/text/x.c", c), [""; 0]);
        assert_eq!(messages("kmod/text/y.c", c).len(), 1, "another file's line");
        assert_eq!(messages("src/a/mod.rs", "//! a/: rooms.\n"), [""; 0]);
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
        let found = messages("src/a/b.rs", "//! b.rs: not its path\n");
        assert_eq!(found, ["the first line is not `a/b.rs: what it is`"]);
    }
}
