//! sites/code/deciding.rs: the values that a branch decides on.

use kinst_dwarf::variables::term::Register;

/// A value that was compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Operand {
    /// The lowest bytes of a general register.
    Register { register: Register, bytes: u8 },
    /// In memory, at a distance from what a general register has.
    Memory { base: Register, by: i64, bytes: u8 },
}
