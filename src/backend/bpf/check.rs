//! backend/bpf/check.rs: whether the kernel runs BPF programs, and leftovers of earlier sessions.

use super::error::EnableError;
use super::events::{Tracefs, Whose};
use super::memory::Reader;
use kinst_os::limits;
use std::collections::BTreeMap;

/// Checks that the kernel runs programs that read its memory.
pub fn check() -> Result<(), EnableError> {
    const LOCKDOWN: &str = "/sys/kernel/security/lockdown";
    let locked = std::fs::read_to_string(LOCKDOWN).is_ok_and(|levels| levels.contains("[confidentiality]"));
    if locked {
        return Err(EnableError::Lockdown);
    }
    limits::lift_memory();
    match Reader::new() {
        Ok(_) => Ok(()),
        // The helper is missing if the lockdown level is not shown.
        Err(EnableError::Verifier { log }) if log.contains("probe_read") => Err(EnableError::Lockdown),
        Err(error) => Err(error),
    }
}

/// The events of sessions whose process has ended, each with the number of its places.
pub fn left_over() -> Result<BTreeMap<String, usize>, EnableError> {
    Ok(Tracefs::find()?.counted(Whose::Gone))
}

/// Returns the number of possible CPUs.
pub fn possible_cpus() -> std::io::Result<u32> {
    let last = kinst_os::cpus("possible")?.last().copied();
    last.and_then(|last| last.checked_add(1)).ok_or_else(|| std::io::Error::other("not a list of CPUs"))
}
