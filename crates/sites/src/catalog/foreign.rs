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
    ("plockstat", "trace the functions of the library: `pid$target:libc:pthread_mutex_lock:entry`"),
    ("rawfbt", "`fbt` has them"),
    ("rawtp", "the kernel's tracepoints are `sdt:::NAME`: -l -P sdt"),
    ("tcp", "trace `fbt::tcp_connect:entry`, or a tracepoint: -l -n 'sdt:::tcp_*'"),
    ("udp", "trace `fbt::udp_sendmsg:entry` and `fbt::udp_recvmsg:entry`"),
    ("vfs", "trace `fbt::vfs_*:entry`"),
];

/// Providers of static probes in programs, on other systems and in other tracers.
const STATIC: &[&str] = &[
    "hotspot",
    "hotspot_jni",
    "java",
    "mysql",
    "node",
    "objc_runtime",
    "perl",
    "php",
    "postgresql",
    "python",
    "ruby",
    "ustack",
];

/// Words by which other tracers call the probes of programs.
const OF_PROGRAMS: &[&str] = &["process", "uprobes", "user", "usr", "uprobe_multi"];

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
    if STATIC.contains(&provider.trim_end_matches('*')) {
        return Some(static_probe(provider, name));
    }
    if OF_PROGRAMS.contains(&provider) {
        return Some(of_programs(provider));
    }
    if provider == "uretprobe" {
        let function = [function, name].into_iter().find(|word| !word.is_empty())?;
        return in_bpftrace(provider, module, function);
    }
    if let Some((_, instead)) = ELSEWHERE.iter().find(|(known, _)| *known == provider) {
        let title = format!("the provider `{provider}` of other systems does not exist on Linux");
        return Some(Diagnostic::error(tags::PDESC_ZERO, title).help(*instead));
    }
    of_tracer(provider, &[module, function, name])
}

/// A static probe without its program: `python:::line`, `mysql*:::query-start`.
fn static_probe(provider: &str, name: &str) -> Diagnostic {
    let word = provider.trim_end_matches('*');
    let title = format!("no provider `{provider}`: static probes are those of a process, or of a file");
    Diagnostic::error(tags::PDESC_ZERO, title)
        .help(format!("one process: {word}1234:::{name}, or {word}$target with -p PID or -c COMMAND"))
        .help(format!("all processes of a file, now and later: usdt:/PATH:{word}:{name}"))
}

/// Explains bpftrace's `usdt:/usr/bin/x:name`.
fn static_in_bpftrace(file: &str, name: &str) -> Diagnostic {
    let file = if file.starts_with('/') { file.to_owned() } else { format!("/PATH/{file}") };
    Diagnostic::error(tags::PDESC_ZERO, "`usdt:FILE:PROBE` is bpftrace syntax")
        .help(format!("write it as usdt:{file}::{name}"))
}

fn of_programs(provider: &str) -> Diagnostic {
    let title = format!("no provider `{provider}`: functions of programs belong to pid and uprobe");
    Diagnostic::error(tags::PDESC_ZERO, title)
        .help("one process: pid1234:a.out:main:entry, or pid$target with -p PID or -c COMMAND")
        .help("all processes of a program, now and later: uprobe:/usr/bin/bash:main:entry")
}

/// Explains bpftrace's `uprobe:/bin/bash:readline`, `uretprobe:/bin/bash:readline` and `uprobe:/bin/bash:readline+8`.
fn in_bpftrace(word: &str, file: &str, place: &str) -> Option<Diagnostic> {
    if word == "uprobe" && matches!(place, "entry" | "return") {
        return None;
    }
    let (function, name) = match (word, place.split_once('+'), number(place)) {
        ("uretprobe", ..) => (place, "return".to_owned()),
        (_, Some((function, offset)), _) => (function, format!("{:x}", number(offset)?)),
        (_, _, Some(address)) => ("-", format!("{address:x}")),
        _ => (place, "entry".to_owned()),
    };
    let title = format!("`{word}:FILE:FUNCTION` is bpftrace syntax");
    let error = Diagnostic::error(tags::PDESC_ZERO, title);
    Some(error.help(format!("write it as {}:{function}:{name}", in_file(file))))
}

/// Explains perf's `probe_bash:readline` and `probe_bash:readline__return`, events of `perf probe -x`.
fn event_of_perf(file: &str, event: &str) -> Diagnostic {
    let (function, name) = match event.strip_suffix("__return") {
        Some(function) => (function, "return"),
        None => (event, "entry"),
    };
    let title = format!("`probe_{file}:` is perf's syntax for an event of a program");
    Diagnostic::error(tags::PDESC_ZERO, title)
        .help(format!("write it as {}:{function}:{name}", in_file(file)))
}

/// Provider and module of a file; the folder of a name is left to the reader.
fn in_file(file: &str) -> String {
    match file.starts_with('/') {
        true => format!("uprobe:{file}"),
        false => format!("uprobe:/PATH/{file}"),
    }
}

/// Parses a number of bpftrace, which is decimal without `0x`.
fn number(text: &str) -> Option<u64> {
    match text.strip_prefix("0x") {
        Some(digits) => u64::from_str_radix(digits, 16).ok(),
        None => text.parse().ok(),
    }
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
        "uprobe" | "uretprobe" => return in_bpftrace(word, rest.iter().rev().nth(1)?, last),
        "usdt" => return Some(static_in_bpftrace(rest.iter().rev().nth(1)?, last)),
        _ if STATIC.contains(&word) => return Some(static_probe(word, last)),
        _ if OF_PROGRAMS.contains(&word) => return Some(of_programs(word)),
        "syscalls" => ("perf", tracepoint(last)),
        _ => return word.strip_prefix("probe_").map(|file| event_of_perf(file, last)),
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
            (["", "usdt", "/bin/x", "b"], "write it as usdt:/bin/x::b"),
            (["", "usdt", "x", "b"], "write it as usdt:/PATH/x::b"),
            (["python", "", "", "line"], "one process: python1234:::line"),
            (["mysql*", "", "", "query-start"], "usdt:/PATH:mysql:query-start"),
            (["", "", "python", "line"], "one process: python1234:::line"),
            (["plockstat", "", "", "lock"], "pid$target:libc:pthread_mutex_lock:entry"),
            (["process", "", "main", "entry"], "pid1234:a.out:main:entry"),
            (["", "uprobe", "/bin/bash", "readline"], "write it as uprobe:/bin/bash:readline:entry"),
            (["", "uretprobe", "/bin/bash", "readline"], "write it as uprobe:/bin/bash:readline:return"),
            (["uretprobe", "/bin/bash", "readline", "entry"], "write it as uprobe:/bin/bash:readline:return"),
            (["", "uprobe", "/bin/bash", "readline+16"], "write it as uprobe:/bin/bash:readline:10"),
            (["", "uprobe", "/bin/bash", "0x401a3f"], "write it as uprobe:/bin/bash:-:401a3f"),
            (["", "uprobe", "libc", "malloc"], "write it as uprobe:/PATH/libc:malloc:entry"),
            (["", "", "probe_bash", "readline"], "write it as uprobe:/PATH/bash:readline:entry"),
            (["", "", "probe_bash", "readline__return"], "write it as uprobe:/PATH/bash:readline:return"),
        ] {
            assert!(said(description).contains(here), "{description:?}: {}", said(description));
        }
        for other in [
            ["", "", "vfs_raed", "entry"],
            ["fbt", "", "f", "entry"],
            ["profile", "", "", "x"],
            ["", "uprobe", "f", "entry"],
        ] {
            assert_eq!(said(other), "", "{other:?}");
        }
    }
}
