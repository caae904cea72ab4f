//! dwarf/variables/term.rs: the location of a value, as a small expression over the registers and memory at a probe.

use std::fmt;

pub use super::register::Register;

/// An expression with a 64-bit result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Term {
    /// Its value when the probe fired.
    Register(Register),
    /// A constant from the debug information.
    Constant(u64),
    /// An address of the running kernel.
    Address(u64),
    /// An address in the CPU's copy of the per-CPU variables.
    PerCpu(u64),
    /// The unsigned integer in this many bytes of memory.
    Load {
        /// Address of the lowest byte.
        address: Box<Term>,
        /// 1, 2, 4 or 8.
        bytes: u8,
    },
    /// An operator and its operand.
    Unary(Unary, Box<Term>),
    /// An operator and its operands, left and right.
    Binary(Binary, Box<Term>, Box<Term>),
}

/// The operators with one operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unary {
    /// `-a`.
    Negate,
    /// `~a`.
    Complement,
}

/// The operators with two operands; results wrap around at 64 bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Binary {
    /// `a + b`.
    Add,
    /// `a - b`.
    Sub,
    /// `a * b`.
    Mul,
    /// `a & b`.
    And,
    /// `a | b`.
    Or,
    /// `a ^ b`.
    Xor,
    /// `a << b`; 0 for 64 bits or more.
    Shl,
    /// Shifts in zeros from the left.
    Shr,
    /// Shifts in the sign from the left.
    Sar,
}

/// The location of a variable.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Location {
    /// Not in memory: this is the value itself, and its type may need fewer bits.
    Value(Term),
    /// In memory, at this address.
    Memory(Term),
    /// In several places, by offset.
    Parts(Vec<Part>),
}

/// A part of a variable that is in several places.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Part {
    /// Bytes from the start of the variable.
    pub offset: u64,
    /// 1, 2, 4 or 8.
    pub bytes: u8,
    /// Its value, in the low bytes.
    pub value: Term,
}

impl Location {
    /// Returns the expressions in it.
    pub fn terms_mut(&mut self) -> impl Iterator<Item = &mut Term> {
        let (one, parts) = match self {
            Location::Value(term) | Location::Memory(term) => (Some(term), None),
            Location::Parts(parts) => (None, Some(parts)),
        };
        one.into_iter().chain(parts.into_iter().flatten().map(|part| &mut part.value))
    }

    /// Splits a part of this many bytes of a variable, which is at this location, into integers. `None` if it is larger
    /// than the register.
    pub(super) fn split(self, offset: u64, bytes: u64) -> Option<Vec<Part>> {
        let mut parts = Vec::new();
        let mut done = 0;
        while done < bytes {
            let left = bytes - done;
            let size = [8, 4, 2, 1].into_iter().find(|size| u64::from(*size) <= left)?;
            let by = |term: &Term, op, by: u64| Term::binary(op, term.clone(), Term::Constant(by));
            let value = match &self {
                Location::Value(_) if bytes > 8 => return None,
                Location::Value(term) if done == 0 => term.clone(),
                Location::Value(term) => by(term, Binary::Shr, done * 8),
                Location::Memory(term) => Term::load(by(term, Binary::Add, done), size),
                Location::Parts(_) => return None,
            };
            parts.push(Part { offset: offset + done, bytes: size, value });
            done += u64::from(size);
        }
        Some(parts)
    }
}

impl Term {
    /// Makes a term and folds it as far as possible, so that `rsp + 8 + 16` is one sum.
    pub fn binary(op: Binary, left: Term, right: Term) -> Term {
        use Term::{Address, Constant, PerCpu};
        match (op, left, right) {
            (op, Constant(a), Constant(b)) => Constant(op.apply(a, b)),
            (Binary::Sub, left, Constant(b)) => Term::binary(Binary::Add, left, Constant(b.wrapping_neg())),
            (Binary::Add, left @ (Constant(_) | Address(_) | PerCpu(_)), right)
                if !matches!(right, Constant(_)) =>
            {
                Term::binary(Binary::Add, right, left)
            }
            (Binary::Add, left, Constant(0)) => left,
            (Binary::Add, Address(a), Constant(b)) => Address(a.wrapping_add(b)),
            (Binary::Add, PerCpu(a), Constant(b)) => PerCpu(a.wrapping_add(b)),
            (Binary::Add, Term::Binary(Binary::Add, inner, by), Constant(b)) => match *by {
                Constant(a) => Term::binary(Binary::Add, *inner, Constant(a.wrapping_add(b))),
                by => Term::plain(Binary::Add, Term::Binary(Binary::Add, inner, Box::new(by)), Constant(b)),
            },
            (op, left, right) => Term::plain(op, left, right),
        }
    }

    fn plain(op: Binary, left: Term, right: Term) -> Term {
        Term::Binary(op, Box::new(left), Box::new(right))
    }

    /// Makes a term and folds it if the operand is a constant.
    pub fn unary(op: Unary, operand: Term) -> Term {
        match (op, operand) {
            (Unary::Negate, Term::Constant(value)) => Term::Constant(value.wrapping_neg()),
            (Unary::Complement, Term::Constant(value)) => Term::Constant(!value),
            (op, operand) => Term::Unary(op, Box::new(operand)),
        }
    }

    /// The unsigned integer in 1, 2, 4 or 8 bytes of memory.
    pub fn load(address: Term, bytes: u8) -> Term {
        Term::Load { address: Box::new(address), bytes }
    }

    /// Whether the term, or a part of it, passes.
    pub fn any(&self, passes: &dyn Fn(&Term) -> bool) -> bool {
        passes(self)
            || match self {
                Term::Binary(_, left, right) => left.any(passes) || right.any(passes),
                Term::Load { address: operand, .. } | Term::Unary(_, operand) => operand.any(passes),
                Term::Register(_) | Term::Constant(_) | Term::Address(_) | Term::PerCpu(_) => false,
            }
    }

    /// The number of nodes.
    pub fn size(&self) -> usize {
        match self {
            Term::Register(_) | Term::Constant(_) | Term::Address(_) | Term::PerCpu(_) => 1,
            Term::Load { address, .. } => 1 + address.size(),
            Term::Unary(_, operand) => 1 + operand.size(),
            Term::Binary(_, left, right) => 1 + left.size() + right.size(),
        }
    }

    /// The term as an address in assembly: `8(%rsp)`.
    fn as_operand(&self) -> String {
        match self {
            Term::Register(register) => register.as_base(0),
            Term::Binary(Binary::Add, base, by) => match (&**base, &**by) {
                (Term::Register(register), Term::Constant(by)) => register.as_base(by.cast_signed()),
                _ => self.to_string(),
            },
            term => term.to_string(),
        }
    }
}

impl Binary {
    fn apply(self, a: u64, b: u64) -> u64 {
        // A shift by all bits or more leaves only the sign.
        let by = u32::try_from(b).unwrap_or(u32::MAX);
        match self {
            Binary::Add => a.wrapping_add(b),
            Binary::Sub => a.wrapping_sub(b),
            Binary::Mul => a.wrapping_mul(b),
            Binary::And => a & b,
            Binary::Or => a | b,
            Binary::Xor => a ^ b,
            Binary::Shl => a.checked_shl(by).unwrap_or(0),
            Binary::Shr => a.checked_shr(by).unwrap_or(0),
            Binary::Sar => ((a as i64) >> by.min(63)) as u64,
        }
    }

    fn sign(self) -> &'static str {
        match self {
            Binary::Add => "+",
            Binary::Sub => "-",
            Binary::Mul => "*",
            Binary::And => "&",
            Binary::Or => "|",
            Binary::Xor => "^",
            Binary::Shl => "<<",
            Binary::Shr => ">>",
            Binary::Sar => ">>>",
        }
    }
}

/// Writes `%rdi + 8`, with parentheses around a nested expression.
impl fmt::Display for Term {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let inner = |f: &mut fmt::Formatter<'_>, term: &Term| match term {
            Term::Binary(..) => write!(f, "({term})"),
            term => write!(f, "{term}"),
        };
        match self {
            Term::Register(register) => write!(f, "{register}"),
            Term::Constant(value) if (*value as i64).unsigned_abs() < 1 << 16 => {
                write!(f, "{}", *value as i64)
            }
            Term::Constant(value) | Term::Address(value) => write!(f, "{value:#x}"),
            Term::PerCpu(value) => write!(f, "%gs:{value:#x}"),
            Term::Load { address, bytes: 8 } => write!(f, "*({address})"),
            Term::Load { address, bytes } => write!(f, "*({address}, {bytes} bytes)"),
            Term::Unary(op, operand) => {
                f.write_str(if *op == Unary::Negate { "-" } else { "~" })?;
                inner(f, operand)
            }
            Term::Binary(op, left, right) => {
                inner(f, left)?;
                match (op, &**right) {
                    (Binary::Add, Term::Constant(by)) if (*by as i64) < 0 => {
                        write!(f, " - {}", Term::Constant(by.wrapping_neg()))
                    }
                    (op, right) => {
                        write!(f, " {} ", op.sign())?;
                        inner(f, right)
                    }
                }
            }
        }
    }
}

/// Writes `in %rdi`, `at 8(%rsp)`, `the constant 3`, `the value %rdi + 8`.
impl fmt::Display for Location {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Location::Value(Term::Register(register)) => write!(f, "in {register}"),
            Location::Value(term @ Term::Constant(_)) => write!(f, "the constant {term}"),
            Location::Value(term @ (Term::Address(_) | Term::PerCpu(_))) => write!(f, "the address {term}"),
            Location::Value(term) => write!(f, "the value {term}"),
            Location::Memory(term) => write!(f, "at {}", term.as_operand()),
            Location::Parts(parts) => {
                f.write_str("in parts:")?;
                for (index, part) in parts.iter().enumerate() {
                    write!(f, "{} {}", if index == 0 { "" } else { "," }, part.value)?;
                }
                Ok(())
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use kinst_base::machine::Machine;

    fn register(number: u16) -> Term {
        Term::Register(Register::new(Machine::X86_64, number).unwrap())
    }

    #[test]
    fn locations_are_written_as_in_assembly() {
        let add = |term, by: i64| Term::binary(Binary::Add, term, Term::Constant(by as u64));
        let cases = [
            (Location::Value(register(5)), "in %rdi"),
            (Location::Memory(add(add(register(7), 24), -32)), "at -8(%rsp)"),
            (Location::Memory(register(0)), "at (%rax)"),
            (Location::Value(Term::Constant(3)), "the constant 3"),
            (Location::Value(Term::Constant(-1i64 as u64)), "the constant -1"),
            (Location::Value(add(register(5), -8)), "the value %rdi - 8"),
            (Location::Memory(Term::load(add(register(7), 8), 8)), "at *(%rsp + 8)"),
            (
                Location::Value(Term::binary(Binary::And, add(register(3), 1), Term::Constant(255))),
                "the value (%rbx + 1) & 255",
            ),
        ];
        for (location, text) in cases {
            assert_eq!(location.to_string(), text);
        }
    }

    #[test]
    fn sums_are_folded() {
        let sum = Term::binary(Binary::Add, Term::Constant(8), register(7));
        let sum = Term::binary(Binary::Sub, sum, Term::Constant(8));
        assert_eq!(sum, register(7));
    }
}
