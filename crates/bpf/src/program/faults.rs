//! bpf/program/faults.rs: faults: one record each, and the clauses of ERROR.

use super::refusal::Refusal;
use super::writer::{At, Used, Writer};
use crate::asm::{Assembler, FunctionKind, Label};
use crate::insn::Reg::{self, Frame, R0, R1, R2, R6, R7, R8};
use crate::insn::{Alu, Width};
use crate::memory::{HEADER, cpu};
use crate::object::ProbeKind;
use kinst_base::uapi;
use std::mem::offset_of;

/// Frame words of ERROR's clauses: the data of the probe that faulted.
const SAVED: i16 = -64;
const WORDS: i16 = 5;

impl Writer<'_> {
    /// Ends the clause with a fault; a register holds its value.
    pub(super) fn fail(
        &self,
        asm: &mut Assembler,
        code: uapi::Flt,
        value: Reg,
        number: usize,
        used: &mut Used,
    ) {
        let bad = asm.label();
        asm.store(Width::Word, R7, cpu::FAULT, code.0 as i32);
        asm.store(Width::Word, R7, cpu::FAULT_OFFSET, -1);
        asm.store(Width::Double, R7, cpu::FAULT_VALUE, value);
        used.failed.push((bad, number));
        asm.jump(bad);
    }

    /// Writes the code where the clause continues after a fault in an action.
    pub(super) fn faults(&self, asm: &mut Assembler, end: Label, used: &mut Used) {
        if used.failed.is_empty() {
            return;
        }
        asm.jump(end);
        let fault = asm.label();
        for (label, action) in used.failed.drain(..) {
            asm.bind(label);
            asm.mov(R1, action as i32);
            asm.jump(fault);
        }
        asm.bind(fault);
        // A fault in a clause of ERROR is not reported, because it would run the clauses of ERROR again.
        if self.kind == ProbeKind::Error {
            asm.count(R7, cpu::DOUBLE_FAULTS);
            return;
        }
        let record = *used.fault.get_or_insert_with(|| asm.label());
        asm.mov(R2, R7);
        asm.call_local(record);
        if !self.error.clauses.is_empty() {
            let error = *used.error.get_or_insert_with(|| asm.label());
            asm.mov(R1, R6);
            asm.mov(R2, R7);
            asm.call_local(error);
        }
    }

    /// Writes the function that sends a fault: (index of the action, the CPU's memory).
    pub(super) fn fault_record(&self, asm: &mut Assembler, label: Label) {
        asm.function(label, FunctionKind::Static);
        asm.mov(R7, R2);
        asm.point(R8, self.memory.record);
        asm.store(Width::Word, R8, 0, uapi::EPID_FAULT as i32);
        asm.load(Width::Double, R2, R7, cpu::EPID);
        let field = |offset: usize| HEADER as i16 + offset as i16;
        asm.store(Width::Word, R8, field(offset_of!(uapi::Fault, epid)), R2);
        asm.store(Width::Double, R7, cpu::ERROR + 8, R2);
        asm.store(Width::Word, R8, field(offset_of!(uapi::Fault, action)), R1);
        asm.store(Width::Double, R7, cpu::ERROR + 16, R1);
        asm.load(Width::Word, R2, R7, cpu::FAULT_OFFSET);
        asm.store(Width::Word, R8, field(offset_of!(uapi::Fault, offset)), R2);
        asm.alu(Alu::Lsh, R2, 32);
        asm.alu(Alu::Arsh, R2, 32);
        asm.store(Width::Double, R7, cpu::ERROR + 24, R2);
        asm.load(Width::Word, R2, R7, cpu::FAULT);
        asm.store(Width::Word, R8, field(offset_of!(uapi::Fault, fault)), R2);
        asm.store(Width::Double, R7, cpu::ERROR + 32, R2);
        asm.load(Width::Double, R2, R7, cpu::FAULT_VALUE);
        asm.store(Width::Double, R8, field(offset_of!(uapi::Fault, value)), R2);
        asm.store(Width::Double, R7, cpu::ERROR + 40, R2);
        if !self.prologue.timed {
            self.take_time(asm);
        }
        self.send(asm, size_of::<uapi::Fault>() as u32);
        asm.mov(R0, 0);
        asm.exit();
    }

    /// Writes the clauses of ERROR as a function. They reuse the scratch memory of the faulted clause, which
    /// has ended.
    pub(super) fn error_clauses(&self, asm: &mut Assembler, label: Label) -> Result<Used, Refusal> {
        asm.function(label, FunctionKind::Static);
        asm.mov(R6, R1);
        asm.mov(R7, R2);
        for word in 0..WORDS {
            asm.load(Width::Double, R1, R7, cpu::PROBE + 8 * word);
            asm.store(Width::Double, Frame, SAVED + 8 * word, R1);
        }
        asm.load(Width::Double, R8, R7, cpu::CONSTANTS);
        for (word, value) in (0..WORDS).zip(&self.error.place) {
            asm.number(R1, *value);
            if word < 4 {
                asm.add(R1, R8);
            }
            asm.store(Width::Double, R7, cpu::PROBE + 8 * word, R1);
        }
        asm.store(Width::Double, R7, cpu::ERROR, 0);
        asm.store(Width::Double, R7, cpu::TOKEN, 0);
        let (mut used, finished) = (Used::default(), asm.label());
        for (epid, clause) in &self.error.clauses {
            self.clause(asm, *clause, At::Error(*epid), &mut used, finished)?;
        }
        asm.bind(finished);
        for word in 0..WORDS {
            asm.load(Width::Double, R1, Frame, SAVED + 8 * word);
            asm.store(Width::Double, R7, cpu::PROBE + 8 * word, R1);
        }
        asm.mov(R0, 0);
        asm.exit();
        Ok(used)
    }
}
