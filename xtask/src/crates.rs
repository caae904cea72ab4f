//! The crates of a checkout, as cargo knows them.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};
use serde::Deserialize;

use crate::exec;

#[derive(Deserialize)]
struct Metadata {
    packages: Vec<Package>,
}

#[derive(Deserialize)]
pub struct Package {
    pub name: String,
    pub version: String,
    pub license: Option<String>,
    pub manifest_path: String,
    pub dependencies: Vec<Dependency>,
}

#[derive(Deserialize)]
pub struct Dependency {
    pub name: String,
    pub rename: Option<String>,
}

/// The cargo that runs this program, in a checkout.
pub fn cargo(dir: &Path) -> Command {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.current_dir(dir);
    command
}

/// The folder that cargo keeps the crates in that it has fetched.
pub fn registry() -> Result<PathBuf> {
    let home = std::env::var_os("CARGO_HOME").map(PathBuf::from);
    let own = || std::env::var_os("HOME").map(|home| Path::new(&home).join(".cargo"));
    Ok(home.or_else(own).context("neither CARGO_HOME nor HOME is set")?.join("registry"))
}

/// Asks `cargo metadata` with these arguments more, and with the lock file as it is.
pub fn metadata(dir: &Path, more: &[&str]) -> Result<Vec<Package>> {
    let text = exec::output(cargo(dir).args(["metadata", "--format-version=1", "--locked"]).args(more))?;
    let read: Metadata = serde_json::from_str(&text).context("what cargo metadata says cannot be read")?;
    Ok(read.packages)
}
