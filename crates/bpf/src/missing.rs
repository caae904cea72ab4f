//! bpf/missing.rs: what a program needs and cannot have without the module.

use kinst_dif::ActionKind;
use kinst_dif::insn::{Builtin, Subr};

/// What an object needs and cannot have.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Missing {
    #[error("{}() is not there", .0.name())]
    Subroutine(Subr),
    #[error("the variable {} is not there", .0.name())]
    Builtin(Builtin),
    #[error("{}() is not there", format!("{:?}", .0).to_ascii_lowercase())]
    Action(ActionKind),
    #[error("the kernel does not say where it counts interrupts, and the variable ipl is not there")]
    Interrupts,
    #[error("{0} is not there")]
    Other(&'static str),
    #[error("strsize is more than {0}")]
    Strsize(u32),
    #[error("its clauses have too many aggregations and arrays")]
    Maps,
    #[error("its clauses have too many expressions")]
    Functions,
    #[error("its code is invalid")]
    Invalid,
}
