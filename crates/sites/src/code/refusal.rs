//! sites/code/refusal.rs: why an instruction cannot be traced.

use kinst_base::reason::{Reason, Untraceable};
use std::ops::Range;

/// Why an instruction cannot be traced: the subset of the kernel module's reasons that is visible in a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Refusal {
    /// Code in a section that the kernel frees after boot.
    Init,
    /// A function on the path to the module's trap handler (`exc_int3`).
    TrapPath,
    /// A function that runs where traps are not handled: as a CPU comes up, or from a copy.
    NoTrap,
    /// A function on the kprobes blacklist: noinstr and entry code.
    Blacklist,
    /// A static call or its trampoline (`__SCT__…`), which the kernel rewrites.
    StaticCall,
    /// A BPF dispatcher (`bpf_dispatcher_…`), whose code BPF rewrites.
    Foreign,
    /// An instruction that overlaps its function's ftrace site, and is not traced through ftrace.
    Ftrace,
    /// A static key's nop or jump, which the kernel rewrites.
    JumpLabel,
    /// An invalid instruction, or one whose length differs between CPUs.
    Undecodable,
    /// `hlt`, `mwait`, `mwaitx`, and a `sti` before one of them.
    StiHlt,
    /// `int`, `int1`, `int3`, `into`; on arm64 `svc`, `hvc`, `smc`, `brk`, `hlt`.
    Int,
    /// `iret`, far transfers, system calls and their returns; on arm64 `eret` and `drps`.
    Iret,
    /// A load of `%ss`.
    StackSegment,
    /// `ud0`, `ud1`, `ud2`; on arm64 `udf`.
    Undefined,
    /// An instruction that must run in place: of VMX, transactions, arm64's `msr`, and others.
    Privileged,
    /// `endbr32`, `endbr64`: indirect branches must land on them.
    Endbr,
    /// An indirect call through `%rsp`.
    Rsp,
    /// An instruction with a relative operand that a copy of it cannot reach.
    Reach,
    /// A load or store that fails if it is interrupted.
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
            Refusal::Exclusive => Reason::INSN_EXCLUSIVE,
        })
    }
}

pub(crate) fn overlap(a: &Range<u64>, b: &Range<u64>) -> bool {
    a.start < b.end && b.start < a.end
}
