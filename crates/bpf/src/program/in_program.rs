//! bpf/program/in_program.rs: the beginning at a place in a program: the process, and memory for the hit.
//!
//! The kernel may preempt the code of such a place, and run another thread on the CPU that hits one too. Each
//! CPU has several values of memory, its lanes. The first one belongs to the kernel's places, whose code
//! interrupts this one.

use super::begin::SLOT;
use super::lanes::Lanes;
use super::writer::Writer;
use crate::asm::{Assembler, Label};
use crate::insn::Reg::{Frame, R0, R1, R7};
use crate::insn::{Alu, Cond, Helper, Width};
use crate::memory::{Map, cpu};

/// A frame slot: the CPU.
const CPU: i16 = -16;

impl Writer<'_> {
    /// Exits unless the hit is of the process and on the CPU to trace, and keeps the CPU.
    pub(super) fn hit_in_program(&self, asm: &mut Assembler, out: Label) {
        if let Some(process) = self.prologue.process {
            asm.call(Helper::GetCurrentPidTgid);
            asm.alu(Alu::Rsh, R0, 32);
            asm.branch(Cond::Ne, R0, process as i32, out);
        }
        self.while_active(asm, out);
        asm.call(Helper::GetSmpProcessorId);
        if let Some(cpu) = self.prologue.cpu {
            asm.branch(Cond::Ne, R0, cpu as i32, out);
        }
        asm.store(Width::Double, Frame, CPU, R0);
    }

    /// Takes the first free lane of the CPU. If there is none, counts the hit as lost.
    pub(super) fn take_lane(&self, asm: &mut Assembler, out: Label) {
        let Lanes { cpus, each } = self.prologue.lanes;
        let free = asm.label();
        for lane in 1..each {
            asm.load(Width::Double, R1, Frame, CPU);
            asm.add(R1, (lane * cpus) as i32);
            asm.store(Width::Word, Frame, SLOT, R1);
            asm.lookup(Map::Cpus as u32, SLOT);
            asm.branch(Cond::Eq, R0, 0, out);
            asm.mov(R7, R0);
            // The reader of aggregations must see that this one runs before it reads which half to use.
            asm.mov(R1, 1);
            asm.exchange(R7, cpu::BUSY, R1);
            asm.branch(Cond::Eq, R1, 0, free);
        }
        self.lose(asm, out);
        asm.bind(free);
        self.choose_half(asm);
    }
}
