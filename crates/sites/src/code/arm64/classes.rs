//! sites/code/arm64/classes.rs: instructions that the module refuses, quick ones, and ones that write.

use super::{exclusive, flow};
use crate::code::refusal::Refusal;
use crate::code::set::Takes;

/// Why the module refuses a probe on the instruction (kmod/arch/arm64/insn.c). Kprobes refuse more.
pub(super) fn refusal(word: Option<u32>) -> Option<Refusal> {
    let Some(word) = word else { return Some(Refusal::Undecodable) };
    match word {
        _ if word & 0xffff_0000 == 0 => Some(Refusal::Undefined),
        _ if word & 0x1c00_0000 == 0x1400_0000 => branch(word),
        _ if word & 0x0a00_0000 == 0x0800_0000 => memory(word),
        _ => None,
    }
}

/// Branches, exceptions and system instructions.
fn branch(word: u32) -> Option<Refusal> {
    const LINK: u32 = 30;
    match word {
        // hvc and smc run in a slot.
        _ if matches!(word & 0xffe0_001f, 0xd400_0002 | 0xd400_0003) => None,
        // svc, brk, hlt, dcps.
        _ if word & 0xff00_0000 == 0xd400_0000 => Some(Refusal::Int),
        _ if word & 0xfe00_0000 == 0xd600_0000 => match (word >> 21) & 7 {
            // blr, also with authentication: the module changes the link register first.
            1 if (word >> 5) & 31 == LINK => Some(Refusal::Rsp),
            1 if (word >> 10) & 63 != 0 && word >> 24 & 1 == 1 && word & 31 == LINK => Some(Refusal::Rsp),
            0..=2 => None,
            // eret and drps, with or without authentication.
            _ => Some(Refusal::Iret),
        },
        // b, bl; b.cond, bc.cond; cbz, cbnz; tbz, tbnz; system instructions.
        _ if word & 0x7c00_0000 == 0x1400_0000
            || word & 0xff00_0000 == 0x5400_0000
            || matches!(word & 0x7e00_0000, 0x3400_0000 | 0x3600_0000)
            || word & 0xfe00_0000 == 0xd400_0000 =>
        {
            None
        }
        _ => Some(Refusal::Undecodable),
    }
}

/// Loads and stores.
fn memory(word: u32) -> Option<Refusal> {
    match word {
        // A literal in a vector register.
        _ if word & 0x3b00_0000 == 0x1800_0000 => (word & 1 << 26 != 0).then_some(Refusal::Reach),
        _ if exclusive::is_exclusive(word) => Some(Refusal::Exclusive),
        // cpyfp, cpyfm, cpyfe, setp ...
        _ if word & 0x3b20_0c00 == 0x1900_0400 => Some(Refusal::Exclusive),
        _ => None,
    }
}

/// An estimate from the class of the encoding.
pub(super) fn takes(word: u32) -> Takes {
    match (word >> 25) & 0xf {
        // Data processing, immediate.
        0b1000 | 0b1001 => Takes::Nothing,
        // Data processing with registers, except multiplication and division.
        0b0101 if (word >> 24) & 0xf == 0b1011 || word & 0x1f00_0000 == 0x0a00_0000 => Takes::Nothing,
        // Loads and stores, except ordered ones.
        0b0100 | 0b0110 | 0b1100 | 0b1110 if word & 0x3f00_0000 != 0x0800_0000 => Takes::Memory,
        _ if word == flow::NOP => Takes::Nothing,
        _ => Takes::More,
    }
}

/// Whether it stores to memory other than the stack, or writes a system register.
pub(super) fn writes(word: u32) -> bool {
    const SP: u32 = 31;
    let is_store = match (word >> 27) & 7 {
        // Exclusive and ordered ones, and pairs.
        0b001 | 0b101 => word & 1 << 22 == 0,
        // A single register: stores, and 128-bit stores, but not sign-extending loads.
        0b111 => (word >> 22) & 3 == 0 || word & 0xffc0_0000 == 0x3d80_0000,
        _ => false,
    };
    let is_memory = word & 0x0a00_0000 == 0x0800_0000;
    is_memory && is_store && (word >> 5) & 31 != SP || word & 0xfff0_0000 == 0xd510_0000
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn classes() {
        let cases = [
            (0xa9bf_7bfd, None),                     // stp
            (0x9400_0001, None),                     // bl
            (0xd65f_03c0, None),                     // ret
            (0xd65f_0bff, None),                     // retaa
            (0xd63f_03c0, Some(Refusal::Rsp)),       // blr x30
            (0xd73f_081e, Some(Refusal::Rsp)),       // blraa x0, x30
            (0xd73f_0800, None),                     // blraa x0, x0
            (0xd61f_0000, None),                     // br x0
            (0xd503_201f, None),                     // nop
            (0xd503_233f, None),                     // paciasp
            (0xd503_23bf, None),                     // autiasp
            (0xd503_245f, None),                     // bti c
            (0xd503_203f, None),                     // yield
            (0xd421_0000, Some(Refusal::Int)),       // brk
            (0xd400_0001, Some(Refusal::Int)),       // svc
            (0xd400_0002, None),                     // hvc
            (0xd69f_03e0, Some(Refusal::Iret)),      // eret
            (0xd503_4fdf, None),                     // msr daifset, #15
            (0xd51b_4220, None),                     // msr daif, x0
            (0xd53b_4220, None),                     // mrs x0, daif
            (0xd538_4100, None),                     // mrs x0, sp_el0
            (0xd503_3bbf, None),                     // dmb ish
            (0x885f_7c00, Some(Refusal::Exclusive)), // ldxr w0, [x0]
            (0x8801_7c02, Some(Refusal::Exclusive)), // stxr w1, w2, [x0]
            (0x88df_fc00, None),                     // ldar w0, [x0]
            (0x4820_7c82, None),                     // casp
            (0x5800_0040, None),                     // ldr x0, literal
            (0x1c00_0040, Some(Refusal::Reach)),     // ldr s0, literal
            (0x1904_0443, Some(Refusal::Exclusive)), // cpyfp
            (0x0000_0000, Some(Refusal::Undefined)), // udf
        ];
        for (word, expected) in cases {
            assert_eq!(refusal(Some(word)), expected, "{word:#x}");
        }
        assert_eq!(refusal(None), Some(Refusal::Undecodable));
        assert_eq!(takes(0x9100_43fd), Takes::Nothing, "add x29, sp, #16");
        assert_eq!(takes(0xf940_0000), Takes::Memory, "ldr x0, [x0]");
        assert_eq!(takes(0x9bc1_7c00), Takes::More, "umulh");
    }

    #[test]
    fn stores() {
        let cases = [
            (0xf900_0020, true, "str x0, [x1]"),
            (0xf940_0020, false, "ldr x0, [x1]"),
            (0x3880_0020, false, "ldursb x0, [x1]"),
            (0x3980_0020, false, "ldrsb x0, [x1]"),
            (0x3d80_0020, true, "str q0, [x1]"),
            (0xa900_0440, true, "stp x0, x1, [x2]"),
            (0xa940_0440, false, "ldp x0, x1, [x2]"),
            (0xa9bf_7bfd, false, "stp x29, x30, [sp, #-16]!"),
            (0x8801_7c02, true, "stxr w1, w2, [x0]"),
            (0xd518_4100, true, "msr sp_el0, x0"),
            (0x9100_43fd, false, "add x29, sp, #16"),
        ];
        for (word, expected, text) in cases {
            assert_eq!(writes(word), expected, "{text}");
        }
    }
}
