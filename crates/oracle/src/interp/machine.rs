//! oracle/interp/machine.rs: the machine that a DIFO runs on, its address spaces, and faults.

use kinst_base::uapi::Flt;
use kinst_dif::insn::{Builtin, Subr};

/// The world around a program.
pub trait Machine {
    /// Fills `out` from an address outside the program's own memory; false if a byte cannot be read.
    fn read(&mut self, space: Space, address: u64, out: &mut [u8]) -> bool;
    /// Performs copyout() and copyoutstr(); false if a byte cannot be written.
    fn write_user(&mut self, address: u64, bytes: &[u8]) -> bool;
    /// Returns the value of a built-in scalar.
    fn builtin(&mut self, variable: Builtin) -> Result<u64, Flt>;
    /// Returns `args[index]` as the probe passed it.
    fn argument(&mut self, index: u64) -> u64;
    /// Returns `regs[index]` or `uregs[index]`.
    fn register(&mut self, space: Space, index: u64) -> Result<u64, Flt>;
    /// Calls a subroutine that depends on the system: rand, progenyof, locks, speculation.
    fn system(&mut self, subr: Subr, arguments: &[u64]) -> Result<u64, Flt>;
    /// Returns a number that identifies the current thread.
    fn thread(&mut self) -> u64;
}

/// An address space.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Space {
    /// Kernel memory, including the memory of the program.
    Kernel,
    /// Memory of the current process.
    User,
}

/// Why a program stopped before its `ret`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fault {
    /// The kind of fault.
    pub code: Flt,
    /// The offset in bytes from the first instruction, or −1.
    pub offset: i32,
    /// The address, for BADADDR and BADALIGN; the index, for BADINDEX.
    pub value: u64,
}

/// A fault whose instruction is not yet recorded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Trouble {
    pub(super) code: Flt,
    pub(super) value: u64,
}

impl From<Flt> for Trouble {
    fn from(code: Flt) -> Trouble {
        Trouble { code, value: 0 }
    }
}
