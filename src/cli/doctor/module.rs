//! cli/doctor/module.rs: the kernel module: its file, the headers to build it, whether it is or can be loaded.

use super::finding::Finding;
use super::machine::Machine;
use crate::backend::module::Error;
use kinst_base::uapi;
use kinst_host::distribution::Part;
use kinst_host::module::{self, Explained, Refusal};

/// The file that modprobe loads.
pub(super) fn file(machine: &Machine) -> Option<Finding> {
    let release = &machine.release;
    let explain = |refusal| module::explain(&refusal, release, machine.family);
    let Some(file) = module::file(release) else {
        let Explained { why, mend, .. } = explain(Refusal::Missing);
        // A module that is already loaded works until the next boot.
        let finding = match module::is_loaded() {
            true => Finding::warning(why),
            false => Finding::hindrance(why, machine),
        };
        return Some(finding.mend_if(mend));
    };
    let path = file.path.display();
    if file.release.as_deref().is_some_and(|built| built != release) {
        // A kernel with CONFIG_MODVERSIONS still loads it if the symbols that it uses have not changed. The check
        // "module" shows whether it does.
        let Explained { why, mend, .. } = explain(Refusal::OtherKernel);
        return Some(Finding::warning(why).mend_if(mend));
    }
    if let Some(theirs) = file.abi.filter(|abi| *abi != uapi::ABI_VERSION) {
        let ours = uapi::ABI_VERSION;
        let (order, part) = if theirs > ours { ("newer", Part::Tool) } else { ("older", Part::Module) };
        let found =
            format!("{path} is {order} than this dtrace: it has interface {theirs}, dtrace has {ours}");
        return Some(Finding::hindrance(found, machine).install(part, machine));
    }
    let signed = if file.signed { "signed" } else { "not signed" };
    Some(Finding::good(format!("{path}, interface {}, {signed}", uapi::ABI_VERSION)))
}

/// The headers that DKMS builds the module with.
pub(super) fn headers(machine: &Machine) -> Option<Finding> {
    if module::unsuitable(&machine.release).is_some() {
        return None;
    }
    let dir = format!("/lib/modules/{}/build", machine.release);
    if module::has_headers(&machine.release) {
        return Some(Finding::good(dir));
    }
    let found = match module::file(&machine.release) {
        Some(_) => format!("none in {dir}; the module is already built, but another version cannot be"),
        None => format!("none in {dir}; the module cannot be built"),
    };
    Some(Finding::warning(found).install(Part::Headers, machine))
}

/// Whether the device could be opened.
pub(super) fn module(machine: &Machine) -> Option<Finding> {
    let loaded = module::is_loaded();
    let error = match &machine.module {
        Ok(true) => {
            let found = "not loaded; dtrace loads it when needed (it was loaded for this check)";
            return Some(Finding::good(found));
        }
        Ok(false) => return Some(Finding::good(format!("loaded, interface {}", uapi::ABI_VERSION))),
        Err(error) => error,
    };
    let hindrance = |found: String| Finding::hindrance(found, machine);
    Some(match error {
        Error::NotRoot if loaded => {
            hindrance("loaded, but only root can use it".to_owned()).mend("sudo dtrace doctor")
        }
        Error::NotRoot => Finding::warning("not loaded; only root can load it").mend("sudo dtrace doctor"),
        Error::Forbidden => {
            hindrance("loaded, but it refuses to be opened; see rights and lockdown".to_owned())
        }
        Error::NoNode => {
            let mend = make_node().unwrap_or_else(|| "modprobe -r kinst".to_owned());
            hindrance(error.to_string()).mend(mend)
        }
        Error::Unloadable(Explained { why, mend, reboot, .. }) => {
            let finding = hindrance(format!("it cannot be loaded: {why}")).mend_if(mend.clone());
            if *reboot { finding.then("reboot") } else { finding }
        }
        Error::Abi { ours, theirs } if theirs > ours => {
            hindrance(error.to_string()).install(Part::Tool, machine)
        }
        Error::Abi { .. } | Error::Interface => hindrance(error.to_string()).mend("modprobe -r kinst"),
        _ if loaded => hindrance(format!("loaded, but it cannot be opened: {error}")),
        _ => hindrance(error.to_string()),
    })
}

/// Returns the command that makes the device node, with the device numbers that the kernel shows.
fn make_node() -> Option<String> {
    let device = uapi::DEVICE;
    let numbers = Machine::read("/sys/class/misc/dtrace!kinst/dev")
        .or_else(|| Machine::read("/sys/class/misc/kinst/dev"))?
        .replace(':', " ");
    let dir = device.rsplit_once('/')?.0;
    Some(format!("mkdir -p {dir} && mknod -m 600 {device} c {numbers}"))
}
