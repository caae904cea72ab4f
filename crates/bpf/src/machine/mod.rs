//! bpf/machine/: code that depends on the kind of machine: where control goes after a hit.

mod arm64;
mod control;
mod x86;

use kinst_base::machine;

pub use control::Machine;

/// The code for x86-64.
pub const X86_64: &dyn Machine = &x86::X86;
/// The code for 64-bit Arm.
pub const ARM64: &dyn Machine = &arm64::Arm64;

/// Returns the code for a kind of machine.
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
