//! backend/module/live.rs: the kernel's text in memory, as reported by the module.

use super::ioctl::Device;
use crate::backend::reason;
use crate::machine::Machine;
use crate::sites::{LiveInsn, LiveText};
use crate::uapi;
use std::sync::Arc;

/// Queries the module.
pub struct Live(pub Arc<Device>);

impl LiveText for Live {
    fn instructions(&self, function: u64) -> Result<Vec<LiveInsn>, String> {
        let insns = self.0.instructions(function).map_err(|error| error.to_string())?;
        let insns = insns.map_err(|reason| reason::name(reason).to_owned())?;
        let insn = |insn: &uapi::Insn| {
            let reason = uapi::Reason(insn.reason.into());
            let bytes = insn.bytes.get(..insn.len.into()).unwrap_or_default().to_vec();
            let refused = (reason != uapi::Reason::OK).then(|| reason::name(reason).to_owned());
            LiveInsn { offset: insn.offset, bytes, refused, machine: Machine::HERE }
        };
        Ok(insns.iter().map(insn).collect())
    }
}
