//! The guest's kernel log: stored completely, and watched for signs of a broken kernel.

use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use regex_lite::Regex;

/// Signs that the kernel cannot be trusted to continue.
const FATAL: [&str; 9] = [
    r"Kernel panic - not syncing",
    r"\bOops: ",
    r"kernel BUG at ",
    r"BUG: unable to handle",
    // On arm64.
    r"Unable to handle kernel |Internal error: .* \[#\d+\]",
    r"general protection fault",
    r"PANIC: double fault",
    r"stack segment:|stack guard page|Thread overran stack",
    r"BUG: (KASAN|KFENCE|stack-protector)",
];

/// Signs that something is wrong, although the kernel continues.
const BAD: [&str; 11] = [
    r"\bBUG: ",
    r"WARNING: ",
    r"INFO: rcu_\w+ (self-)?detected|rcu: INFO: |rcu_\w+ kthread starved",
    r"INFO: task .* blocked for more than",
    r"soft lockup|hard LOCKUP|hung task",
    r"unchecked MSR access",
    r"possible (circular|recursive) locking|inconsistent lock state",
    r"suspicious RCU usage|sleeping function called from invalid context",
    r"invalid opcode: |divide error: |traps: PANIC|int3: ",
    // SLUB's own reports, and those of lockdep and others without a warning.
    r"\bBUG [\w-]+ \(|trying to register non-static key",
    // A checker that has turned itself off finds no more errors.
    r"\bODEBUG: |UBSAN: |turning off the locking correctness validator|kmemleak: \d+ new",
];

/// The report of a race begins so and ends with a line of `=`. The kernel has races itself: only a line with our name
/// is trouble.
const RACE: &str = "BUG: KCSAN: ";
const OURS: &str = "[kinst]";

/// The severity of a line of the log.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum Trouble {
    Bad,
    Fatal,
}

/// The log of one guest, from its first line.
pub(crate) struct KernelLog {
    lines: Vec<String>,
    part: Vec<u8>,
    copy: File,
    path: PathBuf,
    fatal: Vec<Regex>,
    bad: Vec<Regex>,
    allowed: Vec<Regex>,
    /// Whether the log is inside the report of a race without trouble so far.
    in_race: bool,
    troubles: Vec<(usize, Trouble)>,
}

fn patterns(texts: &[&str]) -> Result<Vec<Regex>> {
    Ok(texts.iter().map(|text| Regex::new(text)).collect::<Result<_, _>>()?)
}

impl KernelLog {
    /// A log that is copied to `path` as it arrives.
    pub(crate) fn new(path: &Path) -> Result<KernelLog> {
        let copy = File::create(path).with_context(|| format!("cannot write {}", path.display()))?;
        Ok(KernelLog {
            lines: Vec::new(),
            part: Vec::new(),
            copy,
            path: path.into(),
            fatal: patterns(&FATAL)?,
            bad: patterns(&BAD)?,
            allowed: Vec::new(),
            in_race: false,
            troubles: Vec::new(),
        })
    }

    /// The file that the log is copied to.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// From now on a line that one of these matches is not trouble.
    pub(crate) fn allow(&mut self, patterns: &[Regex]) {
        self.allowed = patterns.to_vec();
    }

    pub(crate) fn push(&mut self, bytes: &[u8]) {
        // The copy is for readers; only the log in memory matters.
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

    fn judge(&mut self, line: &str) -> Option<Trouble> {
        if self.allowed.iter().any(|a| a.is_match(line)) {
            return None;
        }
        let begins = line.contains(RACE);
        self.in_race = begins || (self.in_race && !line.contains("===="));
        if self.in_race && line.contains(OURS) {
            self.in_race = false;
            return Some(Trouble::Bad);
        }
        if begins {
            return None;
        }
        let is_one_of = |patterns: &[Regex]| patterns.iter().any(|pattern| pattern.is_match(line));
        if is_one_of(&self.fatal) {
            return Some(Trouble::Fatal);
        }
        is_one_of(&self.bad).then_some(Trouble::Bad)
    }

    /// The number of lines so far, for a look at later ones.
    pub(crate) fn position(&self) -> usize {
        self.lines.len()
    }

    /// Whether a line at or after `from` contains this text.
    pub(crate) fn has(&self, from: usize, text: &str) -> bool {
        self.since(from).iter().any(|l| l.contains(text))
    }

    pub(crate) fn since(&self, from: usize) -> &[String] {
        &self.lines[from.min(self.lines.len())..]
    }

    /// The worst trouble at or after `from`.
    pub(crate) fn worst(&self, from: usize) -> Option<Trouble> {
        self.troubles.iter().filter(|(line, _)| *line >= from).map(|(_, t)| *t).max()
    }

    /// The text of the first line of trouble at or after `from`.
    pub(crate) fn first_trouble(&self, from: usize) -> Option<&str> {
        let (line, _) = self.troubles.iter().find(|(line, _)| *line >= from)?;
        Some(&self.lines[*line])
    }

    /// The part of the log at or after `from` that explains its first trouble, or else all of it: at most `most`
    /// lines, from both ends.
    pub(crate) fn excerpt(&self, from: usize, most: usize) -> String {
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
        let of_arm64 = "Internal error: Oops - BUG: 00000000f2000800 [#1] SMP\n";
        assert_eq!(log(of_arm64).worst(0), Some(Trouble::Fatal));
        let oops = "BUG: unable to handle page fault\nOops: 0002 [#1]\n";
        assert_eq!(log(oops).worst(0), Some(Trouble::Fatal));
        assert_eq!(log(oops).worst(2), None, "only from the given line on");
    }

    #[test]
    fn what_kernels_that_look_for_bugs_say_is_trouble() {
        for line in [
            "BUG: KASAN: stack-out-of-bounds in kinst_scan_tasks+0x1f4/0x2d0 [kinst]",
            "WARNING: possible circular locking dependency detected",
            "WARNING: possible recursive locking detected",
            "WARNING: possible irq lock inversion dependency detected",
            "WARNING: inconsistent lock state",
            "WARNING: suspicious RCU usage",
            "WARNING: lock held when returning to user space!",
            "[ BUG: Invalid wait context ]",
            "BUG: MAX_LOCKDEP_CHAINS too low!",
            "turning off the locking correctness validator.",
            "INFO: trying to register non-static key.",
            "BUG: sleeping function called from invalid context at kernel/locking/mutex.c:580",
            "BUG: scheduling while atomic: points/93/0x00000002",
            "BUG: using smp_processor_id() in preemptible [00000000] code: dtrace/101",
            "BUG: spinlock bad magic on CPU#0, dtrace/101",
            "BUG kmalloc-64 (Tainted: G           O      ): Right Redzone overwritten",
            "ODEBUG: free active (active state 0) object type: timer_list hint: f+0x0/0x10",
            "ODEBUG: Out of memory. ODEBUG disabled",
            "UBSAN: array-index-out-of-bounds in kernel/x.c:1:2",
            "list_add corruption. prev->next should be next (x), but was y.\nkernel BUG at lib/list_debug.c:28!",
        ] {
            assert!(log(&format!("[    1.0][   T93] {line}\n")).worst(0).is_some(), "{line}");
        }
    }

    #[test]
    fn of_the_races_ours_are_trouble() {
        let race = |names: &str, frame: &str| {
            let line = "=".repeat(66);
            format!(
                "{line}\nBUG: KCSAN: data-race in {names}\n\nwrite to 0x1 of 8 bytes:\n {frame}\n{line}\n"
            )
        };
        let theirs = race("a / b", "b+0x1/0x2");
        assert_eq!(log(&theirs).worst(0), None);
        assert_eq!(log(&format!("{theirs} f+0x1/0x2 [kinst]\n")).worst(0), None, "the report is over");
        let ours = race("memcpy / memcpy", "kinst_drain+0x1/0x2 [kinst]");
        assert_eq!(log(&ours).first_trouble(0), Some(" kinst_drain+0x1/0x2 [kinst]"));
        let named = log(&race("kinst_fire [kinst] / b", "kinst_fire+0x1/0x2 [kinst]"));
        assert_eq!(named.first_trouble(0), Some("BUG: KCSAN: data-race in kinst_fire [kinst] / b"));
    }

    #[test]
    fn allowed_lines_are_no_trouble() {
        let mut log = log("");
        log.allow(&[Regex::new("WARNING: .* at ours").unwrap()]);
        log.push(b"WARNING: CPU: 0 at ours\nWARNING: CPU: 0 at theirs\n");
        assert_eq!(log.first_trouble(0), Some("WARNING: CPU: 0 at theirs"));
    }
}
