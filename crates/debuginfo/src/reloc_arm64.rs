//! debuginfo/reloc_arm64.rs: relocations of aarch64 instructions ("ELF for the Arm 64-bit Architecture", 5.7).

use object::elf;

/// The kinds of relocations in a module's instructions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// bl, b.
    Call,
    /// b.cond, cbz, cbnz.
    Branch,
    /// tbz, tbnz.
    Test,
    /// adr.
    Address,
    /// adrp.
    Page,
    /// The add after adrp.
    InPage,
}

impl Kind {
    /// `None` for loads and stores in a page: their targets are data.
    pub(crate) fn of(flags: object::RelocationFlags) -> Option<Kind> {
        let object::RelocationFlags::Elf { r_type } = flags else { return None };
        Some(match r_type {
            elf::R_AARCH64_CALL26 | elf::R_AARCH64_JUMP26 => Kind::Call,
            elf::R_AARCH64_CONDBR19 => Kind::Branch,
            elf::R_AARCH64_TSTBR14 => Kind::Test,
            elf::R_AARCH64_ADR_PREL_LO21 => Kind::Address,
            elf::R_AARCH64_ADR_PREL_PG_HI21 | elf::R_AARCH64_ADR_PREL_PG_HI21_NC => Kind::Page,
            elf::R_AARCH64_ADD_ABS_LO12_NC => Kind::InPage,
            _ => return None,
        })
    }

    /// Whether control goes to the target.
    pub(crate) fn is_branch(self) -> bool {
        matches!(self, Kind::Call | Kind::Branch | Kind::Test)
    }

    /// The instruction at `place`, with its target filled in.
    pub(crate) fn apply(self, insn: u32, place: u64, target: u64) -> u32 {
        let distance = target.wrapping_sub(place);
        let pages = (target & !0xfff).wrapping_sub(place & !0xfff) >> 12;
        match self {
            Kind::Call => with(insn, distance >> 2, 26, 0),
            Kind::Branch => with(insn, distance >> 2, 19, 5),
            Kind::Test => with(insn, distance >> 2, 14, 5),
            Kind::Address => with(with(insn, distance, 2, 29), distance >> 2, 19, 5),
            Kind::Page => with(with(insn, pages, 2, 29), pages >> 2, 19, 5),
            Kind::InPage => with(insn, target, 12, 10),
        }
    }
}

/// The instruction with the lowest bits of a value in its field.
fn with(insn: u32, value: u64, bits: u32, at: u32) -> u32 {
    let mask = (1 << bits) - 1;
    insn & !(mask << at) | (value as u32 & mask) << at
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_target_is_in_the_field() {
        let cases = [
            (Kind::Call, 0x9400_0000, 0x1010, 0x9400_0004),    // bl +16
            (Kind::Call, 0x1400_0000, 0xff8, 0x17ff_fffe),     // b -8
            (Kind::Branch, 0x5400_0000, 0x1008, 0x5400_0040),  // b.eq +8
            (Kind::Test, 0x3600_0000, 0x1008, 0x3600_0040),    // tbz w0, #0, +8
            (Kind::Address, 0x1000_0000, 0x100d, 0x3000_0060), // adr x0, +13
            (Kind::Page, 0x9000_0000, 0x3456, 0xd000_0000),    // adrp x0, +2 pages
            (Kind::InPage, 0x9100_0000, 0x3456, 0x9111_5800),  // add x0, x0, #0x456
        ];
        for (kind, insn, target, expected) in cases {
            assert_eq!(kind.apply(insn, 0x1000, target), expected, "{kind:?}");
        }
    }
}
