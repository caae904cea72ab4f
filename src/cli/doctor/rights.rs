//! cli/doctor/rights.rs: the privileges of the process, and whether the kernel shows it addresses.

use super::finding::Finding;
use super::machine::Machine;
use std::io::Read as _;

const CAP_SYS_ADMIN: u32 = 21;

/// The device requires root's file permissions, and CAP_SYS_ADMIN in the initial user namespace.
pub(super) fn rights(machine: &Machine) -> Option<Finding> {
    if !machine.root {
        return Some(match machine.traces() {
            true => Finding::good("not root, but with the capabilities that tracing needs"),
            false => Finding::fault("not root").mend("sudo dtrace doctor"),
        });
    }
    let status = Machine::read("/proc/self/status")?;
    let Some(capabilities) = effective(&status) else {
        return Some(Finding::warning("root; /proc/self/status does not show its capabilities"));
    };
    let mapped = Machine::read("/proc/self/uid_map").unwrap_or_default();
    if mapped.split_whitespace().nth(2).is_some_and(|count| count != "4294967295") {
        let found = "root of a user namespace, as in a container: tracing needs root of the host";
        return Some(Finding::hindrance(found, machine).then("run it outside the container"));
    }
    if capabilities & (1 << CAP_SYS_ADMIN) == 0 {
        let found = "root without CAP_SYS_ADMIN, as in a container";
        let then = "run it from a shell with all of root's capabilities";
        return Some(Finding::hindrance(found, machine).then(then));
    }
    Some(Finding::good("root with CAP_SYS_ADMIN"))
}

/// Returns the first lines of /proc/kallsyms: the whole file takes the kernel a second to write.
fn first_symbols() -> Option<String> {
    let mut bytes = Vec::new();
    std::fs::File::open("/proc/kallsyms").ok()?.take(4096).read_to_end(&mut bytes).ok()?;
    // The last line may be truncated.
    let end = bytes.iter().rposition(|byte| *byte == b'\n')?;
    Some(String::from_utf8_lossy(&bytes[..end]).into_owned())
}

/// Returns the effective capabilities in the text of /proc/PID/status.
fn effective(status: &str) -> Option<u64> {
    let set = status.lines().find_map(|line| line.strip_prefix("CapEff:"))?;
    u64::from_str_radix(set.trim(), 16).ok()
}

/// Returns the reason why function addresses are hidden, in which case no probe can be placed on a function.
pub(super) fn hidden() -> Option<String> {
    let Some(symbols) = first_symbols() else { return Some("/proc/kallsyms cannot be read".to_owned()) };
    let shown = symbols.lines().any(|line| !line.starts_with("0000000000000000"));
    (!shown).then(|| format!("/proc/kallsyms has only zeros (kernel.kptr_restrict is {})", restrict()))
}

fn restrict() -> String {
    Machine::read("/proc/sys/kernel/kptr_restrict").unwrap_or_default()
}

pub(super) fn addresses(machine: &Machine) -> Option<Finding> {
    let Some(found) = hidden() else {
        let restrict = restrict();
        let found = format!("/proc/kallsyms shows them (kernel.kptr_restrict is {restrict})");
        return Some(Finding::good(found));
    };
    if first_symbols().is_none() {
        return Some(Finding::warning(found).then("boot a kernel with CONFIG_KALLSYMS"));
    }
    if !machine.root {
        return Some(Finding::warning("hidden from all but root").mend("sudo dtrace doctor"));
    }
    Some(match restrict().as_str() {
        "2" => Finding::warning(found).mend("sysctl -w kernel.kptr_restrict=1"),
        _ => Finding::warning(found).then("run it with CAP_SYSLOG, and without kernel lockdown"),
    })
}

#[cfg(test)]
mod tests {
    use super::effective;

    #[test]
    fn capabilities_of_a_status() {
        assert_eq!(effective("Name:\tx\nCapEff:\t000001ffffffffff\n"), Some(0x1ff_ffff_ffff));
        assert_eq!(effective("CapEff:\tx\n"), None);
        assert_eq!(effective(""), None);
    }
}
