//! base/machine/kind.rs: the kinds of machines whose code can be decoded.

use super::facts::Facts;
use super::{arm64, x86};

/// A kind of machine.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Machine {
    /// x86-64.
    #[default]
    X86_64,
    /// 64-bit Arm.
    Aarch64,
}

impl Machine {
    /// The machine that this program is compiled for.
    pub const HERE: Machine = if cfg!(target_arch = "aarch64") { Machine::Aarch64 } else { Machine::X86_64 };

    /// The machine that has this many registers by DWARF number, the instruction pointer included.
    pub fn with_registers(count: usize) -> Option<Machine> {
        [Machine::X86_64, Machine::Aarch64].into_iter().find(|kind| kind.facts().registers.len() == count)
    }

    /// The machine-specific data.
    pub fn facts(self) -> &'static Facts {
        match self {
            Machine::X86_64 => &x86::FACTS,
            Machine::Aarch64 => &arm64::FACTS,
        }
    }
}
