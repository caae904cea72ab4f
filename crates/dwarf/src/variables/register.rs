//! dwarf/variables/register.rs: the general registers by DWARF number, and their names.

use std::fmt;

use kinst_base::machine::Machine;

/// A general register of a machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Register {
    machine: Machine,
    number: u8,
}

impl Register {
    /// Returns `None` for a floating-point or vector register, and for an invalid number.
    pub fn new(machine: Machine, number: u16) -> Option<Register> {
        let number = u8::try_from(number).ok()?;
        (usize::from(number) < machine.facts().registers.len()).then_some(Register { machine, number })
    }

    /// The register's machine.
    pub fn machine(self) -> Machine {
        self.machine
    }

    /// The DWARF number.
    pub fn number(self) -> u8 {
        self.number
    }

    /// The name without the per cent sign.
    pub fn name(self) -> &'static str {
        self.machine.facts().registers.get(usize::from(self.number)).copied().unwrap_or_default()
    }

    /// The register as the base of an address in assembly: `8(%rsp)`, `[sp, #8]`.
    pub(super) fn as_base(self, by: i64) -> String {
        (self.machine.facts().base)(&self.to_string(), by)
    }
}

/// Writes it as in assembly: `%rdi`, `x0`.
impl fmt::Display for Register {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", self.machine.facts().register_sign, self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn registers_have_the_numbers_of_debug_information() {
        let name = |machine, number| Register::new(machine, number).map(Register::name);
        assert_eq!(name(Machine::X86_64, 5), Some("rdi"));
        assert_eq!(name(Machine::X86_64, 17), None);
        assert_eq!(name(Machine::X86_64, u16::MAX), None);
        assert_eq!(name(Machine::Aarch64, 30), Some("x30"));
        assert_eq!(name(Machine::Aarch64, 31), Some("sp"));
        // 33 is ELR_mode; the floating-point registers begin at 64.
        assert_eq!(name(Machine::Aarch64, 33), None);
    }

    #[test]
    fn addresses_are_written_as_in_assembly() {
        let base = |machine, number, by| Register::new(machine, number).map(|base| base.as_base(by));
        assert_eq!(base(Machine::X86_64, 7, 8).as_deref(), Some("8(%rsp)"));
        assert_eq!(base(Machine::Aarch64, 31, 8).as_deref(), Some("[sp, #8]"));
        assert_eq!(base(Machine::Aarch64, 29, 0).as_deref(), Some("[x29]"));
    }
}
