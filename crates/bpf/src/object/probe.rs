//! bpf/object/probe.rs: kinds of probes, and the address of a hit.

use crate::asm::Assembler;
use crate::insn::Reg::{self, R6};
use crate::insn::Width;
use crate::machine::Machine;
use kinst_base::machine::PtRegs;
use kinst_base::probe::Passing;

/// The kind of context that a program gets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum ProbeKind {
    /// Registers at an instruction; no arguments.
    Insn,
    /// Registers at a function's entry.
    Entry,
    /// Registers at a function's exit.
    Return,
    /// The arguments of a function at its entry (fentry).
    Fentry,
    /// The arguments of a function that has returned, and its return value (fexit).
    Fexit,
    /// Registers at the entry of one of many functions (kprobe.multi). Registers that callers do not pass may
    /// be missing.
    MultiEntry,
    /// Registers at the return from one of many functions.
    MultiReturn,
    /// Registers of a program at one of its instructions; no arguments.
    UserInsn,
    /// Registers of a program at a function's entry.
    UserEntry(Passing),
    /// Registers of a program at a function's exit.
    UserReturn,
    /// A timer; its context begins with registers.
    Timer,
    /// Nothing: BEGIN and END.
    Bare,
    /// The context of the probe that faulted; its arguments are in the CPU's memory.
    Error,
    /// The caller's registers and the number of a system call.
    CallEntry,
    /// The caller's registers and a system call's return value.
    CallReturn,
    /// A tracepoint's arguments, with their number.
    Trace(u8),
    /// Arguments of the tracepoint that an event is based on.
    Event,
}

impl ProbeKind {
    /// Whether it is a kprobe at an instruction, with registers as its context.
    pub fn is_kprobe(self) -> bool {
        matches!(self, ProbeKind::Insn | ProbeKind::Entry | ProbeKind::Return)
    }

    /// Whether it is at an instruction of a program (uprobe), with the program's registers as its context.
    pub fn is_in_program(self) -> bool {
        matches!(self, ProbeKind::UserInsn | ProbeKind::UserEntry(_) | ProbeKind::UserReturn)
    }

    /// Whether it has a trampoline, at one function.
    pub fn is_trampoline(self) -> bool {
        matches!(self, ProbeKind::Fentry | ProbeKind::Fexit)
    }

    /// Whether it is a kprobe.multi, whose programs find their place by the function.
    pub fn is_multi(self) -> bool {
        matches!(self, ProbeKind::MultiEntry | ProbeKind::MultiReturn)
    }

    /// Whether it is at an instruction.
    pub fn is_text(self) -> bool {
        self.is_kprobe() || self.is_trampoline() || self.is_multi() || self.is_in_program()
    }

    /// Whether it is at system calls; the kernel runs its program for all of them.
    pub fn is_call(self) -> bool {
        matches!(self, ProbeKind::CallEntry | ProbeKind::CallReturn)
    }

    /// Whether its programs may write to process memory: they do not run in exceptions or interrupts.
    pub fn may_write(self) -> bool {
        let at_function = self == ProbeKind::Entry || self.is_trampoline() || self.is_multi();
        self.is_trace() || at_function || self.is_in_program() || self == ProbeKind::Bare
    }

    /// Whether its programs may preempt one another.
    pub fn is_preempted(self) -> bool {
        self.is_trace() || self.is_trampoline() || self.is_multi() || self.is_in_program()
    }

    /// Returns the register that holds the return address, at an entry or exit where the function has no frame.
    pub fn link(self, machine: &dyn Machine) -> Option<i16> {
        use ProbeKind as K;
        let is_end = matches!(self, K::Entry | K::Return | K::UserEntry(_) | K::UserReturn);
        machine.registers().link.filter(|_| is_end)
    }

    /// Whether it is at a tracepoint.
    pub fn is_trace(self) -> bool {
        use ProbeKind as K;
        matches!(self, K::CallEntry | K::CallReturn | K::Trace(_) | K::Event)
    }
}

/// Loads the address of the probed instruction. R6 is the context.
pub fn place_of_hit(asm: &mut Assembler, machine: &dyn Machine, into: Reg) {
    let PtRegs { instruction, after_hit, .. } = *machine.registers();
    asm.load(Width::Double, into, R6, instruction);
    if after_hit != 0 {
        asm.add(into, -after_hit);
    }
}
