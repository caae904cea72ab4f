//! sites/code/x86/operand.rs: operands in the syntax of AT&T: `%rax`, `$-9`, `-8(%rbp)`, `counter+4(%rip)`.

use crate::code::operand::{Around, Sum, Unreadable, part};
use kinst_base::machine::Machine;
use kinst_dwarf::variables::term::{Binary, Register, Term};

/// Registers by DWARF number, with their names of 4, 2 and 1 bytes; those from 8 on have suffixes.
const NAMES: [[&str; 4]; 8] = [
    ["rax", "eax", "ax", "al"],
    ["rdx", "edx", "dx", "dl"],
    ["rcx", "ecx", "cx", "cl"],
    ["rbx", "ebx", "bx", "bl"],
    ["rsi", "esi", "si", "sil"],
    ["rdi", "edi", "di", "dil"],
    ["rbp", "ebp", "bp", "bpl"],
    ["rsp", "esp", "sp", "spl"],
];
const SIZES: [u8; 4] = [8, 4, 2, 1];
/// The second bytes of the first four registers.
const SECOND: [&str; 4] = ["ah", "dh", "ch", "bh"];

/// Returns the value of an operand; one in memory is loaded with this size.
pub(super) fn value(text: &str, bytes: u8, around: &Around<'_>) -> Result<Term, Unreadable> {
    let unknown = || Unreadable::Form(text.to_owned());
    if let Some(immediate) = text.strip_prefix('$') {
        return around.term(Sum::parse(immediate).filter(|_| !immediate.is_empty()).ok_or_else(unknown)?);
    }
    if let Some(name) = text.strip_prefix('%') {
        if let Some((segment, _)) = name.split_once(':') {
            let known = ["fs", "gs"].contains(&segment);
            return Err(if known { Unreadable::Thread(text.to_owned()) } else { unknown() });
        }
        return register(name).ok_or_else(|| match is_vector(name) {
            true => Unreadable::Vector(text.to_owned()),
            false => unknown(),
        });
    }
    Ok(Term::load(address(text, around)?, bytes))
}

fn address(text: &str, around: &Around<'_>) -> Result<Term, Unreadable> {
    let unknown = || Unreadable::Form(text.to_owned());
    let Some((displacement, registers)) = text.split_once('(') else {
        return around.term(Sum::parse(text).filter(|_| !text.is_empty()).ok_or_else(unknown)?);
    };
    let displacement = Sum::parse(displacement).ok_or_else(unknown)?;
    let registers = registers.strip_suffix(')').ok_or_else(unknown)?;
    if registers == "%rip" {
        // Relative to it is only how the instruction has encoded a symbol.
        return if displacement.symbol.is_some() { around.term(displacement) } else { Err(unknown()) };
    }
    let mut fields = registers.split(',').map(str::trim);
    let (base, index, scale) = (fields.next().unwrap_or_default(), fields.next(), fields.next());
    let is_scale = |scale: &str| matches!(scale, "1" | "2" | "4" | "8");
    if fields.next().is_some() || scale.is_some_and(|scale| !is_scale(scale)) {
        return Err(unknown());
    }
    let mut sum = match base {
        "" if index.is_some() => Term::Constant(0),
        base => whole(base).ok_or_else(unknown)?,
    };
    if let Some(index) = index {
        let scale = scale.and_then(|scale| scale.parse().ok()).unwrap_or(1);
        let index = whole(index).ok_or_else(unknown)?;
        let scaled = if scale == 1 { index } else { Term::binary(Binary::Mul, index, Term::Constant(scale)) };
        sum = Term::binary(Binary::Add, sum, scaled);
    }
    Ok(match displacement.symbol {
        Some(_) => Term::binary(Binary::Add, sum, around.term(displacement)?),
        None => Term::binary(Binary::Add, sum, Term::Constant(displacement.number)),
    })
}

/// Returns a general register of 64 bits, from its name with the sign.
fn whole(text: &str) -> Option<Term> {
    register(text.strip_prefix('%')?).filter(|term| matches!(term, Term::Register(_)))
}

/// Returns a general register, or the part of it that has this name.
fn register(name: &str) -> Option<Term> {
    let of = |number: usize| Register::new(Machine::X86_64, u16::try_from(number).ok()?);
    for (number, names) in NAMES.iter().enumerate() {
        if let Some(size) = names.iter().position(|known| *known == name) {
            return Some(part(of(number)?, SIZES[size], false));
        }
    }
    if let Some(number) = SECOND.iter().position(|known| *known == name) {
        return Some(part(of(number)?, 1, true));
    }
    let rest = name.strip_prefix('r')?;
    let digits = rest.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let size = ["", "d", "w", "b"].iter().position(|suffix| *suffix == &rest[digits.len()..])?;
    let number: usize = digits.parse().ok().filter(|number| (8..16).contains(number))?;
    Some(part(of(number)?, SIZES[size], false))
}

fn is_vector(name: &str) -> bool {
    ["xmm", "ymm", "zmm", "mm", "st", "k"].iter().any(|kind| {
        let rest = name.strip_prefix(kind);
        rest.is_some_and(|rest| rest.trim_matches(['(', ')']).bytes().all(|byte| byte.is_ascii_digit()))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str, bytes: u8) -> String {
        let symbol = |name: &str| (name == "counter").then_some(0x4010);
        let around = Around { machine: Machine::X86_64, at: 0x1000, symbol: &symbol };
        value(text, bytes, &around).map_or_else(|why| why.to_string(), |term| term.to_string())
    }

    #[test]
    fn operands_of_all_forms() {
        for (text, term) in [
            ("%rdi", "%rdi"),
            ("%r15", "%r15"),
            ("%edi", "%rdi & 0xffffffff"),
            ("%r9d", "%r9 & 0xffffffff"),
            ("%r9w", "%r9 & 65535"),
            ("%r9b", "%r9 & 255"),
            ("%sil", "%rsi & 255"),
            ("%ah", "(%rax >> 8) & 255"),
            ("$42", "42"),
            ("$-9", "-9"),
            ("$0x7f", "127"),
            ("$counter", "%rip + 12304"),
            ("(%rax)", "*(%rax, 4 bytes)"),
            ("-8(%rbp)", "*(%rbp - 8, 4 bytes)"),
            ("0x10(%rsp)", "*(%rsp + 16, 4 bytes)"),
            ("(%rax,%rbx)", "*(%rax + %rbx, 4 bytes)"),
            ("8(%rax,%rbx,4)", "*((%rax + (%rbx * 4)) + 8, 4 bytes)"),
            ("16(,%rcx,8)", "*((%rcx * 8) + 16, 4 bytes)"),
            ("counter(%rip)", "*(%rip + 12304, 4 bytes)"),
            ("counter+4(%rip)", "*(%rip + 12308, 4 bytes)"),
            ("counter", "*(%rip + 12304, 4 bytes)"),
            ("counter(%rax)", "*(%rax + (%rip + 12304), 4 bytes)"),
        ] {
            assert_eq!(read(text, 4), term, "{text}");
        }
    }

    #[test]
    fn operands_that_cannot_be_read() {
        for (text, why) in [
            ("%xmm0", "it is in %xmm0, a register for floating-point numbers and vectors"),
            ("%st(0)", "it is in %st(0), a register for floating-point numbers and vectors"),
            ("%fs:16", "it is in the memory of the thread, `%fs:16`"),
            ("other(%rip)", "the file has no symbol `other`"),
        ] {
            assert_eq!(read(text, 4), why);
        }
        for text in [
            "",
            "$",
            "%",
            "%rxx",
            "%r7",
            "%r16",
            "%r8x",
            "(",
            "()",
            "8()",
            "(%eax)",
            "(%rax",
            "8(%rip)",
            "(%rax,%rbx,3)",
            "(%rax,%rbx,4,5)",
            "(,)",
            "rax",
            "%cs:4",
            "[rax]",
            "%r08q",
            "(%rax),8",
        ] {
            let said = read(text, 4);
            assert!(said.contains("unknown form") || said.contains("no symbol"), "{text}: {said}");
        }
    }
}
