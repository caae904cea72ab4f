//! codegen/bits.rs: bit-fields: loaded with the enclosing integer; stored without changing their neighbours.

use super::error::Result;
use super::expr::Object;
use super::place::{load_opcode, store_opcode};
use super::regs::Held;
use crate::typeck::typed::Bits;
use kinst_dif::insn::{Opcode, Reg};
use kinst_types::Type;

impl Object<'_, '_> {
    /// Loads the value of the bit-field, extended to 64 bits, into the register of `address`.
    pub(super) fn load_bits(&mut self, bits: &Bits, ty: &Type, address: Reg) -> Result<Reg> {
        self.asm.load(load_opcode(self.unit_size(bits), false, bits.memory.user), address, address);
        self.extract(bits, ty, address)
    }

    /// Stores the value; returns the bit-field's new value in an owned register.
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
        // gcc treats the values of an enum as unsigned if none is negative.
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

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use crate::codegen::tests::{compile, run};

    /// Declarations with their lengths and signedness, as gcc treats them.
    const FIELDS: &[(&str, u32, bool)] = &[
        ("unsigned int a : 3", 3, false),
        ("int b : 5", 5, true),
        ("unsigned short c : 9", 9, false),
        ("long d : 33", 33, true),
        ("unsigned char e : 1", 1, false),
        ("unsigned long f : 64", 64, false),
        ("char g : 7", 7, true),
    ];

    /// Returns the value that a bit-field holds after `value` was stored in it.
    fn held(value: i64, bits: u32, signed: bool) -> i64 {
        let shift = 64 - bits;
        if signed { (value << shift) >> shift } else { ((value as u64) << shift >> shift) as i64 }
    }

    proptest! {
        /// A store changes no neighbour, and a load returns what was stored.
        #[test]
        fn a_struct_of_bit_fields_is_an_array_of_numbers(
            stores in prop::collection::vec((0..FIELDS.len(), -(1i64 << 40)..(1i64 << 40), 0..4), 1..12)
        ) {
            let members: String = FIELDS.iter().map(|(text, ..)| format!("{text}; ")).collect();
            let name = |index: usize| char::from(b'a' + index as u8);
            let (mut body, mut model) = (String::new(), vec![0i64; FIELDS.len()]);
            for (index, value, how) in stores {
                let (_, bits, signed) = FIELDS[index];
                let (field, old) = (name(index), model[index]);
                let new = match how {
                    0 => { body += &format!("p->{field} += {value}; "); old.wrapping_add(value) }
                    1 => { body += &format!("p->{field}++; "); old.wrapping_add(1) }
                    2 => { body += &format!("--p->{field}; "); old.wrapping_sub(1) }
                    _ => { body += &format!("p->{field} = {value}; "); value }
                };
                model[index] = held(new, bits, signed);
            }
            for index in 0..FIELDS.len() {
                body += &format!("trace((int64_t)p->{}); ", name(index));
            }
            let program = compile(&format!(
                "struct s {{ {members} }}; BEGIN {{ p = (struct s *)alloca(sizeof (struct s)); {body} }}"
            ));
            let values = run(&program).unwrap();
            let seen: Vec<i64> = values[values.len() - FIELDS.len()..].iter().map(|v| *v as i64).collect();
            prop_assert_eq!(seen, model, "{}", body);
        }
    }
}
