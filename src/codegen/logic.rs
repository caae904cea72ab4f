//! codegen/logic.rs: `! && || ^^ ?:`, some of whose operands run conditionally.

use super::error::Result;
use super::expr::Object;
use crate::typeck::typed::{Expr, LogicOp};
use kinst_dif::insn::{Opcode, Reg};

impl Object<'_, '_> {
    pub(super) fn not(&mut self, value: &Expr) -> Result<Reg> {
        let reg = self.eval(value)?;
        self.asm.tst(reg);
        self.truth(Opcode::Be, reg);
        Ok(reg)
    }

    pub(super) fn logic(&mut self, op: LogicOp, left: &Expr, right: &Expr) -> Result<Reg> {
        match op {
            LogicOp::And => self.and(left, right),
            LogicOp::Or => self.or(left, right),
            LogicOp::Xor => self.xor(left, right),
        }
    }

    fn and(&mut self, left: &Expr, right: &Expr) -> Result<Reg> {
        let (no, end) = (self.asm.label(), self.asm.label());
        let reg = self.eval(left)?;
        self.regs.free(reg);
        self.before_branch(right)?;
        self.asm.tst(reg);
        self.asm.branch(Opcode::Be, no);
        let reg = self.sometimes(right)?;
        self.asm.tst(reg);
        self.asm.branch(Opcode::Be, no);
        self.asm.setx(1, reg);
        self.asm.branch(Opcode::Ba, end);
        self.asm.bind(no);
        self.asm.mov(0, reg);
        self.asm.bind(end);
        self.asm.plain(Opcode::Nop);
        Ok(reg)
    }

    fn or(&mut self, left: &Expr, right: &Expr) -> Result<Reg> {
        let (yes, no, end) = (self.asm.label(), self.asm.label(), self.asm.label());
        let reg = self.eval(left)?;
        self.regs.free(reg);
        self.before_branch(right)?;
        self.asm.tst(reg);
        self.asm.branch(Opcode::Bne, yes);
        let reg = self.sometimes(right)?;
        self.asm.tst(reg);
        self.asm.branch(Opcode::Be, no);
        self.asm.bind(yes);
        self.asm.setx(1, reg);
        self.asm.branch(Opcode::Ba, end);
        self.asm.bind(no);
        self.asm.mov(0, reg);
        self.asm.bind(end);
        self.asm.plain(Opcode::Nop);
        Ok(reg)
    }

    /// Evaluates both operands, which always run; each becomes 0 or 1.
    fn xor(&mut self, left: &Expr, right: &Expr) -> Result<Reg> {
        let left = self.eval(left)?;
        self.asm.tst(left);
        self.truth(Opcode::Bne, left);
        let held = self.regs.hold(left);
        let right = self.eval(right)?;
        self.asm.tst(right);
        self.truth(Opcode::Bne, right);
        let left = self.take(held)?;
        self.asm.three(Opcode::Xor, left, right, left);
        self.regs.free(right);
        Ok(left)
    }

    /// Evaluates a conditional; both branches leave their value in the register of the first.
    pub(super) fn conditional(&mut self, condition: &Expr, then: &Expr, otherwise: &Expr) -> Result<Reg> {
        let (no, end) = (self.asm.label(), self.asm.label());
        let reg = self.eval(condition)?;
        self.regs.free(reg);
        self.before_branch(then)?;
        self.before_branch(otherwise)?;
        self.asm.tst(reg);
        self.asm.branch(Opcode::Be, no);
        let result = self.sometimes(then)?;
        self.regs.free(result);
        self.asm.branch(Opcode::Ba, end);
        self.asm.bind(no);
        let reg = self.sometimes(otherwise)?;
        if reg != result {
            // This register is free: no value that was held before the branches has moved.
            self.asm.mov(reg, result);
            self.regs.free(reg);
            self.regs.claim(result);
        }
        self.asm.bind(end);
        self.asm.plain(Opcode::Nop);
        Ok(result)
    }

    /// Evaluates an operand that runs conditionally.
    fn sometimes(&mut self, expr: &Expr) -> Result<Reg> {
        let floor = self.regs.enter_branch();
        let reg = self.eval(expr);
        self.regs.leave_branch(floor);
        reg
    }
}
