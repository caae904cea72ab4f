//! sites/code/arm64/text.rs: disassembly, with the names that the GNU assembler prefers.

use yaxpeax_arch::{Decoder as _, U8Reader};
use yaxpeax_arm::armv8::a64::InstDecoder;

use super::words::target;

/// Disassembles an instruction; `name` returns the name of the target of a jump or call.
pub(super) fn of(word: u32, address: u64, name: &dyn Fn(u64) -> Option<String>) -> String {
    if let Some(hint) = hint(word) {
        return hint;
    }
    let bytes = word.to_le_bytes();
    let Ok(insn) = InstDecoder::default().decode(&mut U8Reader::new(&bytes)) else {
        return format!(".inst {word:#010x}");
    };
    let text = insn.to_string();
    let (mnemonic, operands) = text.split_once(' ').unwrap_or((&text, ""));
    let mnemonic = match mnemonic {
        "b.lo" => "b.cc",
        "b.hs" => "b.cs",
        other => other,
    };
    let (mnemonic, operands) = match spelt(mnemonic, operands, word) {
        Some((mnemonic, operands)) => (mnemonic, operands),
        None => (mnemonic, with_address(operands, mnemonic, word, address, name)),
    };
    format!("{mnemonic} {operands}").trim_end().to_owned()
}

/// Rewrites instructions that the GNU assembler spells differently from yaxpeax-arm.
fn spelt<'m>(mnemonic: &'m str, operands: &str, word: u32) -> Option<(&'m str, String)> {
    // Other synonyms of conditions are the last operand.
    let condition = |synonym: &str| operands.strip_suffix(synonym).filter(|rest| rest.ends_with(", "));
    if let Some(before) = condition("lo") {
        return Some((mnemonic, format!("{before}cc")));
    }
    if let Some(before) = condition("hs") {
        return Some((mnemonic, format!("{before}cs")));
    }
    if is_extended_by_32(word) && !operands.contains("uxtw") {
        let extended = match operands.split_once(", lsl ") {
            Some((before, shift)) => format!("{before}, uxtw {shift}"),
            None => format!("{operands}, uxtw"),
        };
        return Some((mnemonic, extended));
    }
    // An unscaled byte index omits the zero; one that is scaled by one has it.
    if word & 0x3b20_1c00 == 0x3820_0800 && operands.ends_with("tw #0]") {
        return Some((mnemonic, operands.replace("tw #0]", "tw]")));
    }
    if word & 0xfb20_fc00 == 0x3820_5800 && operands.ends_with("uxtw]") {
        return Some((mnemonic, operands.replace("uxtw]", "uxtw #0]")));
    }
    shifted_zero(operands, word).or_else(|| Some((mnemonic, with_range(operands)?)))
}

/// movz and movn of a shifted zero, which mov cannot express.
fn shifted_zero(operands: &str, word: u32) -> Option<(&'static str, String)> {
    let mnemonic = match word & 0x7f9f_ffe0 {
        0x5280_0000 => "movz",
        0x1280_0000 => "movn",
        _ => return None,
    };
    let register = operands.split(',').next()?;
    let half = Some((word >> 21) & 3).filter(|half| *half != 0)?;
    Some((mnemonic, format!("{register}, #0x0, lsl #{}", half * 16)))
}

/// Converts a list of three or more registers to a range, unless it wraps around.
fn with_range(operands: &str) -> Option<String> {
    let (before, rest) = operands.split_once('{')?;
    let (list, after) = rest.split_once('}')?;
    let registers: Vec<&str> = list.split(", ").collect();
    let [first, _, .., last] = registers[..] else { return None };
    let number = |register: &str| register.get(1..)?.split('.').next()?.parse::<u8>().ok();
    (number(first)? < number(last)?).then(|| format!("{before}{{{first}-{last}}}{after}"))
}

/// Whether it adds or subtracts the lower half of a register, which yaxpeax-arm prints as if it were the full
/// register.
fn is_extended_by_32(word: u32) -> bool {
    word & 0x9fe0_e000 == 0x8b20_4000
}

/// Replaces a relative operand, `$+0x10`, with an address.
fn with_address(
    operands: &str,
    mnemonic: &str,
    word: u32,
    address: u64,
    name: &dyn Fn(u64) -> Option<String>,
) -> String {
    let Some((before, distance)) = operands.rsplit_once('$') else { return operands.to_owned() };
    if let Some(to) = target(word, address) {
        return format!("{before}{}", name(to).unwrap_or_else(|| format!("{to:#x}")));
    }
    let (sign, digits) = distance.split_at(distance.len().min(1));
    let Ok(distance) = u64::from_str_radix(digits.trim_start_matches("0x"), 16) else {
        return operands.to_owned();
    };
    let from = if mnemonic == "adrp" { address & !0xfff } else { address };
    let to = if sign == "-" { from.wrapping_sub(distance) } else { from.wrapping_add(distance) };
    format!("{before}{to:#x}")
}

/// The hints with names.
fn hint(word: u32) -> Option<String> {
    let name = match word {
        0xd503_20bf => "sevl",
        0xd503_22df => "clearbhb",
        0xd503_241f => "bti",
        0xd503_245f => "bti c",
        0xd503_249f => "bti j",
        0xd503_24df => "bti jc",
        _ => return None,
    };
    Some(name.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_text_is_as_objdump_has_it() {
        let cases = [
            (0xa9be_7bfd, "stp x29, x30, [sp, #-0x20]!"),
            (0x1400_0002, "b 0x1008"),
            (0x5400_0043, "b.cc 0x1008"),
            (0x9a98_2000, "csel x0, x0, x24, cs"),
            (0x9000_0000, "adrp x0, 0x1000"),
            (0x8b24_4060, "add x0, x3, w4, uxtw"),
            (0x8b20_4840, "add x0, x2, w0, uxtw #2"),
            (0x386a_c8c4, "ldrb w4, [x6, w10, sxtw]"),
            (0xd2c0_0002, "movz x2, #0x0, lsl #32"),
            (0x386c_584c, "ldrb w12, [x2, w12, uxtw #0]"),
            (0x92c0_001d, "movn x29, #0x0, lsl #32"),
            (0x4c40_7851, "ld1 {v17.4s}, [x2]"),
            (0x4c40_2851, "ld1 {v17.4s-v20.4s}, [x2]"),
            (0xd503_245f, "bti c"),
            (0xd65f_03c0, "ret"),
            (0xd421_0000, "brk #0x800"),
            (0xe580_0000, ".inst 0xe5800000"),
        ];
        for (word, expected) in cases {
            assert_eq!(of(word, 0x1000, &|_| None), expected, "{word:#x}");
        }
        assert_eq!(of(0x9400_0001, 0x1000, &|_| Some("f+4".to_owned())), "bl f+4");
        assert_eq!(of(0x3607_ffe3, 0x1000, &|_| Some("f".to_owned())), "tbz w3, #0x0, f");
    }
}
