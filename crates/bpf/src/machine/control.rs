//! bpf/machine/control.rs: a trait of machines: where control goes after a hit.

use crate::asm::{Assembler, Label};
use kinst_base::machine::{Facts, PtRegs};
use kinst_base::probe::{Condition, Key};
use std::fmt::Debug;

/// A kind of machine.
pub trait Machine: Debug + Sync {
    /// Facts about the machine, shared with the other back ends.
    fn facts(&self) -> &'static Facts;

    /// Offsets in `struct pt_regs`.
    fn registers(&self) -> &'static PtRegs {
        &self.facts().pt_regs
    }

    /// Returns a mask for the result of [`Machine::flags`] and whether it is inverted. A branch with the
    /// condition is taken if any bit of the mask is set, or, inverted, if none is.
    fn condition(&self, condition: Condition) -> (u32, bool);

    /// Computes into R1 the bits that conditions depend on; clobbers R2. R6 is the context.
    fn flags(&self, asm: &mut Assembler);

    /// Whether a kprobe at an instruction with this first byte reports the address of the next instruction,
    /// where the stack pointer differs.
    fn is_past_stack(&self, byte: u8) -> bool;

    /// Exits the program unless the jump label leads to the edge's target; uses a slot of the frame.
    fn label(&self, asm: &mut Assembler, key: &Key, slot: i16, out: Label);
}
