//! bpf/program/level.rs: the context that a hit has interrupted, from the kernel's interrupt counts.

use super::writer::Writer;
use crate::asm::Assembler;
use crate::insn::Reg::{Frame, R0, R1, R2, R3, R7, R8};
use crate::insn::{Alu, Cond, Helper, Width};
use crate::memory::cpu;
use crate::object::ProbeKind;

/// A frame slot for reads.
const SLOT: i16 = -8;
/// In the count, the number of bits for non-maskable interrupts, above the ones for hard interrupts, and the
/// bit of a running soft interrupt.
const NMI: i32 = 4;
const SERVING: i32 = 1 << 8;

impl Writer<'_> {
    /// Writes the level to the CPU's memory: 0 a thread, 1 a soft interrupt, 2 an interrupt. A breakpoint
    /// itself counts as an interrupt of both kinds, and a timer as a hard one.
    pub(super) fn level(&self, asm: &mut Assembler) {
        use ProbeKind as K;
        if self.kind.is_in_program() || matches!(self.kind, K::Bare | K::CallEntry | K::CallReturn) {
            asm.store(Width::Double, R7, cpu::LEVEL, 0);
            return;
        }
        let (known, unknown, interrupt) = (asm.label(), asm.label(), asm.label());
        let interrupts = self.prologue.kernel.interrupts;
        asm.mov(R8, 0);
        match interrupts.in_task {
            None => asm.load(Width::Double, R3, R7, cpu::INTERRUPTS),
            Some(offset) => task(asm, offset),
        }
        asm.read(SLOT, 4, unknown);
        asm.load(Width::Double, R1, Frame, SLOT);
        let hard = i32::from(interrupts.hard);
        for (from, most, to) in [(hard, 0xf, R3), (hard + NMI, interrupts.most_nmi.into(), R2)] {
            asm.mov(to, R1);
            asm.alu(Alu::Rsh, to, from);
            asm.alu(Alu::And, to, most);
        }
        asm.add(R2, i32::from(self.kind == K::Timer));
        asm.branch(Cond::Gt, R3, R2, interrupt);
        if let Some(offset) = interrupts.soft_in_task {
            task(asm, offset);
            asm.read(SLOT, 4, unknown);
            asm.load(Width::Double, R1, Frame, SLOT);
        }
        asm.alu(Alu::And, R1, SERVING);
        asm.branch(Cond::Eq, R1, 0, known);
        asm.mov(R8, 1);
        asm.jump(known);
        asm.bind(interrupt);
        asm.mov(R8, 2);
        asm.bind(known);
        asm.bind(unknown);
        asm.store(Width::Double, R7, cpu::LEVEL, R8);
    }
}

/// Loads the address of a task's member into R3.
fn task(asm: &mut Assembler, offset: u16) {
    asm.call(Helper::GetCurrentTask);
    asm.mov(R3, R0);
    asm.add(R3, i32::from(offset));
}
