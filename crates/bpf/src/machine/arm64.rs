//! bpf/machine/arm64.rs: 64-bit Arm.

use super::control::Machine;
use crate::asm::{Assembler, Label};
use crate::insn::Reg::{Frame, R1, R2, R3, R6};
use crate::insn::{Alu, Cond, Width};
use kinst_base::machine::Facts;
use kinst_base::machine::arm64::{FACTS, PSTATE};
use kinst_base::probe::{Condition, Key};

#[derive(Debug)]
pub(super) struct Arm64;

/// The flags, from the lowest on, and bits derived from them.
mod bit {
    pub(super) const OVERFLOW: u32 = 1;
    pub(super) const CARRY: u32 = 1 << 1;
    pub(super) const ZERO: u32 = 1 << 2;
    pub(super) const NEGATIVE: u32 = 1 << 3;
    /// Less: the sign and overflow flags differ.
    pub(super) const LESS: u32 = 1 << 4;
    pub(super) const NOT_CARRY: u32 = 1 << 5;
}

impl Machine for Arm64 {
    fn facts(&self) -> &'static Facts {
        &FACTS
    }

    /// Conditions are encoded as in b.cond.
    fn condition(&self, Condition(condition): Condition) -> (u32, bool) {
        let (bits, inverted) = match condition >> 1 & 7 {
            0 => (bit::ZERO, false),
            1 => (bit::CARRY, false),
            2 => (bit::NEGATIVE, false),
            3 => (bit::OVERFLOW, false),
            4 => (bit::NOT_CARRY | bit::ZERO, true),
            5 => (bit::LESS, true),
            6 => (bit::LESS | bit::ZERO, true),
            // Both codes mean "always".
            _ => return (0, true),
        };
        (bits, inverted != (condition & 1 != 0))
    }

    fn flags(&self, asm: &mut Assembler) {
        asm.load(Width::Double, R1, R6, PSTATE);
        asm.alu(Alu::Rsh, R1, 28);
        asm.alu(Alu::And, R1, 0xf);
        // Overflow xor sign, in the place of the bit for both.
        asm.mov(R2, R1);
        asm.alu(Alu::Lsh, R2, 3);
        asm.alu(Alu::Xor, R2, R1);
        asm.alu(Alu::And, R2, bit::NEGATIVE as i32);
        asm.alu(Alu::Lsh, R2, 1);
        asm.alu(Alu::Or, R1, R2);
        asm.mov(R2, R1);
        asm.alu(Alu::Xor, R2, bit::CARRY as i32);
        asm.alu(Alu::And, R2, bit::CARRY as i32);
        asm.alu(Alu::Lsh, R2, 4);
        asm.alu(Alu::Or, R1, R2);
    }

    fn is_past_stack(&self, _: u8) -> bool {
        false
    }

    /// The kernel rewrites it with a single store: it is `nop` or `b`.
    fn label(&self, asm: &mut Assembler, key: &Key, slot: i16, out: Label) {
        const NOP: u64 = 0xd503_201f;
        const JUMP: i32 = 0x14 >> 2;
        let (stays, known) = (asm.label(), asm.label());
        asm.number(R3, key.address);
        asm.read(slot, 4, out);
        asm.load(Width::Word, R1, Frame, slot);
        asm.number(R3, key.address);
        asm.number(R2, NOP);
        asm.branch(Cond::Eq, R1, R2, stays);
        asm.mov(R2, R1);
        asm.alu(Alu::Rsh, R2, 26);
        asm.branch(Cond::Ne, R2, JUMP, out);
        // The distance: the lower 26 bits, sign-extended, in units of four bytes.
        asm.alu(Alu::Lsh, R1, 38);
        asm.alu(Alu::Arsh, R1, 36);
        asm.add(R3, R1);
        asm.jump(known);
        asm.bind(stays);
        asm.add(R3, 4);
        asm.bind(known);
        asm.number(R2, key.to);
        asm.branch(Cond::Ne, R3, R2, out);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Whether the condition holds (Arm Architecture Reference Manual, ConditionHolds).
    fn holds(condition: u8, [n, z, c, v]: [bool; 4]) -> bool {
        let result = match condition >> 1 {
            0 => z,
            1 => c,
            2 => n,
            3 => v,
            4 => c && !z,
            5 => n == v,
            6 => n == v && !z,
            _ => return true,
        };
        result != (condition & 1 == 1)
    }

    #[test]
    fn all_conditions_at_all_flags() {
        for condition in 0..16u8 {
            for flags in 0..16u32 {
                let set = [3, 2, 1, 0].map(|bit| flags >> bit & 1 != 0);
                let [n, _, c, v] = set;
                let mut word = flags;
                word |= if n != v { bit::LESS } else { 0 };
                word |= if c { 0 } else { bit::NOT_CARRY };
                let (bits, inverted) = Arm64.condition(Condition(condition));
                assert_eq!((word & bits != 0) != inverted, holds(condition, set), "{condition} {flags:04b}");
            }
        }
    }
}
