//! sites/code/deciding.rs: the values that a branch decides on.

use kinst_dwarf::variables::term::Register;

/// A value that was compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Operand {
    /// The lowest bytes of a general register.
    Register {
        /// The general register.
        register: Register,
        /// The size of the value: 1, 2, 4 or 8.
        bytes: u8,
    },
    /// In memory, at a distance from what a general register has.
    Memory {
        /// The general register that the distance counts from.
        base: Register,
        /// The distance in bytes.
        by: i64,
        /// The size of the value: 1, 2, 4 or 8.
        bytes: u8,
    },
}
