//! cli/doctor/tracers.rs: other active tracers. They do not stop a trace, but their kprobes exclude functions from it.

use super::finding::Finding;
use super::machine::Machine;
use std::path::Path;

const TRACING: &str = "/sys/kernel/tracing";

/// The function at which our module has a kprobe.
const OWN: &str = "arch_optimize_kprobes";

/// A note, not a fault: a run that needs tracefs mounts it.
pub(super) const NO_TRACEFS: &str = "unknown: tracefs is not mounted; dtrace mounts it when needed";

/// Kprobes in debugfs's list. A command can remove those that are in kprobe_events.
pub(super) fn kprobes(machine: &Machine) -> Option<Finding> {
    let Some(list) = Machine::read("/sys/kernel/debug/kprobes/list") else {
        let mounted = Path::new("/sys/kernel/debug/kprobes").exists();
        let here = machine.bpf.as_ref().is_ok_and(|means| means.kprobes.is_ok()) || machine.module.is_ok();
        return (machine.root && !mounted && here).then(|| {
            Finding::warning("unknown: debugfs is not mounted")
                .mend("mount -t debugfs none /sys/kernel/debug")
        });
    };
    let others = |line: &&str| !symbol(line).is_some_and(|symbol| symbol.starts_with(OWN));
    let list: Vec<&str> = list.lines().filter(others).collect();
    if list.is_empty() {
        return Some(Finding::good("none"));
    }
    let found = format!("{}: functions that have one cannot be traced inside", names(&list, symbol));
    let events = Machine::read(&format!("{TRACING}/kprobe_events")).unwrap_or_default();
    Some(match events.is_empty() {
        true => Finding::warning(found).then("stop the tracer that set them (bpftrace, perf, SystemTap)"),
        false => Finding::warning(found).mend(format!(
            "for f in {TRACING}/events/*probes/enable; do echo 0 >$f; done; echo >{TRACING}/kprobe_events"
        )),
    })
}

/// Returns the place of a kprobe: `vfs_read+0x0` in `ffffffff81000000  k  vfs_read+0x0    [FTRACE]`.
fn symbol(line: &str) -> Option<&str> {
    line.split_whitespace().nth(2)
}

/// Functions with ftrace callbacks of other tracers.
pub(super) fn functions(machine: &Machine) -> Option<Finding> {
    let Some(tracer) = Machine::read(&format!("{TRACING}/current_tracer")) else {
        let mounted = Path::new(TRACING).join("README").exists();
        return (machine.root && !mounted && Path::new(TRACING).exists()).then(|| Finding::good(NO_TRACEFS));
    };
    if tracer != "nop" {
        let found = format!("the tracer '{tracer}' is on, which slows down all traced functions");
        return Some(Finding::warning(found).mend(format!("echo nop >{TRACING}/current_tracer")));
    }
    let enabled = Machine::read(&format!("{TRACING}/enabled_functions")).unwrap_or_default();
    if enabled.is_empty() {
        return Some(Finding::good("none"));
    }
    let count = enabled.lines().filter(|line| !line.is_empty()).count();
    Some(Finding::good(format!("{count} functions have ftrace callbacks; they do not interfere")))
}

/// BPF programs that processes hold open.
pub(super) fn bpf(machine: &Machine) -> Option<Finding> {
    if !machine.root {
        return None;
    }
    let processes = std::fs::read_dir("/proc").ok()?.flatten().map(|entry| entry.path());
    let files =
        processes.filter_map(|process| std::fs::read_dir(process.join("fd")).ok()).flatten().flatten();
    let links = files.filter_map(|file| std::fs::read_link(file.path()).ok());
    let programs = links.filter(|link| link.as_os_str() == "anon_inode:bpf-prog").count();
    Some(match programs {
        0 => Finding::good("none held by a process"),
        count => Finding::good(format!("{count} held by processes; they do not interfere")),
    })
}

/// Returns the length of a list and its first few names.
fn names<'a>(list: &[&'a str], name: impl Fn(&'a str) -> Option<&'a str>) -> String {
    const SHOWN: usize = 3;
    let all: Vec<&str> = list.iter().copied().filter_map(name).collect();
    let more = if all.len() > SHOWN { " …" } else { "" };
    format!("{} ({}{more})", all.len(), all.iter().take(SHOWN).copied().collect::<Vec<_>>().join(", "))
}

#[cfg(test)]
mod tests {
    use super::{names, symbol};

    #[test]
    fn places_of_kprobes() {
        let list = ["ffffffff81000000  k  vfs_read+0x0    [FTRACE]", "ffffffff81000010  r  vfs_open+0x4"];
        assert_eq!(names(&list, symbol), "2 (vfs_read+0x0, vfs_open+0x4)");
        assert_eq!(names(&["a b c", "a b c", "a b c", "a b d"], symbol), "4 (c, c, c …)");
        assert_eq!(names(&["cut"], symbol), "0 ()");
    }
}
