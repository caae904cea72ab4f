//! backend/names.rs: the names of probes in messages.

use kinst_base::image::KERNEL_PROPER;
use kinst_base::probe::{Fields, Probe};

/// Returns the name as a user writes it: without the module for the kernel proper.
pub fn probe_name(probe: &Probe) -> String {
    let Fields { provider, module, function, name } = &probe.name;
    let module = if module == KERNEL_PROPER { "" } else { module };
    format!("{provider}:{module}:{function}:{name}")
}
