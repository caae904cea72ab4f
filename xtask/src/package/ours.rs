//! The crates that are linked into the programs, and their licences, for the packages' documentation.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use anyhow::{Context, Result};

use crate::crates::{Package, cargo, metadata};
use crate::exec;

/// The crates by name and version, each with its licence and the texts of the licence.
pub(super) fn crates(dir: &Path) -> Result<String> {
    let target = ["--target", "x86_64-unknown-linux-gnu", "--target", "aarch64-unknown-linux-gnu"];
    let tree = exec::output(
        cargo(dir)
            .args(["tree", "--locked", "--edges", "normal,no-proc-macro", "--prefix", "none"])
            .args(["--package", "kinst", "--format", "{p}"])
            .args(target),
    )?;
    let packages = metadata(dir, &[])?;
    let all: BTreeMap<(String, String), &Package> =
        packages.iter().map(|p| ((p.name.clone(), p.version.clone()), p)).collect();
    // A line is `NAME vVERSION`, and for a crate of this checkout its folder.
    let mut linked: Vec<(String, String)> = tree
        .lines()
        .filter_map(|line| {
            let mut words = line.split_whitespace();
            Some((words.next()?.to_owned(), words.next()?.strip_prefix('v')?.to_owned()))
        })
        .filter(|(name, _)| name != "kinst" && !name.starts_with("kinst-"))
        .collect();
    linked.sort();
    linked.dedup();
    let mut page = String::from("The crates that are linked into the programs, with their licences.\n");
    for key in linked {
        let package =
            all.get(&key).with_context(|| format!("cargo metadata does not list {} {}", key.0, key.1))?;
        let licence = package.license.as_deref().unwrap_or("see below");
        page += &format!("\n==== {} {}: {licence}\n", package.name, package.version);
        let folder = Path::new(&package.manifest_path).parent().context("a manifest is in a folder")?;
        page += &texts(folder)?;
    }
    Ok(page)
}

/// The texts of the licences in a crate's folder, by the names of the files.
fn texts(folder: &Path) -> Result<String> {
    let mut files: Vec<_> = fs::read_dir(folder)?.flatten().map(|entry| entry.path()).collect();
    files.sort();
    let mut page = String::new();
    for file in files {
        let name = file.file_name().unwrap_or_default().to_string_lossy().to_ascii_uppercase();
        let is_licence = ["LICENSE", "LICENCE", "COPYING", "COPYRIGHT", "NOTICE", "UNLICENSE"]
            .iter()
            .any(|begin| name.starts_with(begin));
        // Debian systems have the Apache licence.
        if !is_licence || name.contains("APACHE") || !file.is_file() {
            continue;
        }
        page += &format!("\n{}\n", String::from_utf8_lossy(&fs::read(&file)?).trim_end());
    }
    Ok(page)
}
