//! cli/doctor/kernel.rs: kernel settings that restrict tracing: lockdown, signatures, disabled ftrace and kprobes.

use super::finding::Finding;
use super::machine::Machine;
use kinst_host::distribution::Part;
use kinst_host::module;
use std::path::Path;

const LOCKDOWN: &str = "/sys/kernel/security/lockdown";
const EFI: &str = "/sys/firmware/efi";
/// The file starts with four bytes of attributes, before the value.
const SECURE_BOOT: &str = "/sys/firmware/efi/efivars/SecureBoot-8be4df61-93ca-11d2-aa0d-00e098032b8c";

pub(super) fn secure_boot(_: &Machine) -> Option<Finding> {
    if !Path::new(EFI).exists() {
        return Some(Finding::good("none: the machine was not booted by UEFI"));
    }
    Some(match std::fs::read(SECURE_BOOT).ok().and_then(|bytes| bytes.get(4).copied()) {
        Some(1) => Finding::good("on: the module must be signed with an enrolled key"),
        Some(_) => Finding::good("off"),
        None => Finding::good("unknown: the firmware has no variable SecureBoot"),
    })
}

/// Returns the level in brackets: `none [integrity] confidentiality`.
fn level(text: &str) -> Option<&str> {
    text.split_whitespace().find_map(|word| word.strip_prefix('[')?.strip_suffix(']'))
}

pub(super) fn lockdown(machine: &Machine) -> Option<Finding> {
    let Some(text) = Machine::read(LOCKDOWN) else {
        let mounted = std::fs::read_dir("/sys/kernel/security").is_ok_and(|mut dir| dir.next().is_some());
        if mounted || !Path::new("/sys/kernel/security").exists() {
            return Some(Finding::good("none: the kernel has no lockdown"));
        }
        let found = "unknown: securityfs is not mounted";
        return Some(Finding::warning(found).mend("mount -t securityfs none /sys/kernel/security"));
    };
    let lift = |finding: Finding| {
        let by_command_line = Machine::read("/proc/cmdline").is_some_and(|line| line.contains("lockdown="));
        match by_command_line {
            true => finding.mend_if(machine.family.remove_parameter("lockdown")).then("reboot"),
            false if Path::new(SECURE_BOOT).exists() => {
                finding.mend("mokutil --disable-validation").then("reboot, and confirm it in MokManager")
            }
            false => finding.then("reboot: lockdown cannot be lifted while the kernel runs"),
        }
    };
    Some(match level(&text) {
        Some("none") => Finding::good("none"),
        Some("integrity") => lift(Finding::warning(
            "integrity: the module refuses programs with -w; without the module they run, except copyout()",
        )),
        Some(level) => {
            let found = format!("{level}: the kernel's memory cannot be read");
            lift(Finding::hindrance(found, machine))
        }
        None => Finding::warning(format!("unknown: {LOCKDOWN} contains '{text}'")),
    })
}

/// Whether the kernel requires signatures, and whether the module's signature is accepted.
pub(super) fn signatures(machine: &Machine) -> Option<Finding> {
    let enforced = Machine::read("/sys/module/module/parameters/sig_enforce").as_deref() == Some("Y");
    let locked = Machine::read(LOCKDOWN).and_then(|text| Some(level(&text)? != "none")).unwrap_or(false);
    if !enforced && !locked {
        return Some(Finding::good("not required"));
    }
    let by = if enforced { "module.sig_enforce" } else { "lockdown" };
    if module::is_loaded() {
        return Some(Finding::good(format!("required by {by}; the module is loaded")));
    }
    let file = module::file(&machine.release)?;
    if !file.signed {
        let found = format!("required by {by}, but {} is not signed", file.path.display());
        let version = env!("CARGO_PKG_VERSION");
        let sign = format!("dkms install --force {}/{version} -k {}", module::NAME, machine.release);
        return Some(Finding::hindrance(found, machine).mend(sign));
    }
    Some(enrolled(machine, by))
}

/// Checks with mokutil whether the key of DKMS is enrolled.
fn enrolled(machine: &Machine, by: &str) -> Finding {
    const KEY: &str = "/var/lib/dkms/mok.pub";
    if !Path::new(KEY).exists() {
        return Finding::good(format!(
            "required by {by}; the module is signed, but not with the key of DKMS"
        ));
    }
    let tested = std::process::Command::new("mokutil").args(["--test-key", KEY]).env("LC_ALL", "C").output();
    let Ok(tested) = tested else {
        let found =
            format!("required by {by}; without mokutil it is unknown whether the key of DKMS is enrolled");
        return Finding::warning(found).install(Part::Mokutil, machine);
    };
    let said = String::from_utf8_lossy(&tested.stdout).into_owned();
    if said.contains("is already enrolled") {
        return Finding::good(format!("required by {by}; the key of DKMS is enrolled"));
    }
    Finding::hindrance(format!("required by {by}, but the key of DKMS is not enrolled"), machine)
        .mend(format!("mokutil --import {KEY}"))
        .then("reboot, and choose Enroll MOK")
}

/// Whether ftrace is on: the entries and returns of many functions depend on it.
pub(super) fn ftrace(_: &Machine) -> Option<Finding> {
    let Some(enabled) = Machine::read("/proc/sys/kernel/ftrace_enabled") else {
        return Some(Finding::good("the kernel has none; entries are traced like other instructions"));
    };
    Some(match enabled.as_str() {
        "0" => Finding::warning("off: fbt probes at entries with ftrace do not fire")
            .mend("sysctl -w kernel.ftrace_enabled=1"),
        _ => Finding::good("on"),
    })
}

/// Whether kprobes are switched on. The module sets its own breakpoints, and does not depend on them.
pub(super) fn kprobes(_: &Machine) -> Option<Finding> {
    let enabled = Machine::read("/sys/kernel/debug/kprobes/enabled")?;
    Some(match enabled.as_str() {
        "0" => Finding::warning(
            "switched off: kprobes of other tracers, and of dtrace without the module, do not fire",
        )
        .mend("echo 1 >/sys/kernel/debug/kprobes/enabled"),
        _ => Finding::good("on"),
    })
}

#[cfg(test)]
mod tests {
    use super::level;

    #[test]
    fn the_level_is_in_brackets() {
        assert_eq!(level("[none] integrity confidentiality"), Some("none"));
        assert_eq!(level("none integrity [confidentiality]\n"), Some("confidentiality"));
        assert_eq!(level("none"), None);
    }
}
