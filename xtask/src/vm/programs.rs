//! dtrace and inlinecall as guests get them: built on this machine, without the debug information.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};

use crate::{exec, workspace};

const PROGRAMS: [&str; 2] = ["dtrace", "inlinecall"];

/// Builds the programs and returns the files to put into a guest.
pub fn build(release: bool) -> Result<Vec<PathBuf>> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| OsString::from("cargo"));
    let mut command = Command::new(cargo);
    command.current_dir(workspace::root()).args(["build", "--quiet", "--package", "kinst", "--bins"]);
    if release {
        command.arg("--release");
    }
    exec::run(&mut command)?;
    let profile = if release { "release" } else { "debug" };
    let target = workspace::target();
    let stripped = target.join("vm").join(profile);
    fs::create_dir_all(&stripped)?;
    PROGRAMS.iter().map(|name| strip(&target.join(profile).join(name), &stripped.join(name))).collect()
}

/// Most of a program is debug information, which a guest would have to unpack at every boot.
fn strip(from: &Path, to: &Path) -> Result<PathBuf> {
    let modified = |path: &Path| fs::metadata(path).and_then(|m| m.modified());
    let built = modified(from).with_context(|| format!("cargo build left no {}", from.display()))?;
    if !modified(to).is_ok_and(|stripped| stripped > built) {
        exec::run(Command::new("strip").arg("--strip-debug").arg("-o").arg(to).arg(from))?;
    }
    Ok(to.into())
}
