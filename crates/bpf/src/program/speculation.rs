//! bpf/program/speculation.rs: records that are held back until they are committed or discarded.
//!
//! They go through the ring like others and are held in user space. All CPUs share one ring, so the decision
//! arrives after them.

use super::writer::{Used, Writer};
use crate::asm::{Assembler, Label};
use crate::insn::Reg::{R0, R1, R2, R3, R7, R8};
use crate::insn::{Alu, Cond, Width};
use crate::memory::{HEADER, Map, cpu, wrapper};
use kinst_base::uapi::Flt;
use kinst_dif::ActionKind;

impl Writer<'_> {
    /// Points R1 at the speculation with the id in R8; jumps to `none` if the id is 0.
    fn speculation(&self, asm: &mut Assembler, none: Label) {
        asm.mov(R2, R8);
        asm.add(R2, -1);
        asm.branch(Cond::Ge, R2, self.memory.nspec as i32, none);
        asm.alu(Alu::Lsh, R2, 4);
        asm.map_value(R1, Map::Globals as u32, self.memory.speculations);
        asm.add(R1, R2);
    }

    /// speculate(), commit() and discard() with the id in R0; an id out of range is a fault.
    pub(super) fn end_speculation(
        &self,
        asm: &mut Assembler,
        kind: ActionKind,
        number: usize,
        used: &mut Used,
    ) {
        let (valid, done) = (asm.label(), asm.label());
        asm.mov(R8, R0);
        asm.branch(Cond::Le, R8, self.memory.nspec as i32, valid);
        asm.mov(R2, 0);
        self.fail(asm, Flt::ILLOP, R2, number, used);
        asm.bind(valid);
        if kind == ActionKind::Speculate {
            asm.store(Width::Double, R7, cpu::SPECULATION, R8);
            return;
        }
        self.speculation(asm, done);
        // The first program that finds it active ends it.
        asm.load(Width::Double, R3, R1, 8);
        asm.mov(R2, 0);
        asm.exchange(R1, 0, R2);
        asm.branch(Cond::Eq, R2, 0, done);
        let decision = if kind == ActionKind::Commit { wrapper::COMMIT } else { wrapper::DISCARD };
        self.wrap(asm, decision, wrapper::SIZE as i32);
        asm.bind(done);
    }

    /// Sends the record to its speculation if that is active.
    pub(super) fn speculate(&self, asm: &mut Assembler, size: u32) {
        let done = asm.label();
        asm.load(Width::Double, R8, R7, cpu::SPECULATION);
        self.speculation(asm, done);
        asm.load(Width::Double, R2, R1, 0);
        asm.branch(Cond::Eq, R2, 0, done);
        asm.load(Width::Double, R3, R1, 8);
        self.wrap(asm, wrapper::ADD, (wrapper::SIZE + HEADER + size) as i32);
        asm.bind(done);
    }

    /// Sends the record with its header: what to do with the speculation in R8, whose generation is in R3.
    fn wrap(&self, asm: &mut Assembler, what: i32, size: i32) {
        asm.point(R2, self.memory.record - wrapper::SIZE);
        asm.store(Width::Word, R2, 0, wrapper::EPID as i32);
        asm.store(Width::Word, R2, 16, what);
        asm.store(Width::Word, R2, 20, R8);
        asm.store(Width::Double, R2, 24, R3);
        asm.mov(R8, R2);
        self.send_bytes(asm, size, true);
    }
}
