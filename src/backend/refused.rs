//! backend/refused.rs: the probes that the kernel refuses, and the names that messages have for probes.

use kinst_base::image::KERNEL_PROPER;
use kinst_base::probe::{Fields, Probe};

/// A place that the kernel refuses to trace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refused {
    /// An index into [`kinst_dif::enabled::Enabled::probes`].
    pub probe: usize,
    /// `kinst::f:7`
    pub name: String,
    pub why: String,
    pub help: Option<&'static str>,
}

impl Refused {
    /// `kinst::f:7 cannot be traced: jump label`
    pub fn text(&self) -> String {
        format!("{} cannot be traced: {}", self.name, self.why)
    }
}

/// Returns the name as a person writes it: the kernel proper needs no module.
pub fn probe_name(probe: &Probe) -> String {
    let Fields { provider, module, function, name } = &probe.name;
    let module = if module == KERNEL_PROPER { "" } else { module };
    format!("{provider}:{module}:{function}:{name}")
}

/// Whether the probe of this index is among the refused ones, which are in order.
pub fn is_refused(probe: u32, refused: &[Refused]) -> bool {
    refused.binary_search_by_key(&(probe as usize), |refused| refused.probe).is_ok()
}
