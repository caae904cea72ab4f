//! sites/uprobe/kernel.rs: an instruction as the kernel's uprobes see it (arch/x86/kernel/uprobes.c).
//!
//! The kernel reads prefixes and one opcode byte. For VEX and EVEX that is the byte after the vector prefix,
//! and it is looked up in the table of the one-byte opcodes: this decides what is refused, and what is
//! mistaken for a jump, a return, a nop or popf.

use super::refused::Refused;

/// Prefixes, and the bytes from the opcode on.
pub(super) struct Read<'b> {
    prefixes: &'b [u8],
    /// 0 without a REX prefix.
    pub(super) rex: u8,
    pub(super) opcode: &'b [u8],
}

impl<'b> Read<'b> {
    /// Reads a valid instruction of the processor; an error if the kernel reads another one.
    pub(super) fn of(bytes: &'b [u8]) -> Result<Read<'b>, Refused> {
        /// The number of different prefixes that the kernel's decoder stores.
        const MOST: usize = 4;
        let count = bytes.iter().take_while(|byte| is_prefix(**byte)).count();
        let (prefixes, rest) = bytes.split_at_checked(count).ok_or(Refused::Prefixes)?;
        let (rex, opcode) = match rest {
            [rex @ 0x40..=0x4f, opcode @ ..] => (*rex, opcode),
            opcode => (0, opcode),
        };
        let first = opcode.first().ok_or(Refused::Undecodable)?;
        // The processor ignores a REX prefix that is not the last prefix; the kernel ends there.
        if is_prefix(*first) || matches!(first, 0x40..=0x4f) {
            return Err(Refused::Prefixes);
        }
        let is_new = |(at, byte): &(usize, &u8)| !prefixes[..*at].contains(byte);
        if prefixes.iter().enumerate().filter(is_new).count() > MOST {
            return Err(Refused::Prefixes);
        }
        Ok(Read { prefixes, rex, opcode })
    }

    pub(super) fn has(&self, prefix: u8) -> bool {
        self.prefixes.contains(&prefix)
    }

    /// Whether the instruction is repeated, or has one of the two prefixes for another reason.
    pub(super) fn has_repeat(&self) -> bool {
        self.has(0xf2) || self.has(0xf3)
    }

    /// Returns the error of a prefix that the kernel refuses.
    pub(super) fn bad_prefix(&self) -> Option<Refused> {
        let segment = [0x26, 0x2e, 0x36, 0x3e].iter().any(|prefix| self.has(*prefix));
        match self.has(0xf0) {
            true => Some(Refused::Lock),
            false => segment.then_some(Refused::Segment),
        }
    }

    /// Returns the encoding of a vector instruction, and its bytes from the opcode on.
    pub(super) fn vector(&self) -> Option<(Vector, &'b [u8])> {
        match self.opcode {
            [0xc5, _, code @ ..] => Some((Vector::Vex(1), code)),
            [0xc4, map, _, code @ ..] => Some((Vector::Vex(map & 0x1f), code)),
            [0x62, _, _, _, code @ ..] => Some((Vector::Evex, code)),
            _ => None,
        }
    }
}

/// The encoding of a vector instruction; for VEX, with the number of its opcode map.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Vector {
    Vex(u8),
    Evex,
}

/// Whether the kernel's decoder has no such vector instruction: FMA4 and vpermil2 of AMD.
pub(super) fn is_unknown(vector: Vector, opcode: u8) -> bool {
    vector == Vector::Vex(3) && matches!(opcode, 0x48 | 0x49 | 0x5c..=0x5f | 0x68..=0x6f | 0x78..=0x7f)
}

pub(super) fn is_prefix(byte: u8) -> bool {
    matches!(byte, 0x26 | 0x2e | 0x36 | 0x3e | 0x64..=0x67 | 0xf0 | 0xf2 | 0xf3)
}

/// The middle three bits of a ModRM byte.
pub(super) fn reg(modrm: u8) -> u8 {
    (modrm >> 3) & 7
}

/// Whether the opcode byte is not in the table `good_insns_64`.
pub(super) fn is_refused(opcode: u8) -> bool {
    matches!(opcode, 0x06 | 0x07 | 0x0e | 0x16 | 0x17 | 0x1e | 0x1f | 0x27 | 0x2f | 0x37 | 0x3f)
        || matches!(opcode, 0x60..=0x62 | 0x6c..=0x6f | 0x82 | 0x9a | 0xcc..=0xcf | 0xd4..=0xd6)
        || matches!(opcode, 0xe4..=0xe7 | 0xea | 0xec..=0xef | 0xf1 | 0xf4 | 0xfa | 0xfb)
}

/// Whether the kernel emulates a vector instruction with this opcode byte as a jump, call or nop, or fixes its
/// step up as that of a return, an indirect call, or popf.
pub(super) fn is_mistaken(opcode: u8) -> bool {
    matches!(opcode, 0x70..=0x7f | 0xe8 | 0xe9 | 0xeb)
        || matches!(opcode, 0x90 | 0x9d | 0xc2 | 0xc3 | 0xca | 0xcb | 0xff)
}

/// Whether the decoders of all kernels since 6.1 have the operands of an instruction of the maps 0f 38 and
/// 0f 3a. Without them a relative operand is not recognized.
pub(super) fn is_known(map: u8, opcode: u8) -> bool {
    match map {
        0x38 => {
            matches!(opcode, 0x00..=0x0b | 0x10 | 0x14 | 0x15 | 0x17 | 0x1c..=0x1e | 0x20..=0x25)
                || matches!(opcode, 0x28..=0x2b | 0x30..=0x35 | 0x37..=0x41 | 0xc8..=0xcd | 0xcf)
                || matches!(opcode, 0xdb..=0xdf | 0xf0 | 0xf1 | 0xf6 | 0xf8 | 0xf9)
        }
        0x3a => {
            matches!(opcode, 0x08..=0x0f | 0x14..=0x17 | 0x20..=0x22 | 0x40..=0x42 | 0x44)
                || matches!(opcode, 0x60..=0x63 | 0xcc | 0xce | 0xcf | 0xdf)
        }
        _ => true,
    }
}
