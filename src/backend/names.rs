//! backend/names.rs: the names that messages have for probes.

use kinst_base::image::KERNEL_PROPER;
use kinst_base::probe::{Fields, Probe};

/// Returns the name as a person writes it: the kernel proper needs no module.
pub fn probe_name(probe: &Probe) -> String {
    let Fields { provider, module, function, name } = &probe.name;
    let module = if module == KERNEL_PROPER { "" } else { module };
    format!("{provider}:{module}:{function}:{name}")
}
