//! cli/doctor/module.rs: the kernel module: its file, what it is built with, whether it is loaded or can be.

use super::{Finding, Machine, bpf};
use crate::driver::Error;
use crate::driver::ioctl::Device;
use crate::host::distribution::Part;
use crate::host::module::{self, Explained, Refusal};
use crate::uapi;

/// The file that modprobe takes.
pub fn file(machine: &Machine) -> Option<Finding> {
    let Machine { release, family, .. } = machine;
    let explain = |refusal| module::explain(&refusal, release, *family);
    let Some(file) = module::file(release) else {
        let Explained { why, mend, .. } = explain(Refusal::Missing);
        // A module that is loaded already serves until the next boot.
        let finding = match module::is_loaded() {
            true => Finding::warning(why),
            false => Finding::without_module(why, machine),
        };
        return Some(finding.mend_if(mend));
    };
    let path = file.path.display();
    if file.release.as_deref().is_some_and(|built| built != release) {
        // A kernel with CONFIG_MODVERSIONS loads it all the same if what it uses has not changed; the line of the module says so.
        let Explained { why, mend, .. } = explain(Refusal::OtherKernel);
        return Some(Finding::warning(why).mend_if(mend));
    }
    if let Some(theirs) = file.abi.filter(|abi| *abi != uapi::ABI_VERSION) {
        let ours = uapi::ABI_VERSION;
        let (order, part) = if theirs > ours { ("newer", Part::Tool) } else { ("older", Part::Module) };
        let found =
            format!("{path} is {order} than this dtrace: its interface is {theirs}, that of dtrace {ours}");
        return Some(Finding::fault(found).mend_if(family.install(part, release)));
    }
    let signed = if file.signed { "signed" } else { "not signed" };
    Some(Finding::good(format!("{path}, interface {}, {signed}", uapi::ABI_VERSION)))
}

/// What DKMS builds the module with, now and at the next version of the kernel.
pub fn headers(machine: &Machine) -> Option<Finding> {
    let dir = format!("/lib/modules/{}/build", machine.release);
    if module::has_headers(&machine.release) {
        return Some(Finding::good(dir));
    }
    let found = match module::file(&machine.release) {
        Some(_) => format!("none in {dir}; the module is built already, another version of it could not be"),
        None => format!("none in {dir}; the module cannot be built"),
    };
    Some(Finding::warning(found).install(Part::Headers, machine))
}

/// Opens the device, as a run that traces does; a module that is not loaded is, for the time of the check.
pub fn module(machine: &Machine) -> Option<Finding> {
    if !machine.root && !module::is_loaded() {
        return Some(Finding::warning("not loaded; only root can try to load it").mend("sudo dtrace doctor"));
    }
    let (error, loaded) = match Device::open_or_load() {
        Ok((device, loaded)) => {
            drop(device);
            if loaded {
                module::unload();
                return Some(Finding::good(
                    "not loaded; it was loaded for this check, and dtrace loads it when needed",
                ));
            }
            return Some(Finding::good(format!("loaded, interface {}", uapi::ABI_VERSION)));
        }
        Err(error) => (error, module::is_loaded()),
    };
    Some(match &error {
        Error::NotRoot => Finding::fault("loaded, for root").mend("sudo dtrace doctor"),
        Error::Forbidden => {
            Finding::fault("loaded, and it refuses to be opened; rights and lockdown say why")
        }
        Error::NoNode => {
            let mend = make_node().unwrap_or_else(|| "modprobe -r kinst".to_owned());
            Finding::without_module(error.to_string(), machine).mend(mend)
        }
        Error::Unloadable(Explained { why, mend, reboot }) => {
            let without = if bpf::stands_in(machine) { "; the kernel's BPF traces in its place" } else { "" };
            let found = format!("it cannot be loaded: {why}{without}");
            let finding = Finding::without_module(found, machine).mend_if(mend.clone());
            if *reboot { finding.then("reboot") } else { finding }
        }
        Error::Abi { ours, theirs } if theirs > ours => {
            Finding::fault(error.to_string()).mend_if(machine.family.install(Part::Tool, &machine.release))
        }
        Error::Abi { .. } | Error::Interface => Finding::fault(error.to_string()).mend("modprobe -r kinst"),
        _ if loaded => Finding::fault(format!("loaded, and it cannot be opened: {error}")),
        _ => Finding::fault(error.to_string()),
    })
}

/// The command that makes the device's node, with the numbers that the kernel shows.
fn make_node() -> Option<String> {
    let device = uapi::DEVICE;
    let numbers = Machine::read("/sys/class/misc/dtrace!kinst/dev")
        .or_else(|| Machine::read("/sys/class/misc/kinst/dev"))?
        .replace(':', " ");
    let dir = device.rsplit_once('/')?.0;
    Some(format!("mkdir -p {dir} && mknod -m 600 {device} c {numbers}"))
}
