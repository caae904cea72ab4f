//! bpf/rooms.rs: assembler code that addresses the CPU's memory.

use super::asm::{Assembler, Label};
use super::insn::Reg::{self, R0, R1, R2, R3, R7};
use super::insn::{Cond, Helper, Width};
use super::memory::{SCRATCH, cpu};

/// R7 points at the CPU's memory, except at the beginning of a program.
impl Assembler {
    /// Points a register at an offset.
    pub fn point(&mut self, into: Reg, at: u32) {
        self.mov(into, R7);
        self.add(into, at as i32);
    }

    /// Fills a field, rounded up to words, with zeros from the beginning of the constants.
    pub fn clear(&mut self, at: u32, size: u32) {
        // Up to this many, one store for each is fastest.
        const WORDS: u32 = 8;
        if size <= 8 * WORDS
            && let Ok(end) = i16::try_from(at + size)
        {
            (at as i16..end).step_by(8).for_each(|word| self.store(Width::Double, R7, word, 0));
            return;
        }
        for done in (0..size).step_by(SCRATCH as usize) {
            self.point(R1, at + done);
            self.mov(R2, SCRATCH.min(size - done) as i32);
            self.load(Width::Double, R3, R7, cpu::CONSTANTS);
            self.call(Helper::ProbeReadKernel);
        }
    }

    /// Loads the address of the process's registers as a number; clobbers R0 to R5.
    pub fn user_registers(&mut self, into: Reg) {
        self.call(Helper::GetCurrentTaskBtf);
        self.mov(R1, R0);
        self.call(Helper::TaskPtRegs);
        self.store(Width::Double, R7, cpu::ADDRESS, R0);
        self.load(Width::Double, into, R7, cpu::ADDRESS);
    }

    /// Jumps to `to` if a fault has been noted; clobbers R1.
    pub fn if_faulted(&mut self, to: Label) {
        self.load(Width::Word, R1, R7, cpu::FAULT);
        self.branch(Cond::Ne, R1, 0, to);
    }
}
