//! sites/code/operand.rs: operands in assembly, by which the notes of <sys/sdt.h> say where an argument is.

use kinst_base::machine::Machine;
use kinst_dwarf::variables::term::{Binary, Register, Term};

/// Why a program of D cannot read an operand.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unreadable {
    /// The probe has the general registers only.
    #[error("it is in {0}, a register for floating-point numbers and vectors")]
    Vector(String),
    /// `%fs:8`.
    #[error("it is in the memory of the thread, `{0}`")]
    Thread(String),
    /// The symbol table may have been removed.
    #[error("the file has no symbol `{0}`")]
    Symbol(String),
    /// `8f@-8(%rbp)`.
    #[error("it is a floating-point number")]
    Float,
    /// In no known form.
    #[error("its location, `{0}`, is in an unknown form")]
    Form(String),
}

/// The instruction at which operands are read, and the symbols of its file.
pub(crate) struct Around<'a> {
    pub machine: Machine,
    /// Address of the instruction in the file.
    pub at: u64,
    /// Returns the address of a symbol in the file.
    pub symbol: &'a dyn Fn(&str) -> Option<u64>,
}

/// A number, or a symbol and a distance from it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Sum<'t> {
    pub symbol: Option<&'t str>,
    pub number: u64,
}

impl<'t> Sum<'t> {
    /// Parses `-16`, `0x10`, `counter`, `counter+8`; nothing is 0.
    pub(super) fn parse(text: &'t str) -> Option<Sum<'t>> {
        let mut sum = Sum { symbol: None, number: 0 };
        let mut rest = text;
        while !rest.is_empty() {
            let is_minus = rest.starts_with('-');
            let part = rest.strip_prefix(['+', '-']).unwrap_or(rest);
            let end = part.find(['+', '-']).unwrap_or(part.len());
            let (part, after) = part.split_at(end);
            match number(part) {
                Some(number) if is_minus => sum.number = sum.number.wrapping_sub(number),
                Some(number) => sum.number = sum.number.wrapping_add(number),
                None if sum.symbol.is_none() && !is_minus && is_symbol(part) => sum.symbol = Some(part),
                None => return None,
            }
            rest = after;
        }
        Some(sum)
    }
}

/// Parses a number without a sign.
fn number(text: &str) -> Option<u64> {
    let is_plain = text.bytes().all(|byte| byte.is_ascii_hexdigit() || byte == b'x');
    match text.strip_prefix("0x") {
        _ if !is_plain => None,
        Some(digits) => u64::from_str_radix(digits, 16).ok(),
        None => text.parse().ok(),
    }
}

fn is_symbol(text: &str) -> bool {
    let is_part = |c: char| c.is_ascii_alphanumeric() || "_.$@".contains(c);
    text.starts_with(|c: char| !c.is_ascii_digit()) && text.chars().all(is_part)
}

impl Around<'_> {
    /// Returns the value of a sum at run time: the file may be mapped anywhere, so a symbol is a distance from the
    /// instruction.
    pub(super) fn term(&self, sum: Sum<'_>) -> Result<Term, Unreadable> {
        let Some(symbol) = sum.symbol else { return Ok(Term::Constant(sum.number)) };
        let missing = || Unreadable::Symbol(symbol.to_owned());
        let address = (self.symbol)(symbol).ok_or_else(missing)?.wrapping_add(sum.number);
        let here = self.machine.facts().registers.len() - 1;
        let here = Register::new(self.machine, here as u16).ok_or_else(missing)?;
        let distance = Term::Constant(address.wrapping_sub(self.at));
        Ok(Term::binary(Binary::Add, Term::Register(here), distance))
    }
}

/// Returns the low bytes of a register, or its second byte (`%ah`).
pub(super) fn part(register: Register, bytes: u8, is_second: bool) -> Term {
    let whole = Term::Register(register);
    let whole = if is_second { Term::binary(Binary::Shr, whole, Term::Constant(8)) } else { whole };
    match bytes {
        8 => whole,
        bytes => Term::binary(Binary::And, whole, Term::Constant((1 << (8 * u32::from(bytes))) - 1)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums() {
        let sum = |text| Sum::parse(text).map(|sum| (sum.symbol, sum.number.cast_signed()));
        assert_eq!(sum("-16"), Some((None, -16)));
        assert_eq!(sum("0x10"), Some((None, 16)));
        assert_eq!(sum("-0x10"), Some((None, -16)));
        assert_eq!(sum(""), Some((None, 0)));
        assert_eq!(sum("counter"), Some((Some("counter"), 0)));
        assert_eq!(sum("counter+8"), Some((Some("counter"), 8)));
        assert_eq!(sum("8+counter-2"), Some((Some("counter"), 6)));
        assert_eq!(sum(".LC0-0x4"), Some((Some(".LC0"), -4)));
        for bad in ["a+b", "-counter", "1x", "a b", "0x", "++", "9223372036854775807999", "%rax"] {
            assert_eq!(sum(bad), None, "{bad}");
        }
    }
}
