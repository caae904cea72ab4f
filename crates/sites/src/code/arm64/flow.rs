//! sites/code/arm64/flow.rs: where control goes after an instruction (Arm Architecture Reference Manual, C4.1.65).

use crate::code::set::Control;
use kinst_base::probe::{Condition, When};

pub(super) const NOP: u32 = 0xd503_201f;

/// Encodes `brk` with an immediate.
pub(super) const fn brk(number: u16) -> u32 {
    0xd420_0000 | (number as u32) << 5
}

pub(super) fn control(word: u32, address: u64) -> Control {
    let to = |bits: u32, at: u32| address.wrapping_add_signed(distance(word, bits, at));
    match word {
        _ if word & 0xfc00_0000 == 0x1400_0000 => Control::Jump(to(26, 0)),
        _ if word & 0xfc00_0000 == 0x9400_0000 => Control::Call(to(26, 0)),
        // b.al and b.nv are always taken.
        _ if word & 0xff00_000e == 0x5400_000e => Control::Jump(to(19, 5)),
        // b.cond and bc.cond.
        _ if word & 0xff00_0000 == 0x5400_0000 => Control::Branch(to(19, 5)),
        // cbz, cbnz.
        _ if word & 0x7e00_0000 == 0x3400_0000 => Control::Branch(to(19, 5)),
        // tbz, tbnz.
        _ if word & 0x7e00_0000 == 0x3600_0000 => Control::Branch(to(14, 5)),
        _ if word & 0xfe00_0000 == 0xd600_0000 => by_register(word),
        // brk, hlt.
        _ if matches!(word & 0xffe0_001f, 0xd420_0000 | 0xd440_0000) => Control::Trap,
        // udf.
        _ if word & 0xffff_0000 == 0 => Control::Trap,
        _ => Control::Next,
    }
}

/// Classifies a branch to a register, with or without authentication.
fn by_register(word: u32) -> Control {
    match (word >> 21) & 0xf {
        0 | 8 => Control::JumpIndirect,
        // blr and its variants return.
        1 | 9 => Control::Next,
        // ret, eret, drps and their variants.
        2 | 4 | 5 => Control::Return,
        _ => Control::Next,
    }
}

/// Returns the hits at which a conditional branch is taken, and those at which it is not.
pub(super) fn branch(word: u32) -> Option<[When; 2]> {
    let register = (word & 0x1f) as u8;
    let zero = |bits| {
        // The variants with n are taken unless the bits are 0.
        let is = word & 0x0100_0000 == 0;
        Some([When::Zero { register, bits, is }, When::Zero { register, bits, is: !is }])
    };
    match word {
        _ if word & 0xff00_000e == 0x5400_000e => None,
        _ if word & 0xff00_0000 == 0x5400_0000 => {
            let condition = Condition((word & 0xf) as u8);
            Some([When::Taken(condition), When::NotTaken(condition)])
        }
        _ if word & 0x7e00_0000 == 0x3400_0000 => {
            zero(if word >> 31 != 0 { u64::MAX } else { u32::MAX.into() })
        }
        _ if word & 0x7e00_0000 == 0x3600_0000 => zero(1 << (word >> 31 << 5 | word >> 19 & 0x1f)),
        _ => None,
    }
}

/// Returns the register that `br` jumps to. With authentication, the target differs from the register's value.
pub(super) fn jump(word: u32) -> Option<u8> {
    (word & 0xffff_fc1f == 0xd61f_0000).then_some((word >> 5 & 0x1f) as u8)
}

/// Whether it is a call: bl, or blr and its variants.
pub(super) fn calls(word: u32) -> bool {
    word & 0xfc00_0000 == 0x9400_0000
        || word & 0xfe00_0000 == 0xd600_0000 && matches!((word >> 21) & 0xf, 1 | 9)
}

/// Returns a signed field of `bits` bits, in units of four bytes.
fn distance(word: u32, bits: u32, at: u32) -> i64 {
    let field = i64::from((word >> at) & ((1 << bits) - 1));
    let sign = 1 << (bits - 1);
    ((field ^ sign) - sign) * 4
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn branches_depend_on_flags_or_a_register() {
        let zero = |register, bits, is| Some(When::Zero { register, bits, is });
        let cases = [
            (0x5400_0041, Some(When::Taken(Condition(1)))),  // b.ne
            (0x5400_004b, Some(When::Taken(Condition(11)))), // b.lt
            (0x5400_004e, None),                             // b.al
            (0xb4ff_ffe0, zero(0, u64::MAX, true)),          // cbz x0
            (0x3500_0041, zero(1, u32::MAX.into(), false)),  // cbnz w1
            (0x3700_0042, zero(2, 1, false)),                // tbnz w2, #0
            (0xb607_ffe0, zero(0, 1 << 32, true)),           // tbz x0, #32
            (0x1400_0002, None),                             // b
        ];
        for (word, expected) in cases {
            assert_eq!(branch(word).map(|[taken, _]| taken), expected, "{word:#x}");
        }
        assert_eq!(branch(0xb400_0000).map(|[_, not]| not), zero(0, u64::MAX, false));
    }

    #[test]
    fn control_goes_as_the_mnemonic_says() {
        let cases = [
            (0x1400_0002, Control::Jump(0x1008)),   // b
            (0x17ff_ffff, Control::Jump(0xffc)),    // b, backwards
            (0x9400_0001, Control::Call(0x1004)),   // bl
            (0x5400_0041, Control::Branch(0x1008)), // b.ne
            (0x5400_004e, Control::Jump(0x1008)),   // b.al
            (0xb4ff_ffe0, Control::Branch(0xffc)),  // cbz x0
            (0x3500_0040, Control::Branch(0x1008)), // cbnz w0
            (0x3700_0040, Control::Branch(0x1008)), // tbnz w0, #0
            (0xb607_ffe0, Control::Branch(0x0ffc)), // tbz x0, #32, backwards
            (0xd61f_0220, Control::JumpIndirect),   // br x17
            (0xd71f_0a30, Control::JumpIndirect),   // braa x17, x16
            (0xd63f_0000, Control::Next),           // blr x0
            (0xd65f_03c0, Control::Return),         // ret
            (0xd65f_0bff, Control::Return),         // retaa
            (0xd69f_03e0, Control::Return),         // eret
            (0xd421_0000, Control::Trap),           // brk #0x800
            (0x0000_0000, Control::Trap),           // udf #0
            (0xd400_0001, Control::Next),           // svc #0
            (0xd503_233f, Control::Next),           // paciasp
            (0xa9bf_7bfd, Control::Next),           // stp x29, x30, [sp, #-16]!
        ];
        for (word, expected) in cases {
            assert_eq!(control(word, 0x1000), expected, "{word:#x}");
        }
        assert_eq!((jump(0xd61f_0220), jump(0xd71f_0a30), jump(0xd63f_0000)), (Some(17), None, None));
        assert!(calls(0xd63f_0000) && calls(0x9400_0001) && !calls(0xd65f_03c0));
    }
}
