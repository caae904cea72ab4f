//! machine.rs: the world in which test programs run: nothing to read, and arguments that are known.

use kinst::dif::insn::{Builtin, Subr};
use kinst::dif::interp::{Machine, Space};
use kinst::dif::object::{Place, Probe};
use kinst::kernel::uapi::Flt;

/// No memory but the program's own; `args[i]` is 1000 + i.
pub struct Quiet;

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

/// Where the test programs are enabled.
pub fn probe() -> Probe {
    Probe {
        id: 7,
        place: Place::Insn { func: 0x1000, offset: 4, bytes: vec![0x90] },
        provider: "kinst".to_string(),
        module: "vmlinux".to_string(),
        function: "f".to_string(),
        name: "4".to_string(),
    }
}
