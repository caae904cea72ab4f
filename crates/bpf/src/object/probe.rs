//! bpf/object/probe.rs: the kind of a probe, and where its hit is.

use crate::asm::Assembler;
use crate::insn::Reg::{self, R6};
use crate::insn::Width;
use crate::machine::Machine;
use kinst_base::machine::PtRegs;

/// The kind of context that a program has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum ProbeKind {
    /// Registers at an instruction, which has no arguments.
    Insn,
    /// Registers at a function's entry.
    Entry,
    /// Registers where a function is left.
    Return,
    /// The arguments of a function at its entry (fentry).
    Fentry,
    /// The arguments of a function that has returned, and what it returns (fexit).
    Fexit,
    /// Registers at the entry of one of many functions (kprobe.multi), and at the return. Those that a function's callers do
    /// not use are not all there.
    MultiEntry,
    /// Registers at the return from one of many functions.
    MultiReturn,
    /// A timer, whose context begins with registers.
    Timer,
    /// Nothing: BEGIN and END.
    Bare,
    /// The context of the probe that faulted; its arguments are in the CPU's memory.
    Error,
    /// The caller's registers and the number of a system call.
    CallEntry,
    /// The caller's registers and what a system call returns.
    CallReturn,
    /// The arguments of a tracepoint, so many.
    Trace(u8),
    /// The arguments of a tracepoint that an event is made of.
    Event,
}

impl ProbeKind {
    /// Whether it is a kprobe, at an instruction of the kernel, whose registers the context is.
    pub fn is_kprobe(self) -> bool {
        matches!(self, ProbeKind::Insn | ProbeKind::Entry | ProbeKind::Return)
    }

    /// Whether it has a trampoline of its own, as one function has.
    pub fn is_trampoline(self) -> bool {
        matches!(self, ProbeKind::Fentry | ProbeKind::Fexit)
    }

    /// Whether it is a kprobe.multi, of which programs find their place by the function.
    pub fn is_multi(self) -> bool {
        matches!(self, ProbeKind::MultiEntry | ProbeKind::MultiReturn)
    }

    /// Whether it is at a place in the kernel's code.
    pub fn is_text(self) -> bool {
        self.is_kprobe() || self.is_trampoline() || self.is_multi()
    }

    /// Whether it is at system calls, where the kernel runs its program for all of them.
    pub fn is_call(self) -> bool {
        matches!(self, ProbeKind::CallEntry | ProbeKind::CallReturn)
    }

    /// Whether its programs may write to the memory of a process: they are not run inside of an exception or interrupt.
    pub fn may_write(self) -> bool {
        let at_function = self == ProbeKind::Entry || self.is_trampoline() || self.is_multi();
        self.is_trace() || at_function || self == ProbeKind::Bare
    }

    /// Whether its programs may be preempted by one another.
    pub fn is_preempted(self) -> bool {
        self.is_trace() || self.is_trampoline() || self.is_multi()
    }

    /// Where the function at whose beginning or end it is returns to, if a register has that: it has no frame there.
    pub fn link(self, machine: &dyn Machine) -> Option<i16> {
        let is_end = matches!(self, ProbeKind::Entry | ProbeKind::Return);
        machine.registers().link.filter(|_| is_end)
    }

    /// Whether it is at a tracepoint.
    pub fn is_trace(self) -> bool {
        use ProbeKind as K;
        matches!(self, K::CallEntry | K::CallReturn | K::Trace(_) | K::Event)
    }
}

/// Loads the address of the instruction that is probed. R6 is the context.
pub fn place_of_hit(asm: &mut Assembler, machine: &dyn Machine, into: Reg) {
    let PtRegs { instruction, after_hit, .. } = *machine.registers();
    asm.load(Width::Double, into, R6, instruction);
    if after_hit != 0 {
        asm.add(into, -after_hit);
    }
}
