//! The commands of the package `checks`, built at first use: their dependencies take longer than all of xtask's.

use std::io::Write;
use std::process::{Command, ExitCode, Stdio};

use anyhow::{Context, Result, bail};

use crate::{crates, exec, workspace};

/// Runs `tidy` with its output passed on.
pub(crate) fn tidy() -> Result<ExitCode> {
    let mut command = command(&["--no-default-features"], "tidy");
    let status = command.status().with_context(|| format!("cannot run {}", exec::shown(&command)))?;
    let code = status.code().and_then(|code| u8::try_from(code).ok());
    Ok(code.map_or(ExitCode::FAILURE, ExitCode::from))
}

/// Fails with the findings of `tidy`, if any. The program exists, as it is built with the tests.
pub(crate) fn expect_tidy() -> Result<()> {
    let out = exec::captured(Command::new(workspace::target().join("debug/checks")).arg("tidy"))?;
    if !out.status.success() {
        let written = [out.stdout, out.stderr].concat();
        bail!("{}", String::from_utf8_lossy(&written).trim_end());
    }
    Ok(())
}

/// Runs `objects` with this schema, for lines `NUMBER<TAB>JSON`. Returns its output: lines `NUMBER<TAB>MESSAGE`.
pub(crate) fn objects(schema: &str, lines: &[u8]) -> Result<String> {
    let mut command = command(&[], "objects");
    command.arg(schema).stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = command.spawn().with_context(|| format!("cannot run {}", exec::shown(&command)))?;
    // `checks` reads all of its input before it writes, so the pipes cannot deadlock.
    let passed = child.stdin.take().context("no pipe to checks")?.write_all(lines);
    let output = child.wait_with_output()?;
    if !output.status.success() {
        bail!("{} ended with {}", exec::shown(&command), output.status);
    }
    passed.context("`checks` ended before it had read all lines")?;
    Ok(String::from_utf8(output.stdout)?)
}

fn command(features: &[&str], name: &str) -> Command {
    let mut cargo = crates::cargo(&workspace::root());
    cargo.args(["run", "--quiet", "--package", "checks"]).args(features).args(["--", name]);
    cargo
}
