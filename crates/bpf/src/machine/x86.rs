//! bpf/machine/x86.rs: x86-64.

use super::control::Machine;
use crate::asm::{Assembler, Label};
use crate::insn::Reg::{Frame, R1, R2, R3, R6};
use crate::insn::{Alu, Cond, Width};
use kinst_base::machine::Facts;
use kinst_base::machine::x86::{CX, FACTS, FLAGS};
use kinst_base::probe::{Condition, Key};

#[derive(Debug)]
pub(super) struct X86;

/// Flags that conditions depend on, and bits derived from them and from the count register.
mod bit {
    pub(super) const CARRY: u32 = 1;
    pub(super) const PARITY: u32 = 1 << 2;
    pub(super) const ZERO: u32 = 1 << 6;
    pub(super) const SIGN: u32 = 1 << 7;
    pub(super) const OVERFLOW: u32 = 1 << 11;
    pub(super) const ALL: u32 = 0xfff;
    /// Less: the sign and overflow flags differ.
    pub(super) const LESS: u32 = 1 << 16;
    /// The count is 0, or 1.
    pub(super) const NONE: u32 = 1 << 17;
    pub(super) const LAST: u32 = 1 << 18;
    pub(super) const NOT_ZERO: u32 = 1 << 19;
}

impl Machine for X86 {
    fn facts(&self) -> &'static Facts {
        &FACTS
    }

    /// Conditions are opcodes of the short form.
    fn condition(&self, Condition(opcode): Condition) -> (u32, bool) {
        match opcode {
            0xe0 => (bit::LAST | bit::ZERO, true),
            0xe1 => (bit::LAST | bit::NOT_ZERO, true),
            0xe2 => (bit::LAST, true),
            0xe3 => (bit::NONE, false),
            _ => {
                let bits = match opcode & 0xe {
                    0x0 => bit::OVERFLOW,
                    0x2 => bit::CARRY,
                    0x4 => bit::ZERO,
                    0x6 => bit::CARRY | bit::ZERO,
                    0x8 => bit::SIGN,
                    0xa => bit::PARITY,
                    0xc => bit::LESS,
                    _ => bit::ZERO | bit::LESS,
                };
                (bits, opcode & 1 != 0)
            }
        }
    }

    fn flags(&self, asm: &mut Assembler) {
        asm.load(Width::Double, R1, R6, FLAGS);
        asm.alu(Alu::And, R1, bit::ALL as i32);
        let one_bit = |asm: &mut Assembler, from: i32, to: u32| {
            asm.alu(Alu::Rsh, R2, from);
            asm.alu(Alu::And, R2, 1);
            asm.alu(Alu::Lsh, R2, to.trailing_zeros() as i32);
            asm.alu(Alu::Or, R1, R2);
        };
        // The overflow bit, moved to the position of the sign.
        asm.mov(R2, R1);
        asm.alu(Alu::Rsh, R2, 4);
        asm.alu(Alu::Xor, R2, R1);
        one_bit(asm, 7, bit::LESS);
        asm.mov(R2, R1);
        asm.alu(Alu::Xor, R2, bit::ZERO as i32);
        one_bit(asm, 6, bit::NOT_ZERO);
        asm.load(Width::Double, R2, R6, CX);
        for (count, bit) in [(0, bit::NONE), (1, bit::LAST)] {
            let other = asm.label();
            asm.branch(Cond::Ne, R2, count, other);
            asm.alu(Alu::Or, R1, bit as i32);
            asm.bind(other);
        }
    }

    /// One-byte `push`, `pop` and `leave`: the reported address is the one after the breakpoint.
    fn is_past_stack(&self, byte: u8) -> bool {
        matches!(byte, 0x50..=0x5f | 0xc9)
    }

    /// While the kernel rewrites it, it begins with a breakpoint; the other bytes decide.
    fn label(&self, asm: &mut Assembler, key: &Key, slot: i16, out: Label) {
        const LONG: u8 = 5;
        asm.number(R3, key.address);
        asm.read(slot, key.len.min(8).into(), out);
        asm.load(Width::Double, R1, Frame, slot);
        // The distance of a jump, sign-extended.
        asm.mov(R2, R1);
        let (left, right) = if key.len == LONG { (24, 32) } else { (48, 56) };
        asm.alu(Alu::Lsh, R2, left);
        asm.alu(Alu::Arsh, R2, right);
        asm.alu(Alu::And, R1, 0xff);
        let (jumps, stays) = (asm.label(), asm.label());
        for opcode in [0xe9, 0xeb] {
            asm.branch(Cond::Eq, R1, opcode, jumps);
        }
        // The bytes of a nop after the first.
        let nop = if key.len == LONG { 0x441f } else { 0x90u8 as i8 as i32 };
        let other = asm.label();
        asm.branch(Cond::Ne, R1, 0xcc, other);
        asm.branch(Cond::Ne, R2, nop, jumps);
        asm.bind(other);
        asm.mov(R2, 0);
        asm.jump(stays);
        asm.bind(jumps);
        asm.bind(stays);
        asm.number(R3, key.address.wrapping_add(key.len.into()));
        asm.add(R3, R2);
        asm.number(R2, key.to);
        asm.branch(Cond::Ne, R3, R2, out);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Whether a branch is taken, according to the processor's manual.
    fn taken(opcode: u8, flags: u32, count: u64) -> bool {
        let set = |bit: u32| flags & bit != 0;
        let less = set(bit::SIGN) != set(bit::OVERFLOW);
        match opcode {
            0xe0 => count.wrapping_sub(1) != 0 && !set(bit::ZERO),
            0xe1 => count.wrapping_sub(1) != 0 && set(bit::ZERO),
            0xe2 => count.wrapping_sub(1) != 0,
            0xe3 => count == 0,
            0x70 | 0x71 => set(bit::OVERFLOW) == (opcode == 0x70),
            0x72 | 0x73 => set(bit::CARRY) == (opcode == 0x72),
            0x74 | 0x75 => set(bit::ZERO) == (opcode == 0x74),
            0x76 | 0x77 => (set(bit::CARRY) || set(bit::ZERO)) == (opcode == 0x76),
            0x78 | 0x79 => set(bit::SIGN) == (opcode == 0x78),
            0x7a | 0x7b => set(bit::PARITY) == (opcode == 0x7a),
            0x7c | 0x7d => less == (opcode == 0x7c),
            _ => (set(bit::ZERO) || less) == (opcode == 0x7e),
        }
    }

    /// Computes the word as the code does.
    fn made(flags: u32, count: u64) -> u32 {
        let mut word = flags & bit::ALL;
        let mut set = |bit: u32, is: bool| word |= if is { bit } else { 0 };
        set(bit::LESS, (flags & bit::SIGN != 0) != (flags & bit::OVERFLOW != 0));
        set(bit::NOT_ZERO, flags & bit::ZERO == 0);
        set(bit::NONE, count == 0);
        set(bit::LAST, count == 1);
        word
    }

    #[test]
    fn all_conditions_at_all_flags() {
        let bits = [bit::CARRY, bit::PARITY, bit::ZERO, bit::SIGN, bit::OVERFLOW];
        for opcode in (0x70..=0x7f).chain(0xe0..=0xe3) {
            for choice in 0..1 << bits.len() {
                let flags =
                    bits.iter().enumerate().filter(|(at, _)| choice >> at & 1 != 0).map(|(_, bit)| bit).sum();
                for count in [0, 1, 2, u64::MAX] {
                    let (bits, inverted) = X86.condition(Condition(opcode));
                    let goes = (made(flags, count) & bits != 0) != inverted;
                    assert_eq!(goes, taken(opcode, flags, count), "{opcode:x} {flags:x} {count}");
                }
            }
        }
    }
}
