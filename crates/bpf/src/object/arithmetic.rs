//! bpf/object/arithmetic.rs: arithmetic modulo 2^64.

use super::function::Object;
use crate::insn::Reg::{self, R1, R2, R3};
use crate::insn::{Alu, Cond};
use crate::missing::Missing;
use kinst_base::uapi::Flt;
use kinst_dif::insn::Opcode;

impl Object<'_, '_> {
    pub(super) fn arithmetic(&mut self, op: Opcode, r1: u8, r2: u8, rd: u8) -> Result<(), Missing> {
        self.get(R1, r1);
        self.get(R2, r2);
        let alu = match op {
            Opcode::Or => Alu::Or,
            Opcode::Xor => Alu::Xor,
            Opcode::And => Alu::And,
            Opcode::Add => Alu::Add,
            Opcode::Sub => Alu::Sub,
            Opcode::Mul => Alu::Mul,
            Opcode::Sll => Alu::Lsh,
            Opcode::Srl => Alu::Rsh,
            Opcode::Sra => Alu::Arsh,
            Opcode::Udiv => Alu::Div,
            Opcode::Urem => Alu::Mod,
            Opcode::Sdiv | Opcode::Srem => {
                self.divide_signed(op);
                self.set(rd, R1);
                return Ok(());
            }
            _ => return Err(Missing::Invalid),
        };
        match alu {
            Alu::Lsh | Alu::Rsh | Alu::Arsh => self.asm.alu(Alu::And, R2, 63),
            Alu::Div | Alu::Mod => self.not_zero(R2),
            _ => {}
        }
        self.asm.alu(alu, R1, R2);
        self.set(rd, R1);
        Ok(())
    }

    /// Faults unless an index is below a length; a negative index is a large one.
    pub(super) fn bound(&mut self, index: u8, length: u8) {
        self.get(R1, index);
        self.get(R2, length);
        let beyond = self.fault(Flt::BADINDEX);
        self.asm.branch(Cond::Ge, R1, R2, beyond);
    }

    fn not_zero(&mut self, divisor: Reg) {
        let zero = self.fault(Flt::DIVZERO);
        let good = self.asm.label();
        self.asm.branch(Cond::Ne, divisor, 0, good);
        self.asm.mov(R1, 0);
        self.asm.jump(zero);
        self.asm.bind(good);
    }

    /// Divides R1 by R2. The machine divides only unsigned numbers: divides the magnitudes, then sets the sign.
    fn divide_signed(&mut self, op: Opcode) {
        self.not_zero(R2);
        // R3: whether the result is negative. The remainder has the sign of the dividend.
        self.asm.mov(R3, R1);
        if op == Opcode::Sdiv {
            self.asm.alu(Alu::Xor, R3, R2);
        }
        for reg in [R1, R2] {
            let positive = self.asm.label();
            self.asm.branch(Cond::SignedGe, reg, 0, positive);
            self.asm.neg(reg);
            self.asm.bind(positive);
        }
        self.asm.alu(if op == Opcode::Sdiv { Alu::Div } else { Alu::Mod }, R1, R2);
        let positive = self.asm.label();
        self.asm.branch(Cond::SignedGe, R3, 0, positive);
        self.asm.neg(R1);
        self.asm.bind(positive);
    }
}
