//! machine.rs: the machines that run test programs: without readable memory, and with known arguments.

use crate::model::Event;
use kinst::dif::insn::{Builtin, Subr};
use kinst::probe::{Fields, Place, Probe};
use kinst::uapi::Flt;
use kinst_oracle::interp::{Machine, Space};

/// A machine with only the program's memory; `args[i]` is 1000 + i.
pub(crate) struct Quiet;

impl Machine for Quiet {
    fn read(&mut self, _: Space, _: u64, _: &mut [u8]) -> bool {
        false
    }

    fn write_user(&mut self, _: u64, _: &[u8]) -> bool {
        false
    }

    fn builtin(&mut self, _: Builtin) -> Result<u64, Flt> {
        Ok(0)
    }

    fn argument(&mut self, index: u64) -> u64 {
        if index < 6 { 1000 + index } else { 0 }
    }

    fn register(&mut self, _: Space, _: u64) -> Result<u64, Flt> {
        Err(Flt::ILLOP)
    }

    fn system(&mut self, _: Subr, _: &[u64]) -> Result<u64, Flt> {
        Ok(0)
    }

    fn thread(&mut self) -> u64 {
        1
    }
}

/// Quiet, plus speculations.
pub(crate) struct World {
    /// `None` if free, else the waiting records with their sizes.
    pub speculations: Vec<Option<Vec<(u64, Event)>>>,
}

impl World {
    pub(crate) fn speculation(&mut self, id: u64) -> Option<&mut Option<Vec<(u64, Event)>>> {
        self.speculations.get_mut((id as usize).checked_sub(1)?)
    }
}

impl Machine for World {
    fn read(&mut self, space: Space, address: u64, out: &mut [u8]) -> bool {
        Quiet.read(space, address, out)
    }

    fn write_user(&mut self, address: u64, bytes: &[u8]) -> bool {
        Quiet.write_user(address, bytes)
    }

    fn builtin(&mut self, variable: Builtin) -> Result<u64, Flt> {
        Quiet.builtin(variable)
    }

    fn argument(&mut self, index: u64) -> u64 {
        Quiet.argument(index)
    }

    fn register(&mut self, space: Space, index: u64) -> Result<u64, Flt> {
        Quiet.register(space, index)
    }

    fn system(&mut self, subr: Subr, arguments: &[u64]) -> Result<u64, Flt> {
        if subr != Subr::Speculation {
            return Quiet.system(subr, arguments);
        }
        let free = self.speculations.iter().position(Option::is_none);
        if let Some(free) = free {
            self.speculations[free] = Some(Vec::new());
        }
        Ok(free.map_or(0, |free| free as u64 + 1))
    }

    fn thread(&mut self) -> u64 {
        Quiet.thread()
    }
}

/// Returns the probe at which the test programs are enabled.
pub(crate) fn probe() -> Probe {
    Probe {
        id: 7,
        place: Place::Insn { func: 0x1000, offset: 4, bytes: vec![0x90] },
        name: Fields::new("kinst", "vmlinux", "f", "4"),
    }
}
