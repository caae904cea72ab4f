//! dif/: the bytecode format, independent of D: programs for the kernel, and the meaning of their records.

pub mod action;
pub mod asm;
pub mod disasm;
pub mod dump;
pub mod enabled;
mod image;
pub mod insn;
pub mod layout;
mod names;
pub mod object;
mod program;
pub mod record;
pub mod shape;
pub mod thread;

pub use action::ActionKind;
pub use program::{
    Action, Aggregation, Clause, Conversion, Count, CtfKind, Difo, DifoIndex, Display, Format, FormatPiece,
    MAX_FRAMES, MAX_TRACEMEM, MAX_VALUE, Options, PrintedLine, Program, Scope, Statement, StatementKind,
    Type, TypeKind, Variable, VariableKind,
};
