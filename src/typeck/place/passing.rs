//! typeck/place/passing.rs: where the System V ABI of x86-64 passes the parameters of a function.

use crate::typeck::state::Checker;
use kinst_types::{Prototype, Type};

/// The general registers for parameters, and the bytes of each.
const REGISTERS: usize = 6;
const REGISTER_BYTES: u64 = 8;

/// The largest structure that is passed in registers.
const LARGEST: u64 = 16;

/// The parts that a value is passed in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Passed {
    /// This many general registers, and no others.
    General(usize),
    /// This many vector registers, and general ones.
    Vector {
        /// Vector registers.
        vector: usize,
        /// General registers.
        general: usize,
    },
    /// This many bytes on the stack.
    Stack(u64),
}

/// Why `argN` has no parameter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Elsewhere {
    /// From the vector register with this number.
    Vector(usize),
    Stack,
}

/// The vector registers for parameters.
const VECTORS: usize = 8;

impl Checker<'_> {
    /// Returns the number N of the `argN` that has a parameter, which is an integer or a pointer.
    pub(super) fn argument_number(&self, prototype: &Prototype, number: usize) -> Result<usize, Elsewhere> {
        // A large result is written where the first register points.
        let is_hidden = matches!(self.passing(&prototype.returns), Passed::Stack(_));
        let mut registers = usize::from(is_hidden && !prototype.returns.is_void());
        let (mut stack, mut vectors) = (0, 0);
        for (index, (_, ty)) in prototype.params.iter().enumerate() {
            let passed = self.passing(ty);
            let place = match passed {
                Passed::General(count) if registers + count <= REGISTERS => {
                    registers += count;
                    registers - count
                }
                Passed::Vector { vector, general }
                    if registers + general <= REGISTERS && vectors + vector <= VECTORS =>
                {
                    if index == number {
                        return Err(Elsewhere::Vector(vectors));
                    }
                    registers += general;
                    vectors += vector;
                    continue;
                }
                Passed::General(_) | Passed::Vector { .. } | Passed::Stack(_) => {
                    let slots = self.layout.size(ty).unwrap_or(REGISTER_BYTES).div_ceil(REGISTER_BYTES);
                    stack += usize::try_from(slots).unwrap_or(usize::MAX);
                    REGISTERS + stack - 1
                }
            };
            if index == number {
                return match passed {
                    Passed::General(1) => Ok(place),
                    Passed::General(_) | Passed::Vector { .. } | Passed::Stack(_) => Err(Elsewhere::Stack),
                };
            }
        }
        Err(Elsewhere::Stack)
    }

    /// Returns how a value is passed.
    pub(super) fn passing(&self, ty: &Type) -> Passed {
        let bytes = self.layout.size(ty).unwrap_or(REGISTER_BYTES);
        match ty.resolved() {
            _ if ty.is_wide_integer() => Passed::General(2),
            Type::Float { bytes: 4 | 8, .. } => Passed::Vector { vector: 1, general: 0 },
            // A complex number.
            Type::Array { of, .. } if matches!(of.resolved(), Type::Float { bytes: 4 | 8, .. }) => {
                let vector = usize::try_from(bytes.div_ceil(REGISTER_BYTES)).unwrap_or(1);
                Passed::Vector { vector, general: 0 }
            }
            // A long double.
            Type::Float { .. } | Type::Array { .. } => Passed::Stack(bytes),
            Type::Record(_) if bytes > LARGEST => Passed::Stack(bytes),
            Type::Record(_) => {
                let mut is_general = [false; 2];
                self.mark_general(ty, 0, &mut is_general);
                let words = usize::try_from(bytes.div_ceil(REGISTER_BYTES)).unwrap_or(2);
                let general = is_general.into_iter().take(words).filter(|general| *general).count();
                match words - general {
                    0 => Passed::General(general),
                    vector => Passed::Vector { vector, general },
                }
            }
            _ => Passed::General(1),
        }
    }

    /// Marks the words of a structure that have other members than floating-point numbers.
    fn mark_general(&self, ty: &Type, base: u64, is_general: &mut [bool; 2]) {
        match ty.resolved() {
            Type::Float { .. } => {}
            Type::Record(record) => {
                for member in self.env.kernel.members(record) {
                    self.mark_general(&member.ty, base + member.bit_offset / 8, is_general);
                }
            }
            Type::Array { of, len } => {
                let each = self.layout.size(of).unwrap_or(1).max(1);
                for index in 0..(*len).min(LARGEST) {
                    self.mark_general(of, base + index * each, is_general);
                }
            }
            _ => {
                let word = usize::try_from(base / REGISTER_BYTES).unwrap_or(usize::MAX);
                if let Some(word) = is_general.get_mut(word) {
                    *word = true;
                }
            }
        }
    }
}
