//! base/reason.rs: why a place cannot be traced: the module's reasons, those without a number, and the words for all.

use crate::uapi;

pub use crate::uapi::Reason;

/// Why an instruction or a function cannot be traced.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}", self.words())]
pub enum Untraceable {
    /// One of the module's reasons; kprobes share some of them.
    Reason(Reason),
    /// A breakpoint that pads the gap between functions.
    Padding,
    /// An instruction that kprobes find undefined.
    Undefined,
}

impl Untraceable {
    /// The words after `cannot be traced: `.
    pub fn words(self) -> &'static str {
        match self {
            Untraceable::Reason(reason) => name(reason),
            Untraceable::Padding => "padding between functions",
            Untraceable::Undefined => "an undefined instruction",
        }
    }
}

/// The text that follows `cannot be traced: `, and an alternative, if any.
struct Row {
    reason: Reason,
    words: &'static str,
    help: &'static str,
}

const fn row(reason: Reason, words: &'static str, help: &'static str) -> Row {
    Row { reason, words, help }
}

const TABLE: &[Row] = &[
    row(Reason::NOFUNC, "no function of the running kernel starts there", ""),
    row(Reason::RANGE, "the offset is beyond the function", ""),
    row(Reason::BOUNDARY, "the offset is inside an instruction", ""),
    row(
        Reason::MISMATCH,
        "the running kernel has another instruction there",
        "the debug file may be of another build: compare the build ids",
    ),
    row(Reason::BLACKLIST, "kprobe blacklist (noinstr or entry code)", ""),
    row(Reason::FTRACE, "inside the ftrace site", "trace the function's entry through fbt"),
    row(
        Reason::JUMP_LABEL,
        "jump label (the kernel rewrites it)",
        "trace the instruction before or after it, or a path across it by three offsets: 36-39-41",
    ),
    row(Reason::STATIC_CALL, "static call (the kernel rewrites it)", ""),
    row(Reason::ALTERNATIVE, "alternative (the kernel rewrites it)", ""),
    row(
        Reason::KPROBE,
        "a kprobe covers it",
        "remove the kprobe first: /sys/kernel/debug/kprobes/list names it",
    ),
    row(Reason::INIT, "init code, freed after boot", ""),
    row(Reason::SELF, "the kinst module itself", ""),
    row(Reason::TRAP_PATH, "it runs on the path to kinst's trap handler", ""),
    row(Reason::NO_TRAP, "it runs where traps are not handled: while a CPU comes up, or from a copy", ""),
    row(Reason::UNDECODABLE, "the instruction cannot be decoded", ""),
    row(Reason::INSN_STI_HLT, "a hlt or mwait instruction", ""),
    row(Reason::INSN_TRAP, "a software interrupt instruction", ""),
    row(Reason::INSN_IRET, "an iret, far transfer or system call instruction", ""),
    row(Reason::INSN_SS, "an instruction that loads %ss", ""),
    row(Reason::INSN_UD, "an undefined instruction (ud2)", ""),
    row(Reason::INSN_PRIV, "a privileged instruction that must run in its place", ""),
    row(
        Reason::INSN_LANDING_PAD,
        "an endbr instruction that indirect branches must find",
        "trace the next instruction",
    ),
    row(Reason::INSN_RSP, "an indirect call through the stack pointer", ""),
    row(
        Reason::INSN_EXCLUSIVE,
        "an exclusive load or store, between the two, or a copy in parts: a trap there breaks it",
        "trace the instruction before or after them",
    ),
    row(Reason::REACH, "its operand is out of reach from a copy", ""),
    row(Reason::NOSLOT, "no slot is free for another probe", "trace fewer places at once"),
    row(Reason::FOREIGN, "another tracer's breakpoint or patch is in the function", ""),
    row(Reason::GONE, "its module is being unloaded", ""),
    row(Reason::NOT_BRANCH, "no branch there goes to the second offset", ""),
    row(
        Reason::LIMIT,
        "too many probes",
        "raise the module's limit: /sys/module/kinst/parameters/max_probes (max_once for -x once)",
    ),
    row(
        Reason::UNSUPPORTED,
        "the module has no such probe at this instruction, or not on this machine",
        "trace it without the module: -x backend=bpf",
    ),
    row(
        Reason::MODEL,
        "not all exits of the function can be determined",
        "trace its return instructions one by one",
    ),
    row(
        Reason::RATE,
        "the timers of all sessions together would fire too often",
        "raise the module's limit: /sys/module/kinst/parameters/max_timer_hz",
    ),
    row(Reason::NOSYSCALL, "the running kernel has no system call of this number", ""),
    row(
        Reason::BUSY,
        "another session has a probe there, and one of the two is removed at its first hit",
        "wait until that session ends",
    ),
    row(Reason::TRACEPOINT, "the kernel does not allow a probe on its tracepoint", ""),
];

/// All reasons, each with its text and its alternative, which may be empty.
pub fn all() -> impl Iterator<Item = (&'static str, &'static str)> {
    TABLE.iter().map(|row| (row.words, row.help))
}

/// Returns the text for a probe's result.
pub fn words(result: &uapi::Result) -> String {
    let reason = Reason(result.reason);
    match TABLE.iter().find(|row| row.reason == reason) {
        Some(row) if reason == Reason::BOUNDARY => {
            format!("{}: the nearest are {} and {}", row.words, result.prev, result.next)
        }
        Some(row) => row.words.to_owned(),
        None => format!("reason {}", result.reason),
    }
}

/// Returns the alternative for a reason.
pub fn help(reason: Reason) -> Option<&'static str> {
    TABLE.iter().find(|row| row.reason == reason).map(|row| row.help).filter(|help| !help.is_empty())
}

/// Returns the text without the facts of one result.
pub fn name(reason: Reason) -> &'static str {
    TABLE.iter().find(|row| row.reason == reason).map_or("unknown reason", |row| row.words)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_reason_has_words() {
        for code in 1..Reason::MAX.0 {
            assert_ne!(name(Reason(code)), "unknown reason", "{code}");
        }
    }
}
