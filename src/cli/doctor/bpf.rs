//! cli/doctor/bpf.rs: the requirements of tracing without the module, and the leftovers of killed sessions.

use super::finding::Finding;
use super::machine::Machine;
use crate::backend::bpf::{self, EnableError, Uprobes};
use kinst_sites::uprobe::Nop5;

/// Whether places in programs of this machine can have probes.
const TRACES_PROGRAMS: bool = cfg!(target_arch = "x86_64");

/// Whether BPF programs can trace in place of the module.
pub(super) fn usable(machine: &Machine) -> Option<Finding> {
    Some(match &machine.bpf {
        Ok(_) => Finding::good("the kernel's BPF traces (-x backend=bpf)"),
        Err(EnableError::Rights(_)) if !machine.root => return None,
        Err(error) => {
            let finding = Finding::hindrance(format!("not possible: {error}"), machine);
            match error.help() {
                Some(help) => finding.then(help),
                None => finding,
            }
        }
    })
}

/// The events and links that attach BPF programs to the kernel's functions.
pub(super) fn functions(machine: &Machine) -> Option<Finding> {
    let means = machine.bpf.as_ref().ok()?;
    let ways =
        [("kprobe events", &means.kprobes), ("fentry", means.fentry()), ("kprobe.multi", &means.multi)];
    let there = ways.iter().filter(|(_, way)| way.is_ok()).map(|(name, _)| *name);
    let there = there.collect::<Vec<_>>().join(", ");
    let lacking = ways.iter().filter_map(|(name, way)| Some(format!("{name}: {}", way.as_ref().err()?)));
    let lacking = lacking.collect::<Vec<_>>().join("; ");
    Some(match (there.as_str(), &means.kprobes) {
        ("", _) => Finding::warning(format!("none can be traced ({lacking})")),
        (_, Ok(())) => Finding::good(format!("all, and their instructions, by {there}")),
        (_, Err(_)) => Finding::warning(format!("entries and returns, by {there} ({lacking})")),
    })
}

/// The links that attach BPF programs to instructions of programs.
pub(super) fn programs(machine: &Machine) -> Option<Finding> {
    let means = machine.bpf.as_ref().ok()?;
    if !TRACES_PROGRAMS {
        return Some(Finding::warning("cannot be traced: that is possible on x86-64 only"));
    }
    Some(match means.programs() {
        Ok(Uprobes::Multi) => Finding::good("traced by uprobe.multi"),
        Ok(Uprobes::Events(_)) => {
            Finding::good("traced by perf events; a kernel from 6.6 on has uprobe.multi, which is faster")
        }
        Err(why) => Finding::warning(format!("cannot be traced: {why}")),
    })
}

/// Whether the kernel preserves the stack of a program at a probed nop, tested in a process.
pub(super) fn nops(machine: &Machine) -> Option<Finding> {
    machine.bpf.as_ref().ok()?.programs().as_ref().ok().filter(|_| TRACES_PROGRAMS)?;
    const NOT_PLACED: &str = "no probe is placed there";
    Some(match bpf::nop5() {
        Nop5::Kept => Finding::good("nops of five bytes can have probes"),
        Nop5::Overwritten => Finding::warning(format!(
            "at a probed nop of five bytes this kernel overwrites the program's stack; {NOT_PLACED}"
        )),
        Nop5::Unknown(why) => {
            Finding::warning(format!("probes at nops of five bytes were not tested: {why}; {NOT_PLACED}"))
        }
    })
}

/// The events left by sessions that no longer exist.
pub(super) fn events(machine: &Machine) -> Option<Finding> {
    if !machine.root {
        return None;
    }
    let left = match bpf::left_over() {
        Ok(left) => left,
        Err(EnableError::Tracefs) => return Some(Finding::good(super::tracers::NO_TRACEFS)),
        Err(EnableError::KprobeEvents) => return None,
        Err(error) => {
            return Some(Finding::warning(error.to_string()).then(error.help().unwrap_or_default()));
        }
    };
    if left.is_empty() {
        return Some(Finding::good("none left by killed sessions"));
    }
    let places: usize = left.values().sum();
    let found = format!("{} at {places} places, left by killed sessions", left.len());
    Some(Finding::warning(found).mend(format!("dtrace {} 0 </dev/null", bpf::sweep::WORD)))
}
