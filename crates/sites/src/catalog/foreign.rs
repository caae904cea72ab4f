//! sites/catalog/foreign.rs: help for probes in the syntax of other tracers, and for providers of other systems.

use kinst_base::diag::{Diagnostic, tags};
use kinst_base::probe::Fields;

/// DTrace providers that do not exist on Linux, and replacements for them.
const ELSEWHERE: &[(&str, &str)] = &[
    ("cpc", "`profile-997` samples by time; perf counts the events of the processor"),
    ("dtmalloc", "trace `sdt:::kmalloc` and `sdt:::kfree`"),
    ("ip", "trace `sdt:::net_dev_xmit` and `sdt:::netif_receive_skb`"),
    ("nfsv3", "trace the functions of the module: `fbt:nfsv3::entry`"),
    ("nfsv4", "trace the functions of the module: `fbt:nfsv4::entry`"),
    ("rawfbt", "`fbt` has them"),
    ("rawtp", "the kernel's tracepoints are `sdt:::NAME`: -l -P sdt"),
    ("tcp", "trace `fbt::tcp_connect:entry`, or a tracepoint: -l -n 'sdt:::tcp_*'"),
    ("udp", "trace `fbt::udp_sendmsg:entry` and `fbt::udp_recvmsg:entry`"),
    ("vfs", "trace `fbt::vfs_*:entry`"),
];

/// Providers of probes in user programs.
const USER: &[&str] = &[
    "hotspot",
    "hotspot_jni",
    "java",
    "mysql",
    "node",
    "objc_runtime",
    "perl",
    "php",
    "plockstat",
    "postgresql",
    "python",
    "ruby",
    "uprobe",
    "uretprobe",
    "usdt",
    "ustack",
];

/// Explains a description without probes that belongs to another tracer or system.
pub(crate) fn refusal(fields: &Fields) -> Option<Diagnostic> {
    let Fields { provider, module, function, name } = fields;
    if !provider.is_empty() {
        return of_provider(provider, fields);
    }
    // Fields are assigned from the right: another tracer's first word may be in any of them.
    let words: Vec<&str> =
        [module, function, name].into_iter().map(String::as_str).skip_while(|word| word.is_empty()).collect();
    let (first, rest) = words.split_first()?;
    of_tracer(first, rest)
}

fn of_provider(provider: &str, fields: &Fields) -> Option<Diagnostic> {
    let Fields { module, function, name, .. } = fields;
    let is_pid = provider.strip_prefix("pid").is_some_and(|rest| rest.bytes().all(|b| b.is_ascii_digit()));
    if is_pid || USER.contains(&provider) {
        let shown = if is_pid { "pid" } else { provider };
        return Some(user_space(shown));
    }
    if let Some((_, instead)) = ELSEWHERE.iter().find(|(known, _)| *known == provider) {
        let title = format!("the provider `{provider}` of other systems does not exist on Linux");
        return Some(Diagnostic::error(tags::PDESC_ZERO, title).help(*instead));
    }
    of_tracer(provider, &[module, function, name])
}

fn user_space(provider: &str) -> Diagnostic {
    let title = format!("no provider `{provider}`: only the kernel is traced, not user space");
    Diagnostic::error(tags::PDESC_ZERO, title)
        .help("system calls of one process: syscall:::entry /pid == $target/ with -p PID or -c COMMAND; ustack() shows where it is")
}

/// Explains `sched:sched_switch`, a tracepoint with its subsystem.
pub(crate) fn tracepoint_of_perf(subsystem: &str, name: &str) -> Diagnostic {
    let title = format!("`{subsystem}:{name}` is perf's syntax for a tracepoint");
    Diagnostic::error(tags::PDESC_ZERO, title).help(format!("write it as {}", tracepoint(name)))
}

/// Explains bpftrace's `kprobe:f`, `tracepoint:sched:sched_switch`, `interval:s:1`, and perf's
/// `syscalls:sys_enter_read`.
fn of_tracer(word: &str, rest: &[&str]) -> Option<Diagnostic> {
    let last = rest.last().copied().filter(|last| !last.is_empty())?;
    let (tracer, here) = match word {
        "kprobe" | "kfunc" | "fentry" => ("bpftrace", format!("fbt::{last}:entry")),
        "kretprobe" | "kretfunc" | "fexit" => ("bpftrace", format!("fbt::{last}:return")),
        "rawtracepoint" => ("bpftrace", format!("sdt:::{last}")),
        "tracepoint" => ("bpftrace", tracepoint(last)),
        "interval" => ("bpftrace", format!("tick-{last}{}", unit(rest)?)),
        "profile" => ("bpftrace", format!("profile-{last}{}", unit(rest)?)),
        "uprobe" | "uretprobe" | "usdt" => return Some(user_space(word)),
        "syscalls" => ("perf", tracepoint(last)),
        _ => return None,
    };
    let title = format!("`{word}:` is {tracer} syntax");
    Some(Diagnostic::error(tags::PDESC_ZERO, title).help(format!("write it as {here}")))
}

fn tracepoint(name: &str) -> String {
    let call = |prefix| name.strip_prefix(prefix).filter(|call: &&str| !call.is_empty());
    match (call("sys_enter_"), call("sys_exit_")) {
        (Some(call), _) => format!("syscall::{call}:entry"),
        (_, Some(call)) => format!("syscall::{call}:return"),
        _ => format!("sdt:::{name}"),
    }
}

/// Returns the unit of `interval:s:1` or `profile:hz:99`.
fn unit<'a>(rest: &[&'a str]) -> Option<&'a str> {
    rest.iter().rev().nth(1).copied().filter(|unit| ["s", "ms", "us", "hz"].contains(unit))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(description: [&str; 4]) -> String {
        let [provider, module, function, name] = description;
        refusal(&Fields::new(provider, module, function, name))
            .map_or_else(String::new, |d| format!("{}; {}", d.title, d.help.join(" ")))
    }

    #[test]
    fn each_is_written_as_it_is_here() {
        for (description, here) in [
            (["", "", "kprobe", "vfs_read"], "write it as fbt::vfs_read:entry"),
            (["", "kretprobe", "ext4", "f"], "write it as fbt::f:return"),
            (["", "tracepoint", "sched", "sched_switch"], "write it as sdt:::sched_switch"),
            (["", "tracepoint", "syscalls", "sys_exit_read"], "write it as syscall::read:return"),
            (["", "", "syscalls", "sys_enter_openat"], "write it as syscall::openat:entry"),
            (["", "interval", "s", "1"], "write it as tick-1s"),
            (["", "profile", "hz", "99"], "write it as profile-99hz"),
            (["usdt", "/bin/x", "a", "b"], "only the kernel is traced"),
            (["pid17", "", "malloc", "entry"], "no provider `pid`: only the kernel"),
        ] {
            assert!(said(description).contains(here), "{description:?}: {}", said(description));
        }
        for other in [["", "", "vfs_raed", "entry"], ["fbt", "", "f", "entry"], ["profile", "", "", "x"]] {
            assert_eq!(said(other), "", "{other:?}");
        }
    }
}
