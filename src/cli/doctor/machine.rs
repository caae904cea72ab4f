//! cli/doctor/machine.rs: facts about the machine that several checks share.

use crate::backend;
use crate::backend::bpf::{EnableError, Means};
use crate::backend::module::{Device, Error};
use kinst_host::distribution::Family;

/// The machine under examination.
#[derive(Debug)]
pub(crate) struct Machine {
    pub release: String,
    pub family: Family,
    /// Whether the process has root's identity.
    pub root: bool,
    /// Whether the module was loaded only for the check, or the reason why it cannot be opened.
    pub module: Result<bool, Error>,
    /// The means of tracing through BPF, or the reason why it does not trace.
    pub bpf: Result<Means, EnableError>,
}

impl Machine {
    /// Opens the device like a trace does. A module that is not loaded is loaded for the check and unloaded again.
    pub(super) fn here() -> Machine {
        let root = kinst_os::identity().euid == 0;
        let opened = if root { Device::open_or_load() } else { Device::open().map(|device| (device, false)) };
        let module = opened.map(|(device, loaded)| {
            drop(device);
            if loaded {
                kinst_host::module::unload();
            }
            loaded
        });
        let bpf = backend::bpf::check().map(|()| backend::bpf::means());
        Machine { release: kinst_os::release(), family: Family::running(), root, module, bpf }
    }

    pub(super) fn read(path: &str) -> Option<String> {
        std::fs::read_to_string(path).ok().map(|text| text.trim_end().to_owned())
    }

    /// Whether anything can be traced.
    pub(super) fn traces(&self) -> bool {
        self.module.is_ok() || self.bpf.is_ok()
    }
}
