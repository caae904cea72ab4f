//! bpf/object/memory.rs: loads, which the kernel checks, and stores to the program's memory.

use super::function::{COPY, KEY, Object};
use crate::insn::Reg::{Frame, R0, R1, R2, R3, R7, R8};
use crate::insn::{Alu, Cond, Helper, Width};
use crate::library::Function;
use crate::memory::{SCRATCH, cpu};
use crate::missing::Missing;
use kinst_base::uapi::Flt;
use kinst_dif::insn::Opcode;

impl Object<'_, '_> {
    pub(super) fn load(&mut self, op: Opcode, r1: u8, rd: u8) -> Result<(), Missing> {
        use Opcode::*;
        let user = op.reads_process();
        let width = match op {
            Ldsb | Ldub | Uldsb | Uldub | Rldsb | Rldub => Width::Byte,
            Ldsh | Lduh | Uldsh | Ulduh | Rldsh | Rlduh => Width::Half,
            Ldsw | Lduw | Uldsw | Ulduw | Rldsw | Rlduw => Width::Word,
            Ldx | Uldx | Rldx => Width::Double,
            _ => return Err(Missing::Invalid),
        };
        let signed = matches!(op, Ldsb | Ldsh | Ldsw | Uldsb | Uldsh | Uldsw | Rldsb | Rldsh | Rldsw);
        self.get(R3, r1);
        self.asm.mov(R8, R3);
        self.read(if user { Helper::ProbeReadUser } else { Helper::ProbeReadKernel }, width);
        self.asm.load(width, R1, Frame, COPY);
        if signed {
            let unused = 64 - 8 * width.bytes() as i32;
            self.asm.alu(Alu::Lsh, R1, unused);
            self.asm.alu(Alu::Arsh, R1, unused);
        }
        self.set(rd, R1);
        Ok(())
    }

    /// Copies the memory at R3, which is also in R8, to the stack.
    pub(super) fn read(&mut self, helper: Helper, width: Width) {
        self.asm.mov(R1, Frame);
        self.asm.add(R1, i32::from(COPY));
        self.asm.mov(R2, width.bytes() as i32);
        self.asm.call(helper);
        let bad = self.fault(Flt::BADADDR);
        self.asm.mov(R1, R8);
        self.asm.branch(Cond::Ne, R0, 0, bad);
    }

    pub(super) fn store(&mut self, op: Opcode, rs: u8, rd: u8) -> Result<(), Missing> {
        let function = match op {
            Opcode::Stb => Function::StoreByte,
            Opcode::Sth => Function::StoreHalf,
            Opcode::Stw => Function::StoreWord,
            Opcode::Stx => Function::StoreDouble,
            _ => return Err(Missing::Invalid),
        };
        self.get(R1, rd);
        self.get(R2, rs);
        self.library(function);
        Ok(())
    }

    pub(super) fn allocate(&mut self, r1: u8, rd: u8) {
        self.get(R1, r1);
        self.library(Function::Allocate);
        self.set(rd, R0);
    }

    /// Copies a structure.
    pub(super) fn copy(&mut self, from: u8, size: u8, to: u8) {
        let none = self.asm.label();
        self.get(R3, size);
        self.asm.branch(Cond::Eq, R3, 0, none);
        self.get(R1, to);
        self.get(R2, from);
        self.library(Function::Copy);
        self.asm.bind(none);
    }

    /// Allocates a few bytes: R1 points at them, and the key's slot holds their address.
    pub(super) fn temporary(&mut self, bytes: i32) {
        let full = self.fault(Flt::NOSCRATCH);
        let scratch = self.shared.memory.scratch as i32;
        self.asm.mov(R1, 0);
        self.asm.load(Width::Double, R8, R7, cpu::USED);
        self.asm.branch(Cond::Gt, R8, SCRATCH as i32 - bytes, full);
        self.asm.mov(R2, R8);
        self.asm.add(R2, bytes);
        self.asm.store(Width::Double, R7, cpu::USED, R2);
        self.asm.mov(R1, R7);
        self.asm.load(Width::Double, R3, R7, cpu::SELF);
        for reg in [R1, R3] {
            self.asm.add(reg, scratch);
            self.asm.add(reg, R8);
        }
        self.asm.store(Width::Double, Frame, KEY, R3);
    }
}
