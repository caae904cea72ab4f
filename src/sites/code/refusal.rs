//! sites/code/refusal.rs: why an instruction cannot be traced.

use std::ops::Range;

/// Why an instruction cannot be traced: those reasons of the kernel module that a file can tell.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Refusal {
    Init,
    TrapPath,
    NoTrap,
    Blacklist,
    StaticCall,
    Foreign,
    Ftrace,
    JumpLabel,
    Undecodable,
    StiHlt,
    Int,
    Iret,
    StackSegment,
    Undefined,
    Privileged,
    Endbr,
    Rsp,
    Reach,
}

pub(in crate::sites) fn overlap(a: &Range<u64>, b: &Range<u64>) -> bool {
    a.start < b.end && b.start < a.end
}
