//! bpf/machine/: what programs know of a kind of machine: where `struct pt_regs` has what, and how control goes on from a hit.

mod arm64;
mod x86;

use super::asm::{Assembler, Label};
use crate::probe::Key;
use std::fmt::Debug;

/// A kind of machine.
pub trait Machine: Debug + Sync {
    fn registers(&self) -> &'static Registers;

    /// Whether other CPUs see stores in the order in which they were made.
    fn stores_in_order(&self) -> bool;

    /// Of which bits of what [`Machine::flags`] makes one is set where a branch with the condition is taken; or, if the
    /// second is true, none. Conditions are the numbers that [`crate::probe::When`] has.
    fn condition(&self, condition: u8) -> (u32, bool);

    /// Makes R1 the bits that conditions depend on, by way of R2; R6 is the context.
    fn flags(&self, asm: &mut Assembler);

    /// Whether a kprobe at an instruction has the address of the next one, for which the stack is another. It is known by its
    /// first byte.
    fn is_past_stack(&self, byte: u8) -> bool;

    /// Leaves the program unless the jump label leads to where control is to go, by way of a slot of the frame.
    fn label(&self, asm: &mut Assembler, key: &Key, slot: i16, out: Label);
}

/// Where `struct pt_regs` has what, in bytes.
#[derive(Debug)]
pub struct Registers {
    /// The arguments of a call that registers hold, and how far above the stack pointer the others begin.
    pub arguments: &'static [i16],
    pub on_stack: i32,
    /// What a function returns.
    pub returned: i16,
    pub stack_pointer: i16,
    /// Where a function returns to as long as, or as soon as, it has no frame.
    pub link: Option<i16>,
    /// The address of the instruction, and how far it is after the one that is probed.
    pub instruction: i16,
    pub after_hit: i32,
    /// The instruction that a function may begin with, which kprobe events take for the one after it.
    pub mark: &'static [u8],
    /// The bytes of a function's beginning after which its call of ftrace returns, at most.
    pub ftrace_end: u64,
    /// The number of a system call, so many bytes of it, and its arguments.
    pub call: i16,
    pub call_size: i32,
    pub call_arguments: [i16; 6],
    /// What the structure of a task has for a 32-bit program: in which member, and which bits.
    pub compat: (&'static str, i32),
    pub privilege: Privilege,
    /// The elements of regs[].
    pub elements: &'static [Option<i16>],
    /// By the numbers of DWARF, the address of the instruction last; none where no stack of a program is copied.
    pub dwarf: &'static [i16],
    /// By the number that instructions have for a register. One that is not here is 0.
    pub numbered: &'static [i16],
}

/// Which bits of which register say whether a program was interrupted, and not the kernel.
#[derive(Clone, Copy, Debug)]
pub struct Privilege {
    pub register: i16,
    pub bits: i32,
    /// Whether they are 0 for a program.
    pub zero_is_user: bool,
}

impl Registers {
    /// Where the words that hold a system call's arguments begin.
    pub fn calls_from(&self) -> i16 {
        self.call_arguments.into_iter().min().unwrap_or_default()
    }
}

pub const X86_64: &dyn Machine = &x86::X86;
pub const ARM64: &dyn Machine = &arm64::Arm64;

impl Default for &'static dyn Machine {
    fn default() -> Self {
        X86_64
    }
}

impl PartialEq for dyn Machine {
    fn eq(&self, other: &dyn Machine) -> bool {
        std::ptr::eq(self.registers(), other.registers())
    }
}

impl Eq for dyn Machine {}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bpf::memory::cpu;

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
