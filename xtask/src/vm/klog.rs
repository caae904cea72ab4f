//! The guest's kernel log: kept whole, and watched for signs of a broken kernel.

use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use regex::{Regex, RegexSet};

/// The kernel cannot be trusted to go on.
const FATAL: [&str; 8] = [
    r"Kernel panic - not syncing",
    r"\bOops: ",
    r"kernel BUG at ",
    r"BUG: unable to handle",
    r"general protection fault",
    r"PANIC: double fault",
    r"stack segment:|stack guard page|Thread overran stack",
    r"BUG: (KASAN|KFENCE|stack-protector)",
];

/// Something is wrong, and the kernel goes on.
const BAD: [&str; 9] = [
    r"\bBUG: ",
    r"WARNING: ",
    r"INFO: rcu_\w+ (self-)?detected|rcu: INFO: |rcu_\w+ kthread starved",
    r"INFO: task .* blocked for more than",
    r"soft lockup|hard LOCKUP|hung task",
    r"unchecked MSR access",
    r"possible (circular|recursive) locking|inconsistent lock state",
    r"suspicious RCU usage|sleeping function called from invalid context",
    r"invalid opcode: |divide error: |traps: PANIC|int3: ",
];

/// How bad a line of the log is.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Trouble {
    Bad,
    Fatal,
}

/// The log of one guest, from its first line.
pub struct KernelLog {
    lines: Vec<String>,
    part: Vec<u8>,
    copy: File,
    path: PathBuf,
    fatal: RegexSet,
    bad: RegexSet,
    allowed: Vec<Regex>,
    troubles: Vec<(usize, Trouble)>,
}

impl KernelLog {
    /// A log that is copied to `path` as it comes.
    pub fn new(path: &Path) -> Result<KernelLog> {
        let copy = File::create(path).with_context(|| format!("cannot write {}", path.display()))?;
        Ok(KernelLog {
            lines: Vec::new(),
            part: Vec::new(),
            copy,
            path: path.into(),
            fatal: RegexSet::new(FATAL)?,
            bad: RegexSet::new(BAD)?,
            allowed: Vec::new(),
            troubles: Vec::new(),
        })
    }

    /// From now on a line that one of these matches is no trouble.
    pub fn allow(&mut self, patterns: &[Regex]) {
        self.allowed = patterns.to_vec();
    }

    pub fn push(&mut self, bytes: &[u8]) {
        // The copy is for people: the log in memory is what counts.
        let _ = self.copy.write_all(bytes);
        for &byte in bytes {
            match byte {
                b'\n' => self.end_line(),
                b'\r' => {}
                _ => self.part.push(byte),
            }
        }
    }

    fn end_line(&mut self) {
        let line = String::from_utf8_lossy(&std::mem::take(&mut self.part)).into_owned();
        if let Some(trouble) = self.judge(&line) {
            self.troubles.push((self.lines.len(), trouble));
        }
        self.lines.push(line);
    }

    fn judge(&self, line: &str) -> Option<Trouble> {
        if self.allowed.iter().any(|a| a.is_match(line)) {
            return None;
        }
        if self.fatal.is_match(line) {
            return Some(Trouble::Fatal);
        }
        self.bad.is_match(line).then_some(Trouble::Bad)
    }

    /// The number of lines so far: a place to look from later.
    pub fn position(&self) -> usize {
        self.lines.len()
    }

    /// Whether a line at or after `from` has this text.
    pub fn has(&self, from: usize, text: &str) -> bool {
        self.since(from).iter().any(|l| l.contains(text))
    }

    pub fn since(&self, from: usize) -> &[String] {
        &self.lines[from.min(self.lines.len())..]
    }

    /// The worst trouble at or after `from`.
    pub fn worst(&self, from: usize) -> Option<Trouble> {
        self.troubles.iter().filter(|(line, _)| *line >= from).map(|(_, t)| *t).max()
    }

    /// The text of the first line of trouble at or after `from`.
    pub fn first_trouble(&self, from: usize) -> Option<&str> {
        let (line, _) = self.troubles.iter().find(|(line, _)| *line >= from)?;
        Some(&self.lines[*line])
    }

    /// The part of the log at or after `from` that explains its first trouble, or else all of it: at most `most`
    /// lines, from both ends.
    pub fn excerpt(&self, from: usize, most: usize) -> String {
        let trouble = self.troubles.iter().map(|(line, _)| *line).find(|line| *line >= from);
        let start = trouble.map_or(from, |line| line.saturating_sub(10).max(from));
        let lines = self.since(start);
        let indented = |lines: &[String]| -> String { lines.iter().map(|l| format!("    {l}\n")).collect() };
        let text = if lines.len() <= most {
            indented(lines)
        } else {
            let left = format!("    … {} lines …\n", lines.len() - most);
            [indented(&lines[..most / 2]), left, indented(&lines[lines.len() - most / 2..])].concat()
        };
        format!("{text}  the whole log is in {}", self.path.display())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn log(text: &str) -> KernelLog {
        let mut log = KernelLog::new(Path::new("/dev/null")).unwrap();
        log.push(text.as_bytes());
        log
    }

    #[test]
    fn trouble_is_graded() {
        assert_eq!(log("[    1.0] Run /init as init process\r\n").worst(0), None);
        assert_eq!(
            log("[    1.0] WARNING: CPU: 0 PID: 1 at kernel/x.c:1 f+0x1/0x2\r\n").worst(0),
            Some(Trouble::Bad)
        );
        assert_eq!(
            log("rcu: INFO: rcu_preempt detected stalls on CPUs/tasks:\n").worst(0),
            Some(Trouble::Bad)
        );
        assert_eq!(log("watchdog: BUG: soft lockup - CPU#1 stuck for 26s!\n").worst(0), Some(Trouble::Bad));
        let oops = "BUG: unable to handle page fault\nOops: 0002 [#1]\n";
        assert_eq!(log(oops).worst(0), Some(Trouble::Fatal));
        assert_eq!(log(oops).worst(2), None, "only from the given line on");
    }

    #[test]
    fn allowed_lines_are_no_trouble() {
        let mut log = log("");
        log.allow(&[Regex::new("WARNING: .* at ours").unwrap()]);
        log.push(b"WARNING: CPU: 0 at ours\nWARNING: CPU: 0 at theirs\n");
        assert_eq!(log.first_trouble(0), Some("WARNING: CPU: 0 at theirs"));
    }
}
