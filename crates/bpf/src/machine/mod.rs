//! bpf/machine/: the code that depends on the kind of machine: how control goes on from a hit.

mod arm64;
mod x86;

use super::asm::{Assembler, Label};
use kinst_base::machine::{self, Facts, PtRegs};
use kinst_base::probe::{Condition, Key};
use std::fmt::Debug;

/// A kind of machine.
pub trait Machine: Debug + Sync {
    fn facts(&self) -> &'static Facts;

    fn registers(&self) -> &'static PtRegs {
        &self.facts().pt_regs
    }

    /// Of which bits of what [`Machine::flags`] makes one is set where a branch with the condition is taken; or, if the
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

pub const X86_64: &dyn Machine = &x86::X86;
pub const ARM64: &dyn Machine = &arm64::Arm64;

pub fn of(machine: machine::Machine) -> &'static dyn Machine {
    match machine {
        machine::Machine::X86_64 => X86_64,
        machine::Machine::Aarch64 => ARM64,
    }
}

impl Default for &'static dyn Machine {
    fn default() -> Self {
        X86_64
    }
}

impl PartialEq for dyn Machine {
    fn eq(&self, other: &dyn Machine) -> bool {
        std::ptr::eq(self.facts(), other.facts())
    }
}

impl Eq for dyn Machine {}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory::cpu;

    #[test]
    fn the_arguments_of_calls_are_in_the_words_that_are_copied() {
        for machine in [X86_64, ARM64] {
            let registers = machine.registers();
            for argument in registers.call_arguments {
                let word = (argument - registers.calls_from()) / 8;
                assert!((0..cpu::ARGUMENT_WORDS as i16).contains(&word), "{machine:?}");
            }
        }
        assert_ne!(X86_64, ARM64);
    }
}
