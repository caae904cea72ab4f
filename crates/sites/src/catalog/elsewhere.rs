//! sites/catalog/elsewhere.rs: probes of other systems whose providers exist on Linux, and their replacements.

use kinst_base::diag::{Diagnostic, tags};
use kinst_base::glob::Pattern;
use kinst_base::probe::Fields;

/// System calls of other systems, by the names in their programs and scripts, with the Linux equivalent.
const CALLS: &[(&str, &str)] = &[
    ("creat64", "openat"),
    ("exec", "execve"),
    ("exece", "execve"),
    ("fdsync", "fsync"),
    ("fork1", "clone"),
    ("forkall", "clone"),
    ("forksys", "clone"),
    ("fstat64", "fstat"),
    ("fstatat", "newfstatat"),
    ("fstatat64", "newfstatat"),
    ("fxstat", "fstat"),
    ("getdents_nocancel", "getdents64"),
    ("llseek", "lseek"),
    ("lstat64", "newfstatat"),
    ("lwp_create", "clone"),
    ("lwp_exit", "exit"),
    ("lwp_kill", "tgkill"),
    ("lwp_park", "futex"),
    ("lwp_sigmask", "rt_sigprocmask"),
    ("lxstat", "newfstatat"),
    ("mmap64", "mmap"),
    ("open64", "openat"),
    ("open_nocancel", "openat"),
    ("openat64", "openat"),
    ("pollsys", "poll"),
    ("pread", "pread64"),
    ("pwrite", "pwrite64"),
    ("read_nocancel", "read"),
    ("recv", "recvfrom"),
    ("rexit", "exit_group"),
    ("send", "sendto"),
    ("sigaction", "rt_sigaction"),
    ("so_socket", "socket"),
    ("stat64", "newfstatat"),
    ("vforksys", "vfork"),
    ("wait", "wait4"),
    ("waitsys", "waitid"),
    ("write_nocancel", "write"),
    ("xstat", "newfstatat"),
];

/// Linux system calls whose C library function makes a different call.
const LIBRARY: &[(&str, &str)] = &[
    ("exit", "exit_group"),
    ("fork", "clone"),
    ("getdents", "getdents64"),
    ("lstat", "newfstatat"),
    ("nanosleep", "clock_nanosleep"),
    ("open", "openat"),
    ("select", "pselect6"),
    ("stat", "newfstatat"),
];

/// Provider, probe, and the nearest replacement.
const PROBES: &[(&str, &str, &str)] = &[
    ("io", "wait-start", "sched:::off-cpu /curthread->in_iowait/"),
    ("io", "wait-done", "sched:::on-cpu, after sched:::off-cpu /curthread->in_iowait/"),
    ("proc", "exec", "syscall::execve:entry"),
    ("proc", "exec-failure", "syscall::execve:return /errno != 0/"),
    ("proc", "fault", "sdt:::page_fault_user"),
    ("proc", "lwp-start", "fbt::schedule_tail:entry, the first that a new thread runs"),
    ("proc", "signal-clear", "syscall::rt_sigtimedwait:return"),
    ("proc", "start", "fbt::schedule_tail:entry, the first that a new thread runs"),
    ("sched", "change-pri", "fbt::set_user_nice:entry, or sdt:::sched_pi_setprio"),
    ("sched", "cpucaps-sleep", "fbt::throttle_cfs_rq:entry"),
    ("sched", "dequeue", "sched:::on-cpu, in the thread"),
    ("sched", "enqueue", "sdt:::sched_wakeup and sdt:::sched_wakeup_new, with the thread as args[0]"),
    ("sched", "remain-cpu", "fbt::schedule:return; sdt:::sched_switch fires only where another thread runs"),
    ("sched", "schedctl-yield", "syscall::sched_yield:entry"),
    ("sched", "surrender", "sched:::preempt"),
    ("sched", "tick", "profile-97"),
    ("sdt", "callout-end", "sdt:::timer_expire_exit"),
    ("sdt", "callout-start", "sdt:::timer_expire_entry"),
    ("sdt", "interrupt-complete", "sdt:::irq_handler_exit"),
    ("sdt", "interrupt-start", "sdt:::irq_handler_entry"),
];

/// Returns the Linux equivalent of another system's call.
pub(crate) fn call(name: &str) -> Option<&'static str> {
    CALLS.iter().find(|(other, _)| *other == name).map(|(_, here)| *here)
}

/// Returns the call that the C library's function of this name makes.
pub(crate) fn made_by_the_library(name: &str) -> Option<&'static str> {
    LIBRARY.iter().find(|(function, _)| *function == name).map(|(_, call)| *call)
}

/// Returns the nearest replacement of a probe that Linux does not have.
pub(crate) fn nearest(provider: &str, name: &str) -> Option<&'static str> {
    let found = PROBES.iter().find(|(of, probe, _)| (*of, *probe) == (provider, name));
    found.map(|(.., nearest)| *nearest)
}

/// Returns warnings about probed system calls that Linux programs rarely make because the C library makes
/// another one that is not probed; each with the index of the description.
pub fn seldom_made(described: &[Fields]) -> Vec<(usize, Diagnostic)> {
    let calls = described.iter().enumerate().filter(|(_, fields)| fields.provider == "syscall");
    let probed = |call: &str| calls.clone().any(|(_, fields)| Pattern::new(&fields.function).matches(call));
    let mut warned: Vec<&str> = Vec::new();
    let mut warnings = Vec::new();
    for (number, Fields { function, name, .. }) in calls.clone() {
        let Some(call) = made_by_the_library(function).filter(|call| !probed(call)) else { continue };
        if warned.contains(&function.as_str()) {
            continue;
        }
        warned.push(function);
        let title =
            format!("few programs make the system call `{function}`: glibc's {function}() makes {call}");
        let help =
            format!("probe syscall::{call}:{name} as well; -lv -n syscall::{call}:entry lists its arguments");
        warnings.push((number, Diagnostic::warning(tags::PDESC_ZERO, title).help(help)));
    }
    warnings
}

#[cfg(test)]
mod tests {
    use super::*;

    fn warned(calls: &[&str]) -> Vec<String> {
        let described = calls.iter().map(|call| Fields::new("syscall", "", call, "entry"));
        let warnings = seldom_made(&described.collect::<Vec<_>>());
        warnings.into_iter().map(|(_, warning)| warning.title).collect()
    }

    #[test]
    fn a_call_that_the_library_does_not_make_is_warned_of_once() {
        let open = "few programs make the system call `open`: glibc's open() makes openat";
        assert_eq!(warned(&["open", "open", "read"]), [open]);
        for quiet in [&["open", "openat"][..], &["open*"], &["open", "open*"], &["", "open"], &["read"]] {
            assert!(warned(quiet).is_empty(), "{quiet:?}");
        }
        assert_eq!(warned(&["stat", "fork"]).len(), 2);
    }

    #[test]
    fn rows_are_in_order_and_name_other_things() {
        assert!(CALLS.is_sorted() && LIBRARY.is_sorted() && PROBES.is_sorted_by_key(|(of, ..)| of));
        assert_eq!((call("exece"), call("read")), (Some("execve"), None));
        assert!(nearest("io", "wait-start").is_some() && nearest("io", "start").is_none());
    }
}
