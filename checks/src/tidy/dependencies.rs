//! The dependencies of each package: each is used, and each may be shipped with our code.

use std::collections::BTreeSet;

use anyhow::{Context, Result};
use regex_lite::Regex;
use xtask::crates::{self, Package};
use xtask::workspace;

use super::{Finding, Source};

/// The platform of the guests and, so far, of the users.
const PLATFORM: &str = "x86_64-unknown-linux-gnu";

pub(super) fn check(sources: &[Source]) -> Result<Vec<Finding>> {
    let root = workspace::root();
    let mut findings = licences(sources)?;
    let packages = metadata(&["--no-deps"])?;
    let manifest = |package: &Package| {
        package
            .manifest_path
            .trim_start_matches(&root.display().to_string())
            .trim_start_matches('/')
            .to_owned()
    };
    let folders: Vec<String> =
        packages.iter().map(|package| manifest(package).trim_end_matches("Cargo.toml").to_owned()).collect();
    for (package, folder) in packages.iter().zip(&folders) {
        let manifest = manifest(package);
        let own: Vec<&Source> = sources.iter().filter(|source| is_of(source, folder, &folders)).collect();
        let Some(file) = sources.iter().find(|source| source.path == manifest) else { continue };
        let names: BTreeSet<String> =
            package.dependencies.iter().map(|of| of.rename.clone().unwrap_or(of.name.clone())).collect();
        findings.extend(names.iter().filter(|name| !is_used(name, &own)).map(|name| {
            let line = file.text.lines().position(|line| line.starts_with(&format!("{name} ")));
            file.finding(line.map_or(1, |line| line + 1), format!("nothing uses the dependency {name}"))
        }));
    }
    Ok(findings)
}

/// Packages that may not be distributed under MIT or Apache-2.0, with their licences.
fn licences(sources: &[Source]) -> Result<Vec<Finding>> {
    let Some(lock) = sources.iter().find(|source| source.path == "Cargo.lock") else { return Ok(Vec::new()) };
    // Packages of other systems need not be on this machine.
    let packages = metadata(&["--filter-platform", PLATFORM])?;
    let refused =
        packages.iter().filter(|package| !is_allowed(package.license.as_deref().unwrap_or_default()));
    let finding = |package: &Package| {
        let entry = format!("name = \"{}\"", package.name);
        let line = lock.text.lines().position(|line| line == entry).map_or(1, |line| line + 1);
        let licence = package.license.as_deref().unwrap_or("unknown");
        lock.finding(line, format!("the licence of {} is {licence}", package.name))
    };
    Ok(refused.map(finding).collect())
}

fn is_allowed(licence: &str) -> bool {
    const ALLOWED: [&str; 9] = [
        "0BSD",
        "Apache-2.0",
        "BSD-2-Clause",
        "BSD-3-Clause",
        "MIT",
        "MIT-0",
        "Unicode-3.0",
        "Unlicense",
        "Zlib",
    ];
    let known = |of: &spdx::LicenseReq| of.license.id().is_some_and(|id| ALLOWED.contains(&id.name));
    spdx::Expression::parse_mode(licence, spdx::ParseMode::LAX).is_ok_and(|all| all.evaluate(known))
}

fn metadata(more: &[&str]) -> Result<Vec<Package>> {
    crates::metadata(&workspace::root(), more).context("cannot get the dependencies from cargo")
}

/// Whether a file belongs to the package in this folder, and not to one in a folder below. The fuzz targets are not a
/// member of the workspace, but tests/outside/regressions.rs includes their code: they count as the root's.
fn is_of(source: &Source, folder: &str, folders: &[String]) -> bool {
    let inside = source.is_rust() || source.path.ends_with(".lalrpop");
    let home =
        folders.iter().filter(|folder| source.path.starts_with(*folder)).max_by_key(|folder| folder.len());
    inside && home.is_some_and(|home| home == folder)
}

fn is_used(name: &str, sources: &[&Source]) -> bool {
    let name = name.replace('-', "_");
    let path = Regex::new(&format!(r"\b{name}(::|;| as |!)")).expect("a crate's name is plain");
    let code = |line: &&str| !line.trim_start().starts_with("//");
    sources.iter().any(|source| source.text.lines().filter(code).any(|line| path.is_match(line)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_licence_is_one_that_can_be_passed_on() {
        for allowed in ["MIT", "MIT/Apache-2.0", "GPL-3.0-only OR MIT", "(MIT OR Apache-2.0) AND Unicode-3.0"]
        {
            assert!(is_allowed(allowed), "{allowed}");
        }
        for refused in ["", "GPL-2.0-only", "MIT AND GPL-3.0-only", "whatever"] {
            assert!(!is_allowed(refused), "{refused}");
        }
    }

    #[test]
    fn a_dependency_is_named_somewhere() {
        let source = |text: &str| Source { path: "src/x.rs".into(), text: text.into() };
        assert!(is_used("crc32fast", &[&source("use crc32fast;")]));
        assert!(is_used("signal-hook", &[&source("    signal_hook::flag::register()")]));
        assert!(!is_used("anstream", &[&source("// use anstream::print;\nlet anstream_s = 1;")]));
        let folders = ["", "checks/", "xtask/", "manual/"].map(str::to_owned);
        let is_of_root = |path: &str| is_of(&Source { path: path.into(), text: "".into() }, "", &folders);
        assert!(is_of_root("src/x.rs") && !is_of_root("xtask/src/x.rs"));
        assert!(!is_of_root("manual/src/x.rs"));
    }
}
