//! codegen/bits.rs: bit-fields: loaded with the integer around them, shifted and extended; stored without touching their neighbours.

use super::Result;
use super::expr::Object;
use super::place::{load_opcode, store_opcode};
use super::regs::Held;
use crate::dif::insn::{Opcode, Reg};
use crate::typeck::typed::Bits;
use crate::types::Type;

impl Object<'_, '_> {
    /// The value of the bit-field, extended to 64 bits; `address` becomes its register.
    pub(super) fn load_bits(&mut self, bits: &Bits, ty: &Type, address: Reg) -> Result<Reg> {
        self.asm.load(load_opcode(self.unit_size(bits), false, bits.memory.user), address, address);
        self.extract(bits, ty, address)
    }

    /// Stores the value; what the bit-field then holds is in an owned register.
    pub(super) fn store_bits(&mut self, bits: &Bits, ty: &Type, value: Held, address: Held) -> Result<Reg> {
        let size = self.unit_size(bits);
        let value = self.take(value)?;
        let value = self.shift(Opcode::Sll, value, 64 - bits.bits)?;
        let value = self.shift(Opcode::Srl, value, 64 - bits.bits - bits.shift)?;
        let held = self.regs.hold(value);
        let address = self.take(address)?;
        let whole = self.allocate()?;
        self.asm.load(load_opcode(size, false, bits.memory.user), address, whole);
        let mask = self.constant(!(u64::MAX >> (64 - bits.bits) << bits.shift))?;
        self.asm.three(Opcode::And, whole, mask, whole);
        self.regs.free(mask);
        let value = self.take(held)?;
        self.asm.three(Opcode::Or, whole, value, whole);
        self.regs.free(value);
        self.asm.store(store_opcode(size), whole, address);
        self.regs.free(address);
        self.extract(bits, ty, whole)
    }

    fn extract(&mut self, bits: &Bits, ty: &Type, whole: Reg) -> Result<Reg> {
        // gcc takes the values of an enum without a negative one for unsigned.
        let signed = matches!(ty.resolved(), Type::Int(int) if int.signed);
        let reg = self.shift(Opcode::Sll, whole, 64 - bits.bits - bits.shift)?;
        self.shift(if signed { Opcode::Sra } else { Opcode::Srl }, reg, 64 - bits.bits)
    }

    fn shift(&mut self, op: Opcode, reg: Reg, by: u32) -> Result<Reg> {
        if by == 0 {
            return Ok(reg);
        }
        let held = self.regs.hold(reg);
        let amount = self.constant(by.into())?;
        let reg = self.take(held)?;
        self.asm.three(op, reg, amount, reg);
        self.regs.free(amount);
        Ok(reg)
    }

    fn unit_size(&self, bits: &Bits) -> u64 {
        self.generator.program.layout.size(&bits.unit).unwrap_or(8)
    }
}
