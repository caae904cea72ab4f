//! backend/module/live.rs: the kernel's text in memory, as reported by the module.

use super::ioctl::Device;
use kinst_base::machine::Machine;
use kinst_base::reason::{Reason, Untraceable};
use kinst_base::uapi;
use kinst_sites::{LiveError, LiveInsn, LiveText};
use std::sync::Arc;

/// Queries the module.
pub(crate) struct Live(pub Arc<Device>);

impl LiveText for Live {
    fn instructions(&self, function: u64) -> Result<Vec<LiveInsn>, LiveError> {
        let insns = self.0.instructions(function).map_err(|error| LiveError::Request(error.into()))?;
        let insns = insns.map_err(Untraceable::Reason)?;
        let insn = |insn: &uapi::Insn| {
            let reason = Reason(insn.reason.into());
            let bytes = insn.bytes.get(..insn.len.into()).unwrap_or_default().to_vec();
            let refused = (reason != Reason::OK).then_some(Untraceable::Reason(reason));
            LiveInsn { offset: insn.offset, bytes, refused, machine: Machine::HERE }
        };
        Ok(insns.iter().map(insn).collect())
    }
}
