//! The dependencies of each package: those that nothing names are none.

use std::collections::BTreeSet;
use std::process::Command;

use anyhow::{Context, Result};
use regex::Regex;
use serde::Deserialize;

use super::{Finding, Source};
use crate::{exec, workspace};

#[derive(Deserialize)]
struct Metadata {
    packages: Vec<Package>,
}

#[derive(Deserialize)]
struct Package {
    manifest_path: String,
    dependencies: Vec<Dependency>,
}

#[derive(Deserialize)]
struct Dependency {
    name: String,
    rename: Option<String>,
}

pub fn check(sources: &[Source]) -> Result<Vec<Finding>> {
    let mut cargo = Command::new("cargo");
    cargo.current_dir(workspace::root()).args(["metadata", "--no-deps", "--format-version=1", "--offline"]);
    let text = exec::output(&mut cargo).context("tidy asks cargo for the dependencies")?;
    let metadata: Metadata =
        serde_json::from_str(&text).context("cargo metadata says what nobody understands")?;
    let root = workspace::root();
    let mut findings = Vec::new();
    for package in metadata.packages {
        let manifest = package.manifest_path.trim_start_matches(&root.display().to_string());
        let manifest = manifest.trim_start_matches('/');
        let folder = manifest.trim_end_matches("Cargo.toml");
        let own: Vec<&Source> = sources.iter().filter(|source| is_of(source, folder)).collect();
        let Some(file) = sources.iter().find(|source| source.path == manifest) else { continue };
        let names: BTreeSet<String> =
            package.dependencies.iter().map(|of| of.rename.clone().unwrap_or(of.name.clone())).collect();
        findings.extend(names.iter().filter(|name| !own.iter().any(|source| uses(source, name))).map(
            |name| {
                let line = file.text.lines().position(|line| line.starts_with(&format!("{name} ")));
                file.finding(line.map_or(1, |line| line + 1), format!("nothing uses the dependency {name}"))
            },
        ));
    }
    Ok(findings)
}

/// Of the package in this folder; xtask is not the root's. tests/fuzz.rs takes in what the fuzz targets run.
fn is_of(source: &Source, folder: &str) -> bool {
    let inside = source.is_rust() || source.path.ends_with(".lalrpop");
    inside && source.path.starts_with(folder) && (!folder.is_empty() || !source.is_in(&["xtask"]))
}

fn uses(source: &Source, name: &str) -> bool {
    let name = name.replace('-', "_");
    let path = Regex::new(&format!(r"\b{name}(::|;| as |!)")).expect("a crate's name is plain");
    source.text.lines().any(|line| !line.trim_start().starts_with("//") && path.is_match(line))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_dependency_is_named_somewhere() {
        let source = |text: &str| Source { path: "src/x.rs".into(), text: text.into() };
        assert!(uses(&source("use crc32fast;"), "crc32fast"));
        assert!(uses(&source("    signal_hook::flag::register()"), "signal-hook"));
        assert!(!uses(&source("// use anstream::print;\nlet anstream_s = 1;"), "anstream"));
        assert!(
            is_of(&source(""), "") && !is_of(&Source { path: "xtask/src/x.rs".into(), text: "".into() }, "")
        );
    }
}
