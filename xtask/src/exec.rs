//! Running other programs, with errors that name the command.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::os::fd::AsFd;
use std::path::Path;
use std::process::{Command, ExitStatus, Output, Stdio};
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result, bail};

/// The command as typed in a shell, for messages.
pub fn shown(command: &Command) -> String {
    let mut words = vec![word(command.get_program())];
    words.extend(command.get_args().map(word));
    words.join(" ")
}

fn word(text: &OsStr) -> String {
    let text = text.to_string_lossy();
    let plain = |c: char| c.is_alphanumeric() || "-_=+:,./@%".contains(c);
    if !text.is_empty() && text.chars().all(plain) {
        text.into_owned()
    } else {
        format!("'{}'", text.replace('\'', r"'\''"))
    }
}

/// Runs a command with its output passed on, both streams to stderr: stdout is for data.
pub fn run(command: &mut Command) -> Result<()> {
    let status = status(command)?;
    if !status.success() {
        bail!("{} ended with {status}", shown(command));
    }
    Ok(())
}

/// Like [`run`], but the caller judges the exit status.
pub fn status(command: &mut Command) -> Result<ExitStatus> {
    let stderr = std::io::stderr().as_fd().try_clone_to_owned()?;
    command.stdin(Stdio::null()).stdout(stderr);
    command.status().with_context(|| format!("cannot run {}", shown(command)))
}

/// Runs a command with both streams appended to a log; an error has its path and last lines. `look` is called
/// repeatedly while it runs.
pub fn logged(command: &mut Command, log: &Path, mut look: impl FnMut()) -> Result<()> {
    if let Some(folder) = log.parent() {
        fs::create_dir_all(folder)?;
    }
    let file = File::options().create(true).append(true).open(log);
    let file = file.with_context(|| format!("cannot write {}", log.display()))?;
    let from = file.metadata()?.len();
    command.stdin(Stdio::null()).stdout(file.try_clone()?).stderr(file);
    let mut child = command.spawn().with_context(|| format!("cannot run {}", shown(command)))?;
    let status = loop {
        if let Some(status) = child.try_wait()? {
            break status;
        }
        look();
        thread::sleep(Duration::from_millis(50));
    };
    if !status.success() {
        let all = fs::read(log)?;
        let said = String::from_utf8_lossy(all.get(from as usize..).unwrap_or_default()).into_owned();
        let lines: Vec<&str> = said.lines().collect();
        let end = lines[lines.len().saturating_sub(12)..].join("\n  ");
        bail!("{} ended with {status}\n  {end}\n  all of its output is in {}", shown(command), log.display());
    }
    Ok(())
}

/// Runs a command and returns its stdout. Its stderr is part of the error if it fails.
pub fn output(command: &mut Command) -> Result<String> {
    let out = captured(command)?;
    if !out.status.success() {
        let stderr = String::from_utf8_lossy(&out.stderr);
        bail!("{} ended with {}\n{}", shown(command), out.status, stderr.trim_end());
    }
    String::from_utf8(out.stdout).with_context(|| format!("{} wrote text that is not UTF-8", shown(command)))
}

/// Runs a command and returns its status and both streams.
pub fn captured(command: &mut Command) -> Result<Output> {
    command.stdin(Stdio::null());
    command.output().with_context(|| format!("cannot run {}", shown(command)))
}

/// Whether a program of that name is in PATH (or in the folders for the administrator's programs, which an
/// ordinary user's PATH lacks).
pub fn in_path(program: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let admin = ["/usr/sbin", "/sbin"].map(Into::into);
    std::env::split_paths(&path).chain(admin).any(|dir| dir.join(program).is_file())
}

/// A command for an administrator's program, even if PATH has no sbin.
pub fn admin(program: &str) -> Command {
    let sbin = Path::new("/usr/sbin").join(program);
    if sbin.is_file() { Command::new(sbin) } else { Command::new(program) }
}
