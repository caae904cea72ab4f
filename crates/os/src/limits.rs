//! os/limits.rs: resource limits that are lifted for this process, but not for the commands that it starts.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use std::os::unix::process::CommandExt;
use std::process::Command;
use std::sync::{Mutex, PoisonError};

/// The lifted limits, with their previous values.
static LIFTED: Mutex<Vec<(Resource, Rlimit)>> = Mutex::new(Vec::new());

/// Lifts the limit of locked memory, which BPF maps count towards before Linux 5.11. Without permission the
/// limit stays.
pub fn lift_memory() {
    lift(Resource::Memlock, Rlimit { current: None, maximum: None });
}

/// Lets this process have as many descriptors as it may: each BPF program takes one, and each place of a
/// clock or tracepoint another.
pub fn lift_descriptors() {
    const WANTED: u64 = 1 << 16;
    let limit = getrlimit(Resource::Nofile);
    let most = limit.maximum.map_or(WANTED, |most| most.max(WANTED));
    let lifted = |most| Rlimit { current: Some(most), maximum: Some(most) };
    // Raising the hard limit needs privileges.
    if !lift(Resource::Nofile, lifted(most))
        && let Some(maximum) = limit.maximum
    {
        lift(Resource::Nofile, lifted(maximum));
    }
}

/// Returns whether the limit was lifted.
fn lift(resource: Resource, to: Rlimit) -> bool {
    let before = getrlimit(resource);
    let done = setrlimit(resource, to).is_ok();
    let mut lifted = LIFTED.lock().unwrap_or_else(PoisonError::into_inner);
    if done && !lifted.iter().any(|(known, _)| *known == resource) {
        lifted.push((resource, before));
    }
    done
}

/// Gives a command the limits that this process began with.
pub fn as_before(command: &mut Command) {
    let lifted = LIFTED.lock().unwrap_or_else(PoisonError::into_inner).clone();
    // SAFETY: between fork and exec only system calls on limits are made.
    unsafe {
        command.pre_exec(move || {
            lifted.iter().try_for_each(|(resource, limit)| Ok(setrlimit(*resource, *limit)?))
        });
    }
}
