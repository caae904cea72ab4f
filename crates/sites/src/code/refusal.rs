//! sites/code/refusal.rs: why an instruction cannot be traced.

use kinst_base::reason::{Reason, Untraceable};
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

impl From<Refusal> for Untraceable {
    fn from(refusal: Refusal) -> Untraceable {
        Untraceable::Reason(match refusal {
            Refusal::Init => Reason::INIT,
            Refusal::TrapPath => Reason::TRAP_PATH,
            Refusal::NoTrap => Reason::NO_TRAP,
            Refusal::Blacklist => Reason::BLACKLIST,
            Refusal::StaticCall => Reason::STATIC_CALL,
            Refusal::Foreign => Reason::FOREIGN,
            Refusal::Ftrace => Reason::FTRACE,
            Refusal::JumpLabel => Reason::JUMP_LABEL,
            Refusal::Undecodable => Reason::UNDECODABLE,
            Refusal::StiHlt => Reason::INSN_STI_HLT,
            Refusal::Int => Reason::INSN_TRAP,
            Refusal::Iret => Reason::INSN_IRET,
            Refusal::StackSegment => Reason::INSN_SS,
            Refusal::Undefined => Reason::INSN_UD,
            Refusal::Privileged => Reason::INSN_PRIV,
            Refusal::Endbr => Reason::INSN_LANDING_PAD,
            Refusal::Rsp => Reason::INSN_RSP,
            Refusal::Reach => Reason::REACH,
            Refusal::Exclusive => return Untraceable::Exclusive,
        })
    }
}

pub(crate) fn overlap(a: &Range<u64>, b: &Range<u64>) -> bool {
    a.start < b.end && b.start < a.end
}
