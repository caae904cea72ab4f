//! sites/code/deciding.rs: the values on which a branch depends.

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
    /// Memory at an offset from a general register.
    Memory {
        /// The base register.
        base: Register,
        /// Offset in bytes.
        by: i64,
        /// The size of the value: 1, 2, 4 or 8.
        bytes: u8,
    },
}
