//! dif/enabled.rs: the probe and the clause of each EPID.

use crate::object::Ecb;
use kinst_base::probe::Probe;

/// The enablings of a session. EPID n is at index n − 1.
#[derive(Clone, Debug, Default)]
pub struct Enabled {
    /// Probes of the session; [`Ecb::probe`] is an index into them.
    pub probes: Vec<Probe>,
    /// Enablings in the order of their EPIDs, from 1.
    pub ecbs: Vec<Ecb>,
}

impl Enabled {
    /// Returns the probe of an enabling; `None` if the session has no such EPID.
    pub fn probe(&self, epid: u32) -> Option<&Probe> {
        self.probes.get(self.ecb(epid)?.probe as usize)
    }

    /// Returns the index of the clause in the program.
    pub fn clause(&self, epid: u32) -> Option<usize> {
        Some(self.ecb(epid)?.clause as usize)
    }

    /// Returns the enabling; `None` if the session has no such EPID.
    pub fn ecb(&self, epid: u32) -> Option<&Ecb> {
        self.ecbs.get((epid as usize).checked_sub(1)?)
    }
}
