//! bpf/machine/control.rs: how control goes on from a hit, as a contract of kinds of machines.

use crate::asm::{Assembler, Label};
use kinst_base::machine::{Facts, PtRegs};
use kinst_base::probe::{Condition, Key};
use std::fmt::Debug;

/// A kind of machine.
pub trait Machine: Debug + Sync {
    /// Facts about the machine that other back ends share.
    fn facts(&self) -> &'static Facts;

    /// Offsets in `struct pt_regs`.
    fn registers(&self) -> &'static PtRegs {
        &self.facts().pt_regs
    }

    /// The bits of what [`Machine::flags`] makes of which one is set where a branch with the condition is taken; or, if the
    /// second is true, none.
    fn condition(&self, condition: Condition) -> (u32, bool);

    /// Makes R1 the bits that conditions depend on, by way of R2; R6 is the context.
    fn flags(&self, asm: &mut Assembler);

    /// Whether a kprobe at an instruction has the address of the next one, for which the stack is another. It is known by its
    /// first byte.
    fn is_past_stack(&self, byte: u8) -> bool;

    /// Leaves the program unless the jump label leads to where control is to go, by way of a slot of the frame.
    fn label(&self, asm: &mut Assembler, key: &Key, slot: i16, out: Label);
}
