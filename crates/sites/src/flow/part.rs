//! sites/flow/part.rs: the parts of a function, and facts about their instructions.

use super::block::NONE;
use crate::code::decode::IndirectJump;
use kinst_base::machine::Machine;
use std::fmt;
use std::ops::Range;

/// One range of a function's code: all of it, or a part that the compiler put elsewhere (`f.cold`).
#[derive(Clone, Copy, Debug)]
pub struct Part<'a> {
    /// Address of the first byte.
    pub address: u64,
    /// Bytes of the instructions.
    pub code: &'a [u8],
}

/// Facts that are not visible in the bytes, all sorted by address.
#[derive(Clone, Debug, Default)]
pub struct Marks {
    /// The kind of machine that the code is for.
    pub machine: Machine,
    /// Instructions that the kernel rewrites between a nop and a jump (static keys), with the jumps' targets.
    pub jump_labels: Vec<(u64, u64)>,
    /// Instructions that may fault, with the targets in the exception table.
    pub faults: Vec<(u64, u64)>,
    /// Traps that return: WARN().
    pub warnings: Vec<u64>,
    /// Ranges that cannot have a probe, because the kernel writes other instructions there: from, to.
    pub patched: Vec<(u64, u64)>,
    /// Instructions that the kernel may replace with jumps at boot, and the targets.
    pub switches: Vec<(u64, u64)>,
    /// Functions that do not return.
    pub endless: Vec<u64>,
    /// Functions that may return several times.
    pub again: Vec<u64>,
    /// Indirect jumps that may stay in their function.
    pub indirect: Vec<IndirectJump>,
    /// Whether every other indirect jump leaves its function.
    pub without_tables: bool,
}

/// Why a graph cannot be built.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Undecodable {
    /// Its instructions are not available.
    NoCode,
    /// Bytes that are not an instruction.
    Bytes(u64),
    /// A jump into the middle of an instruction: the jump and its target.
    Inside(u64, u64),
    /// A jump to an unknown target: a jump table.
    Indirect(u64),
    /// The table with the places where its exceptions are caught is damaged.
    Exceptions,
    /// An entry of the copy that is not at an instruction of the caller.
    Entry(u64),
}

impl fmt::Display for Undecodable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Undecodable::NoCode => write!(f, "its instructions are not available"),
            Undecodable::Exceptions => write!(f, "the table of its exceptions cannot be read"),
            Undecodable::Bytes(at) => write!(f, "no valid instruction at {at:#x}"),
            Undecodable::Inside(at, to) => {
                write!(f, "the jump at {at:#x} goes into the middle of an instruction, to {to:#x}")
            }
            Undecodable::Entry(at) => write!(f, "no instruction begins at {at:#x}"),
            Undecodable::Indirect(at) => write!(f, "the target of the indirect jump at {at:#x} is unknown"),
        }
    }
}

/// A part that has been read.
#[derive(Debug)]
pub(super) struct Read {
    pub(super) address: u64,
    /// For each byte, the instruction that begins there.
    pub(super) places: Vec<u32>,
    pub(super) insns: Range<u32>,
}

impl Read {
    pub(super) fn holds(&self, address: u64) -> bool {
        address.checked_sub(self.address).is_some_and(|at| at < self.places.len() as u64)
    }
}

pub(super) fn insn_at(parts: &[Read], address: u64) -> Option<u32> {
    let part = parts.iter().find(|part| part.holds(address))?;
    Some(part.places[(address - part.address) as usize]).filter(|insn| *insn != NONE)
}

pub(super) fn holds(parts: &[Read], address: u64) -> bool {
    parts.iter().any(|part| part.holds(address))
}
