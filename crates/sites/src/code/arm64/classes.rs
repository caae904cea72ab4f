//! sites/code/arm64/classes.rs: instructions that kprobes refuse, quick ones, and ones that write.

use super::flow;
use crate::code::refusal::Refusal;
use crate::code::set::Takes;

/// Why the kernel refuses a probe on the instruction (arch/arm64/kernel/probes/decode-insn.c).
pub(super) fn refusal(word: Option<u32>) -> Option<Refusal> {
    let Some(word) = word else { return Some(Refusal::Undecodable) };
    match word {
        _ if word & 0xffff_0000 == 0 => Some(Refusal::Undefined),
        // svc, hvc, smc, brk, hlt, dcps.
        _ if word & 0xff00_0000 == 0xd400_0000 => Some(Refusal::Int),
        // eret and drps, with or without authentication.
        _ if word & 0xfe00_0000 == 0xd600_0000 && matches!((word >> 21) & 0xf, 4 | 5) => Some(Refusal::Iret),
        // The authenticated branches are neither stepped nor simulated.
        _ if word & 0xfe00_0800 == 0xd600_0800 => Some(Refusal::Privileged),
        // msr, to a register or immediate.
        _ if word & 0xfff0_0000 == 0xd510_0000 || word & 0xfff8_f01f == 0xd500_401f => {
            Some(Refusal::Privileged)
        }
        // mrs of DAIF, which single-stepping changes.
        _ if word & 0xffff_ffe0 == 0xd53b_4220 => Some(Refusal::Privileged),
        _ if word & 0xffff_f01f == 0xd503_201f => (!is_harmless(word)).then_some(Refusal::Privileged),
        // Exclusive loads and stores fail if the processor traps between them.
        _ if word & 0x3f80_0000 == 0x0800_0000 && word & (1 << 23) == 0 => Some(Refusal::Exclusive),
        // prfm with a PC-relative address.
        _ if word & 0xff00_0000 == 0xd800_0000 => Some(Refusal::Reach),
        _ => None,
    }
}

/// nop, bti, xpaclri, and the instructions that sign a return address. Those that authenticate one are refused.
fn is_harmless(hint: u32) -> bool {
    // The hint's number: CRm and op2.
    matches!((hint >> 5) & 0x7f, 0 | 7 | 8 | 10 | 24..=27 | 32 | 34 | 36 | 38)
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
            (0xa9bf_7bfd, None),                      // stp
            (0x9400_0001, None),                      // bl
            (0xd65f_03c0, None),                      // ret
            (0xd65f_0bff, Some(Refusal::Privileged)), // retaa
            (0xd61f_0000, None),                      // br x0
            (0xd503_201f, None),                      // nop
            (0xd503_233f, None),                      // paciasp
            (0xd503_23bf, Some(Refusal::Privileged)), // autiasp
            (0xd503_245f, None),                      // bti c
            (0xd503_203f, Some(Refusal::Privileged)), // yield
            (0xd421_0000, Some(Refusal::Int)),        // brk
            (0xd400_0001, Some(Refusal::Int)),        // svc
            (0xd69f_03e0, Some(Refusal::Iret)),       // eret
            (0xd503_4fdf, Some(Refusal::Privileged)), // msr daifset, #15
            (0xd51b_4220, Some(Refusal::Privileged)), // msr daif, x0
            (0xd53b_4220, Some(Refusal::Privileged)), // mrs x0, daif
            (0xd538_4100, None),                      // mrs x0, sp_el0
            (0xd503_3bbf, None),                      // dmb ish
            (0x885f_7c00, Some(Refusal::Exclusive)),  // ldxr w0, [x0]
            (0x8801_7c02, Some(Refusal::Exclusive)),  // stxr w1, w2, [x0]
            (0x88df_fc00, None),                      // ldar w0, [x0]
            (0x5800_0040, None),                      // ldr x0, literal
            (0x0000_0000, Some(Refusal::Undefined)),  // udf
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
