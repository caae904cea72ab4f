//! cli/doctor/bpf.rs: what tracing without the module needs, and what killed sessions have left.

use super::{Finding, Machine};
use crate::driver::bpf::{self, EnableError};

/// Whether dtrace traces without the module where that is missing.
pub fn stands_in(machine: &Machine) -> bool {
    machine.root && bpf::check().is_ok()
}

/// Whether programs of BPF can do the module's work.
pub fn usable(machine: &Machine) -> Option<Finding> {
    if !machine.root {
        return None;
    }
    Some(match bpf::check() {
        Ok(()) => Finding::good("possible with -x backend=bpf: programs of BPF can read the kernel's memory"),
        Err(error) => {
            let finding = Finding::warning(format!("not possible: {error}"));
            match error.help() {
                Some(help) => finding.then(help),
                None => finding,
            }
        }
    })
}

/// The kernel's events at instructions, which programs of BPF run at, and those of sessions that are not there any more.
pub fn events(machine: &Machine) -> Option<Finding> {
    if !machine.root {
        return None;
    }
    let left = match bpf::left_over() {
        Ok(left) => left,
        Err(error @ EnableError::Tracefs) => {
            return Some(Finding::warning(error.to_string()).mend_if(error.help().map(str::to_owned)));
        }
        Err(error) => {
            return Some(Finding::warning(error.to_string()).then(error.help().unwrap_or_default()));
        }
    };
    if left.is_empty() {
        return Some(Finding::good("none left by a session that was killed"));
    }
    let places: usize = left.values().sum();
    let found = format!("{} at {places} places, left by a session that was killed", left.len());
    Some(Finding::warning(found).mend(format!("dtrace {} 0 </dev/null", bpf::sweep::WORD)))
}
