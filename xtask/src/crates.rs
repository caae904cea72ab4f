//! The crates of a checkout, from cargo's metadata.

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};
use serde::Deserialize;

use crate::exec;
use crate::steps::Step;

#[derive(Deserialize)]
struct Metadata {
    packages: Vec<Package>,
}

/// A package, as `cargo metadata` prints it.
#[derive(Deserialize)]
pub struct Package {
    /// The name in its Cargo.toml.
    pub name: String,
    /// The version in Cargo.lock.
    pub version: String,
    /// The SPDX expression of its license; `None` if its Cargo.toml has none.
    pub license: Option<String>,
    /// The absolute path of its Cargo.toml.
    pub manifest_path: String,
    /// Its dependencies of all kinds, including tests and builds.
    pub dependencies: Vec<Dependency>,
}

/// A dependency of a package.
#[derive(Deserialize)]
pub struct Dependency {
    /// The name of the package.
    pub name: String,
    /// The name that the package's code has for it, if Cargo.toml gives it another one.
    pub rename: Option<String>,
}

/// The cargo that runs this program, in a checkout.
pub fn cargo(dir: &Path) -> Command {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.current_dir(dir);
    command
}

/// Runs a cargo that builds, and notes in the step how far it is. The error contains the compiler's messages.
pub fn build(cargo: &mut Command, step: &Step) -> Result<()> {
    // Only its progress bar shows how much has to be built.
    cargo.env("CARGO_TERM_PROGRESS_WHEN", "always").env("CARGO_TERM_PROGRESS_WIDTH", "120");
    cargo.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
    let mut child = cargo.spawn().with_context(|| format!("cannot run {}", exec::shown(cargo)))?;
    let said = child.stderr.take().context("cargo has a standard error")?;
    let mut messages = String::new();
    // The bar overwrites itself.
    for piece in BufReader::new(said).split(b'\r') {
        let piece = piece?;
        let text = String::from_utf8_lossy(&piece);
        for line in text.lines() {
            match line.trim_start().strip_prefix("Building [") {
                Some(bar) => step.at(bar.split_once("] ").map_or(bar, |(_, far)| far).trim()),
                None => messages += &format!("{line}\n"),
            }
        }
    }
    let status = child.wait()?;
    if !status.success() {
        let plain = messages.lines().filter(|line| !line.trim_start().starts_with("Compiling "));
        bail!("{} ended with {status}\n{}", exec::shown(cargo), Vec::from_iter(plain).join("\n").trim_end());
    }
    Ok(())
}

/// The folder of the crates that cargo has fetched.
pub fn registry() -> Result<PathBuf> {
    let home = std::env::var_os("CARGO_HOME").map(PathBuf::from);
    let own = || std::env::var_os("HOME").map(|home| Path::new(&home).join(".cargo"));
    Ok(home.or_else(own).context("neither CARGO_HOME nor HOME is set")?.join("registry"))
}

/// Runs `cargo metadata` with further arguments; the lock file must be up to date.
pub fn metadata(dir: &Path, more: &[&str]) -> Result<Vec<Package>> {
    let text = exec::output(cargo(dir).args(["metadata", "--format-version=1", "--locked"]).args(more))?;
    let read: Metadata = serde_json::from_str(&text).context("cannot parse the output of cargo metadata")?;
    Ok(read.packages)
}
