//! backend/module/session.rs: one tracing session of the module: enabling, arming, draining and ending.

use super::error::Error;
use super::ioctl::{Device, MappedRing};
use crate::backend::plan::Plan;
use crate::backend::records::{Damaged, Drain};
use crate::backend::tracing::{Fired, RequestError, Tracing};
use kinst_base::reason::Reason;
use kinst_base::uapi;
use kinst_dif::object::encode;
use kinst_dif::{Options, Program};
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::Arc;

/// An armed program in the kernel.
#[derive(Debug)]
pub(crate) struct Session {
    /// By CPU; CPU numbers may have gaps.
    rings: Vec<(u32, MappedRing)>,
    snapshot: Vec<u8>,
    device: Arc<Device>,
}

impl Session {
    /// Arms the plan. Returns the results of the refused probes; the others are armed.
    pub(crate) fn enable(
        device: Arc<Device>,
        program: &Program,
        plan: &Plan,
        options: &Options,
    ) -> Result<(Session, Vec<(usize, uapi::Result)>), Error> {
        if plan.needs_bpf() {
            return Err(Error::OfPrograms);
        }
        let image = encode(program, &plan.enabled.probes, &plan.enabled.ecbs, options)?;
        let results = device.load(&image, plan.enabled.probes.len())?;
        let refused =
            results.into_iter().enumerate().filter(|(_, result)| result.reason != Reason::OK.0).collect();
        let rings = rings(&device)?;
        let size = usize::try_from(options.aggsize).unwrap_or(usize::MAX).min(1 << 30);
        let snapshot = if program.aggregations.is_empty() { Vec::new() } else { vec![0; size] };
        Ok((Session { rings, snapshot, device }, refused))
    }
}

impl Tracing for Session {
    fn go(&mut self) -> Result<(), RequestError> {
        self.device.go()
    }

    fn stop(&mut self) -> Result<(), RequestError> {
        self.device.stop()
    }

    fn status(&mut self) -> Result<uapi::Status, RequestError> {
        self.device.status()
    }

    fn drain(&mut self, into: &mut Drain) -> Vec<Damaged> {
        self.rings.iter().filter_map(|(cpu, mapped)| mapped.ring()?.drain(*cpu, into).err()).collect()
    }

    fn drops(&self) -> Vec<(u32, u64)> {
        self.rings.iter().map(|(cpu, mapped)| (*cpu, mapped.drops())).collect()
    }

    fn aggregations(&mut self, each: &mut dyn FnMut(u32, &[u8], u64)) -> Result<(), RequestError> {
        if self.snapshot.is_empty() {
            return Ok(());
        }
        for (cpu, _) in &self.rings {
            let (used, drops) = self.device.aggregations(*cpu, &mut self.snapshot)?;
            each(*cpu, &self.snapshot[..used], drops);
        }
        Ok(())
    }

    fn readable(&self) -> BorrowedFd<'_> {
        self.device.as_fd()
    }

    fn fired(&self, probes: usize) -> Result<Vec<Fired>, RequestError> {
        self.device.fired(probes)
    }
}

/// Maps the ring of each possible CPU. A number without a CPU has no ring; a session without any ring
/// cannot trace.
fn rings(device: &Device) -> Result<Vec<(u32, MappedRing)>, RequestError> {
    let mut rings = Vec::new();
    let mut refused = None;
    for cpu in 0..device.info.ncpus {
        match device.ring(cpu) {
            Ok(ring) => rings.push((cpu, ring)),
            Err(error) => refused = Some(error),
        }
    }
    match refused {
        Some(error) if rings.is_empty() => Err(error),
        _ => Ok(rings),
    }
}

const _: () = assert!(kinst_sites::MIN_INTERVAL == uapi::MIN_INTERVAL as u64);
const _: () = assert!(kinst_sites::MAX_INTERVAL == uapi::MAX_INTERVAL);
const _: () = assert!(kinst_sites::EVENTS.len() == uapi::Event::MAX.0 as usize);
