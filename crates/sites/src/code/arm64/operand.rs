//! sites/code/arm64/operand.rs: operands in the syntax of arm64: `x0`, `w1`, `-9`, `[sp, 24]`, `[x1, w2, sxtw 3]`.

use crate::code::operand::{Around, Sum, Unreadable, part};
use kinst_base::machine::Machine;
use kinst_dwarf::variables::term::{Binary, Register, Term};

const STACK_POINTER: u16 = 31;

/// Returns the value of an operand; one in memory is loaded with this size.
pub(super) fn value(text: &str, bytes: u8, around: &Around<'_>) -> Result<Term, Unreadable> {
    let unknown = || Unreadable::Form(text.to_owned());
    if let Some(inside) = text.strip_prefix('[') {
        let inside = inside.strip_suffix(']').ok_or_else(unknown)?;
        return Ok(Term::load(address(inside, around).ok_or_else(unknown)??, bytes));
    }
    if let Some(term) = register(text) {
        return Ok(term);
    }
    if is_vector(text) {
        return Err(Unreadable::Vector(text.to_owned()));
    }
    let sum = Sum::parse(text.trim_start_matches('#')).filter(|_| !text.is_empty()).ok_or_else(unknown)?;
    let term = around.term(sum)?;
    Ok(if sum.symbol.is_some() { Term::load(term, bytes) } else { term })
}

/// Returns the address of an operand in memory; `None` if it is in no known form.
fn address(inside: &str, around: &Around<'_>) -> Option<Result<Term, Unreadable>> {
    let fields: Vec<&str> = inside.split(',').map(str::trim).collect();
    let base = whole(fields.first()?)?;
    let by = match fields[1..] {
        [] => Term::Constant(0),
        [by] => match whole(by) {
            Some(register) => register,
            None => match around.term(Sum::parse(by.trim_start_matches('#')).filter(|_| !by.is_empty())?) {
                Ok(term) => term,
                Err(why) => return Some(Err(why)),
            },
        },
        [index, extension] => extended(index, extension)?,
        _ => return None,
    };
    Some(Ok(Term::binary(Binary::Add, base, by)))
}

/// Returns an index that is extended and shifted.
fn extended(index: &str, extension: &str) -> Option<Term> {
    let (kind, by) = extension.split_once(' ').unwrap_or((extension, "0"));
    let by: u64 = by.trim().trim_start_matches('#').parse().ok().filter(|by| *by < 8)?;
    let term = register(index)?;
    let is_word = index.starts_with('w');
    let term = match kind {
        "lsl" | "sxtx" | "uxtx" if !is_word => term,
        "uxtw" if is_word => term,
        "sxtw" if is_word => {
            let upper = Term::binary(Binary::Shl, term, Term::Constant(32));
            Term::binary(Binary::Sar, upper, Term::Constant(32))
        }
        _ => return None,
    };
    Some(if by == 0 { term } else { Term::binary(Binary::Shl, term, Term::Constant(by)) })
}

/// Returns a general register of 64 bits.
fn whole(name: &str) -> Option<Term> {
    if name.starts_with('w') { None } else { register(name) }
}

/// Returns a general register, or its lower half.
fn register(name: &str) -> Option<Term> {
    let of = |number: u16| Register::new(Machine::Aarch64, number);
    match name {
        "sp" => return Some(part(of(STACK_POINTER)?, 8, false)),
        "wsp" => return Some(part(of(STACK_POINTER)?, 4, false)),
        "xzr" | "wzr" => return Some(Term::Constant(0)),
        "fp" => return Some(part(of(29)?, 8, false)),
        "lr" => return Some(part(of(30)?, 8, false)),
        _ => {}
    }
    let (bytes, digits) = match name.split_at_checked(1)? {
        ("x", digits) => (8, digits),
        ("w", digits) => (4, digits),
        _ => return None,
    };
    let is_number = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    let number: u16 = digits.parse().ok().filter(|number| is_number && *number < STACK_POINTER)?;
    Some(part(of(number)?, bytes, false))
}

fn is_vector(name: &str) -> bool {
    let rest = name.strip_prefix(['b', 'h', 's', 'd', 'q', 'v']);
    rest.is_some_and(|rest| !rest.is_empty() && rest.bytes().all(|byte| byte.is_ascii_digit()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> String {
        let symbol = |name: &str| (name == "counter").then_some(0x4010);
        let around = Around { machine: Machine::Aarch64, at: 0x1000, symbol: &symbol };
        value(text, 4, &around).map_or_else(|why| why.to_string(), |term| term.to_string())
    }

    #[test]
    fn operands_of_all_forms() {
        for (text, term) in [
            ("x0", "x0"),
            ("x30", "x30"),
            ("w3", "x3 & 0xffffffff"),
            ("sp", "sp"),
            ("wzr", "0"),
            ("-9", "-9"),
            ("#16", "16"),
            ("[x1]", "*(x1, 4 bytes)"),
            ("[sp, 24]", "*(sp + 24, 4 bytes)"),
            ("[x29, #-8]", "*(x29 - 8, 4 bytes)"),
            ("[x1, x2]", "*(x1 + x2, 4 bytes)"),
            ("[x1, x2, lsl 3]", "*(x1 + (x2 << 3), 4 bytes)"),
            ("[x1, w2, uxtw]", "*(x1 + (x2 & 0xffffffff), 4 bytes)"),
            ("[x1, w2, sxtw 2]", "*(x1 + ((((x2 & 0xffffffff) << 32) >>> 32) << 2), 4 bytes)"),
            ("counter", "*(pc + 12304, 4 bytes)"),
        ] {
            assert_eq!(read(text), term, "{text}");
        }
        assert_eq!(read("d0"), "it is in d0, a register for floating-point numbers and vectors");
        assert_eq!(read("other"), "the file has no symbol `other`");
        for text in
            ["", "[", "[]", "[w1]", "[x1", "[x1, x2, lsl 9]", "[x1, x2, sxtw]", "[x1, 1, 2, 3]", "x+-", "é"]
        {
            assert!(read(text).contains("unknown form"), "{text}: {}", read(text));
        }
        for text in ["x31", "w31", "x+1"] {
            assert!(read(text).contains("no symbol"), "{text}: {}", read(text));
        }
    }
}
