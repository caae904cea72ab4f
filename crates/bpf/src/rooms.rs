//! bpf/rooms.rs: how code reaches the places in the CPU's memory.

use super::asm::{Assembler, Label};
use super::insn::Reg::{self, R0, R1, R2, R3, R7};
use super::insn::{Cond, Helper, Width};
use super::memory::{SCRATCH, cpu};

/// The CPU's memory, which R7 points at in all code but the beginning of a program.
impl Assembler {
    /// Makes a register point at a place in it.
    pub fn point(&mut self, into: Reg, at: u32) {
        self.mov(into, R7);
        self.add(into, at as i32);
    }

    /// Fills a place in it, and up to the next word, with zeros, which the constants begin with.
    pub fn clear(&mut self, at: u32, size: u32) {
        // Of so few, a store for each is the quickest.
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

    /// Loads the address of the program's registers as a number; R0 to R5 are lost.
    pub fn user_registers(&mut self, into: Reg) {
        self.call(Helper::GetCurrentTaskBtf);
        self.mov(R1, R0);
        self.call(Helper::TaskPtRegs);
        self.store(Width::Double, R7, cpu::ADDRESS, R0);
        self.load(Width::Double, into, R7, cpu::ADDRESS);
    }

    /// Goes on elsewhere if a fault has been noted in it, by way of R1.
    pub fn if_faulted(&mut self, to: Label) {
        self.load(Width::Word, R1, R7, cpu::FAULT);
        self.branch(Cond::Ne, R1, 0, to);
    }
}
