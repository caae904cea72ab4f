//! The crates that are linked into the programs, and their licences, for the packages' documentation.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result};
use serde::Deserialize;

use crate::exec;

#[derive(Deserialize)]
struct Metadata {
    packages: Vec<Package>,
}

#[derive(Deserialize)]
struct Package {
    name: String,
    version: String,
    license: Option<String>,
    manifest_path: String,
}

/// The crates by name and version, each with its licence and the licence's texts.
pub fn crates(dir: &Path) -> Result<String> {
    let cargo = || {
        let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
        command.current_dir(dir);
        command
    };
    let target = ["--target", "x86_64-unknown-linux-gnu"];
    let tree = exec::output(
        cargo()
            .args(["tree", "--locked", "--edges", "normal,no-proc-macro", "--prefix", "none"])
            .args(["--package", "kinst", "--format", "{p}"])
            .args(target),
    )?;
    let text = exec::output(cargo().args(["metadata", "--locked", "--format-version", "1"]))?;
    let metadata: Metadata = serde_json::from_str(&text).context("cargo metadata has changed")?;
    let all: BTreeMap<(String, String), &Package> =
        metadata.packages.iter().map(|p| ((p.name.clone(), p.version.clone()), p)).collect();
    // A line is `NAME vVERSION`, and for a crate of this checkout its folder.
    let mut linked: Vec<(String, String)> = tree
        .lines()
        .filter_map(|line| {
            let mut words = line.split_whitespace();
            Some((words.next()?.to_owned(), words.next()?.strip_prefix('v')?.to_owned()))
        })
        .filter(|(name, _)| name != "kinst")
        .collect();
    linked.sort();
    linked.dedup();
    let mut page = String::from("The crates that are linked into the programs, with their licences.\n");
    for key in linked {
        let package = all.get(&key).with_context(|| format!("cargo metadata has no {} {}", key.0, key.1))?;
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
        // Debian's systems have this one.
        if !is_licence || name.contains("APACHE") || !file.is_file() {
            continue;
        }
        page += &format!("\n{}\n", String::from_utf8_lossy(&fs::read(&file)?).trim_end());
    }
    Ok(page)
}
