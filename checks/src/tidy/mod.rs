//! The checks of docs/STYLE.md and docs/ARCHITECTURE.md that a machine can make.

mod context;
mod cycles;
mod declared;
mod dependencies;
mod files;
mod imports;
mod includes;
mod lines;
mod pattern;
mod prose;
mod sizes;
mod table;
mod usetree;
mod version;

use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;
use std::process::{Command, ExitCode};

use anyhow::{Context, Result};
use xtask::{exec, workspace};

/// A file of the checkout.
pub(crate) struct Source {
    /// Relative to the root, with `/`.
    pub path: String,
    pub text: String,
}

/// A violation of a rule.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Finding {
    pub path: String,
    pub line: usize,
    pub message: String,
}

impl Finding {
    fn shown(&self) -> String {
        format!("{}:{}: {}", self.path, self.line, self.message)
    }
}

impl Source {
    pub(crate) fn finding(&self, line: usize, message: impl Into<String>) -> Finding {
        Finding { path: self.path.clone(), line, message: message.into() }
    }

    pub(crate) fn is_rust(&self) -> bool {
        self.path.ends_with(".rs")
    }

    pub(crate) fn is_c(&self) -> bool {
        [".c", ".h", ".S"].iter().any(|end| self.path.ends_with(end))
    }

    /// Whether the path is below one of these folders, or one of these files.
    pub(crate) fn is_in(&self, places: &[&str]) -> bool {
        places.iter().any(|place| {
            let rest = self.path.strip_prefix(place.trim_end_matches('/'));
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        })
    }

    /// Whether the whole file is a test, to which fewer rules apply.
    pub(crate) fn is_test(&self) -> bool {
        self.path.ends_with("/tests.rs") || self.path.contains("/tests/")
    }

    /// Rust text without comments and without the tests at the file's end, line by line as in the file.
    pub(crate) fn code(&self) -> Vec<&str> {
        let lines = self.text.lines().take_while(|l| *l != "#[cfg(test)]");
        lines.map(|l| l.find("//").filter(|at| !in_string(l, *at)).map_or(l, |at| &l[..at])).collect()
    }
}

/// Whether a place in a line lies between quotes; exact enough for `"//"`.
fn in_string(line: &str, at: usize) -> bool {
    line[..at].matches('"').count() % 2 == 1
}

pub(crate) fn main() -> Result<ExitCode> {
    let findings = check()?;
    for f in &findings {
        println!("{}", f.shown());
    }
    Ok(if findings.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// All findings in the checkout, by path and line.
fn check() -> Result<Vec<Finding>> {
    let sources = sources()?;
    let (files, mut findings) = usetree::read(&sources);
    findings.extend(cycles::check(&files));
    findings.extend(cycles::upward(&files));
    findings.extend(files::check(&sources));
    findings.extend(version::check(&sources));
    findings.extend(dependencies::check(&sources)?);
    let mut used = imports::Used::default();
    let mut includes = includes::Used::default();
    findings.extend(includes::check(&sources, &mut includes));
    findings.extend(context::objects(&sources));
    let mut ports = BTreeSet::new();
    findings.extend(declared::check(&sources, &mut ports));
    for file in &files {
        findings.extend(imports::check(file, &mut used));
    }
    for source in &sources {
        findings.extend(context::check(source));
        findings.extend(lines::check(source));
        findings.extend(prose::check(source));
        findings.extend(sizes::check(source));
    }
    if let Some(table) = sources.iter().find(|source| source.path == "checks/src/tidy/table.rs") {
        findings.extend(imports::stale(table, &used));
        findings.extend(includes::stale(table, &includes));
        findings.extend(declared::stale(table, &ports));
    }
    findings.sort_by(|a, b| (&a.path, a.line).cmp(&(&b.path, b.line)));
    Ok(findings)
}

/// The text files of the checkout: the tracked ones, and the untracked ones that git does not ignore.
fn sources() -> Result<Vec<Source>> {
    let mut git = Command::new("git");
    git.current_dir(workspace::root()).args(["ls-files", "-z", "--cached", "--others", "--exclude-standard"]);
    let list = exec::output(&mut git).context("cannot get the files of the checkout from git")?;
    let mut paths: Vec<PathBuf> = list.split_terminator('\0').map(Into::into).collect();
    paths.sort();
    paths.dedup();
    let mut sources = Vec::new();
    for path in paths {
        // A deleted file may still be tracked, and a binary has no lines.
        let Ok(bytes) = fs::read(workspace::root().join(&path)) else { continue };
        if let Ok(text) = String::from_utf8(bytes) {
            sources.push(Source { path: path.to_string_lossy().into_owned(), text });
        }
    }
    Ok(sources)
}

/// Files by their paths, for the tests of rules.
#[cfg(test)]
fn sources_of(files: &[(&str, &str)]) -> Vec<Source> {
    let source = |(path, text): &(&str, &str)| Source { path: (*path).into(), text: (*text).into() };
    files.iter().map(source).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn code_is_without_comments_and_tests() {
        let text = "a(); // use logos\nlet s = \"//\";\n#[cfg(test)]\nmod tests {}\n".to_owned();
        let source = Source { path: "src/x.rs".into(), text };
        assert_eq!(source.code(), ["a(); ", "let s = \"//\";"]);
        assert!(source.is_in(&["src"]) && source.is_in(&["src/x.rs"]) && !source.is_in(&["sr", "src/x"]));
    }
}
