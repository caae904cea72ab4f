//! bpf/missing.rs: features that a program needs and cannot have without the module.

use kinst_dif::ActionKind;
use kinst_dif::insn::{Builtin, Subr};

/// A feature that an object needs and cannot have.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Missing {
    /// A subroutine of other systems.
    #[error("{}() is not supported on Linux", .0.name())]
    Subroutine(Subr),
    /// A variable that the kind of probe, or Linux as a whole, does not have.
    #[error("the variable {} is not supported here", .0.name())]
    Builtin(Builtin),
    /// An action that needs the module.
    #[error("{}() is not supported", format!("{:?}", .0).to_ascii_lowercase())]
    Action(ActionKind),
    /// The variable `ipl`, if the location of the interrupt count is unknown.
    #[error("the variable ipl is not supported: the kernel does not show where it counts interrupts")]
    Interrupts,
    /// A further argument of a function of Go, whose registers are fewer.
    #[error("arg9 is not supported at a function of Go: nine arguments are in registers")]
    GoArgument,
    /// An argument of a function of Go in assembly code, in a stripped program.
    #[error(
        "a function of Go in assembly code has its arguments in registers or on the stack, which only the program's symbols tell"
    )]
    GoAssembly,
    /// Anything else, by the name for the message.
    #[error("{0} is not supported")]
    Other(&'static str),
    /// A `strsize` larger than this many bytes.
    #[error("strsize is more than {0}")]
    Strsize(u32),
    /// More maps than [`MAPS`](crate::asm::MAPS).
    #[error("its clauses have too many aggregations and arrays")]
    Maps,
    /// More functions than [`FUNCTIONS`](crate::asm::FUNCTIONS).
    #[error("its clauses have too many expressions")]
    Functions,
    /// DIF that is invalid, or that the compiler never generates.
    #[error("its code is invalid")]
    Invalid,
}
