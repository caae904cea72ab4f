//! sites/code/refusal.rs: why an instruction cannot be traced.

use std::ops::Range;

/// Why an instruction cannot be traced: those of the kernel module's reasons that a file can show.
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
    /// A load or store that does not succeed if it is interrupted.
    Exclusive,
}

pub(in crate::sites) fn overlap(a: &Range<u64>, b: &Range<u64>) -> bool {
    a.start < b.end && b.start < a.end
}
