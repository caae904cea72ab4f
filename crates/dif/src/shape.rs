//! dif/shape.rs: the meaning of the bytes of a printed value, member by member.

use super::action::Printm;
use kinst_base::variant::Variant;
use std::fmt;

/// How print() shows a value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Shape {
    /// 1, 2, 4, 8 or 16 bytes: an integer, in hexadecimal.
    Number {
        /// Size of the integer.
        bytes: u32,
    },
    /// 4 or 8 bytes: a floating-point number; 16 bytes: one of the x87, in the first 10.
    Float {
        /// Size of the number.
        bytes: u32,
    },
    /// An address, in hexadecimal.
    Pointer {
        /// Size of the address.
        bytes: u32,
    },
    /// An enumerator by its name; an integer if none has the value.
    Enum {
        /// Size of the integer.
        bytes: u32,
        /// Enumerators by name, in declaration order.
        values: Vec<(String, i64)>,
    },
    /// Text up to a NUL, in a field of this many bytes.
    Text {
        /// Size of the field.
        bytes: u64,
    },
    /// Elements of the same shape.
    Array {
        /// The shape of an element.
        of: Box<Shape>,
        /// Distance between elements in bytes.
        stride: u64,
        /// Number of elements.
        len: u64,
    },
    /// A struct or union.
    Record(Vec<Part>),
    /// Bytes of unknown meaning.
    Bytes {
        /// Size of the value.
        bytes: u64,
    },
    /// A virtual base class, whose place is unknown.
    Unplaced,
    /// A value that refers to memory of the process, which a separate record contains.
    Referring(Box<Referring>),
}

/// A value that refers to memory of the process: a string, a vector, a reference.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Referring {
    /// Index of the record with the memory ([`Printm`]), among those that follow the record of the printed value.
    pub record: usize,
    /// The contents of the memory.
    pub contents: Contents,
    /// The shape of the value itself, for memory that could not be read.
    pub plain: Shape,
}

/// The contents of the memory that a value refers to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Contents {
    /// Text, which may contain NULs.
    Text,
    /// Elements one after the other.
    Elements {
        /// The shapes of the first elements, as many as may be recorded: each may refer to other records.
        shapes: Vec<Shape>,
        /// Distance between elements in bytes, never 0.
        stride: u64,
    },
    /// One value.
    Value {
        /// Its type, as in [`Part::type_name`].
        type_name: String,
        /// Its shape.
        shape: Shape,
    },
}

/// The recorded memory that a value refers to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Referent<'a> {
    /// The beginning of a text of `length` bytes.
    Text {
        /// The recorded bytes.
        text: &'a [u8],
        /// The number of all bytes.
        length: u64,
    },
    /// The first of `length` elements.
    Elements {
        /// The recorded elements, each with its shape.
        elements: Vec<(&'a [u8], &'a Shape)>,
        /// The number of all elements.
        length: u64,
    },
    /// One value.
    Value {
        /// The recorded bytes.
        value: &'a [u8],
        /// Its type.
        type_name: &'a str,
        /// Its shape.
        shape: &'a Shape,
    },
}

impl Referring {
    /// Returns the memory that the value refers to; `None` if it could not be read, or there is none.
    pub fn referent<'a>(&'a self, records: &[&'a [u8]]) -> Option<Referent<'a>> {
        let (bytes, recorded) = Printm::recorded(records.get(self.record)?)?;
        match &self.contents {
            Contents::Text => Some(Referent::Text { text: recorded, length: bytes }),
            Contents::Elements { shapes, stride } => {
                let stride = usize::try_from(*stride).ok()?;
                let length = bytes.checked_div(stride as u64)?;
                Some(Referent::Elements {
                    elements: recorded.chunks_exact(stride).zip(shapes).collect(),
                    length,
                })
            }
            Contents::Value { type_name, shape } => (bytes > 0 && is_in(recorded, shape))
                .then_some(Referent::Value { value: recorded, type_name, shape }),
        }
    }
}

/// A member: its C declaration, and the location of its value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Part {
    /// Type, as in `struct list_head` or `char [16]`.
    pub type_name: String,
    /// Name of the member; empty if anonymous.
    pub name: String,
    /// The offset in bytes from the start of the record.
    pub offset: u64,
    /// For a bit-field, its first bit in the bytes from `offset` on, and its width in bits.
    pub bits: Option<(u32, u32)>,
    /// Shape of the value; for a bit-field, the shape of its type.
    pub shape: Shape,
    /// The values of a tag for which it exists; `None` if it always does.
    pub variant: Option<Variant>,
}

/// Returns those of the `len` bytes at an offset that exist.
pub fn field(value: &[u8], offset: u64, len: u64) -> &[u8] {
    let rest = usize::try_from(offset).ok().and_then(|offset| value.get(offset..)).unwrap_or_default();
    &rest[..usize::try_from(len).unwrap_or(usize::MAX).min(rest.len())]
}

/// Whether the existing bytes contain a value of this shape: all of a number, or the beginning of a shape with parts.
pub fn is_in(value: &[u8], shape: &Shape) -> bool {
    match shape {
        Shape::Number { bytes }
        | Shape::Float { bytes }
        | Shape::Pointer { bytes }
        | Shape::Enum { bytes, .. } => value.len() >= *bytes as usize,
        Shape::Record(_) | Shape::Array { .. } | Shape::Text { .. } | Shape::Bytes { .. } => {
            !value.is_empty() || is_void(shape)
        }
        Shape::Unplaced => true,
        Shape::Referring(referring) => is_in(value, &referring.plain),
    }
}

/// Whether a value of this shape has no bytes.
fn is_void(shape: &Shape) -> bool {
    match shape {
        Shape::Record(parts) => parts.iter().all(|part| is_void(&part.shape)),
        Shape::Array { of, len, .. } => *len == 0 || is_void(of),
        Shape::Text { bytes } | Shape::Bytes { bytes } => *bytes == 0,
        Shape::Unplaced => true,
        Shape::Referring(referring) => is_void(&referring.plain),
        Shape::Number { .. } | Shape::Float { .. } | Shape::Pointer { .. } | Shape::Enum { .. } => false,
    }
}

impl Part {
    /// Whether the record has this member, by its tag.
    pub fn exists(&self, record: &[u8]) -> bool {
        self.variant.as_ref().is_none_or(|variant| {
            let tag = field(record, variant.offset, variant.bytes.into());
            tag.len() == usize::from(variant.bytes) && variant.has(number(tag, variant.bytes.into()))
        })
    }

    /// Whether the existing bytes of a record contain this member.
    pub fn is_in(&self, record: &[u8]) -> bool {
        let rest = field(record, self.offset, u64::MAX);
        match self.bits {
            Some((first, width)) => rest.len() as u64 * 8 >= u64::from(first) + u64::from(width),
            None => is_in(rest, &self.shape),
        }
    }
}

/// Returns a floating-point number of 4 or 8 bytes.
pub fn float(value: &[u8], bytes: u32) -> f64 {
    match bytes {
        4 => single(value).into(),
        _ => f64::from_bits(number(value, 8)),
    }
}

/// Returns a floating-point number of the x87 (`long double`), if it is the same number in 8 bytes.
///
/// The format is a sign, 15 bits of an exponent with a bias of 16383, and 64 bits with the integer part.
pub fn extended(value: &[u8]) -> Result<f64, Extended> {
    let (mantissa, top) = (number(value, 8), number(field(value, 8, 2), 2) as u16);
    let (sign, exponent) = (top >> 15 != 0, i32::from(top & 0x7fff));
    let signed = |number: f64| if sign { -number } else { number };
    match (exponent, mantissa) {
        (0, 0) => return Ok(signed(0.0)),
        (0x7fff, 0x8000_0000_0000_0000) => return Ok(signed(f64::INFINITY)),
        (0x7fff, _) => return Ok(f64::NAN),
        _ => {}
    }
    // The lowest bit of the mantissa has the value 2 to this power.
    let power = exponent.max(1) - 16383 - 63;
    let zeros = mantissa.trailing_zeros().min(63);
    let (odd, lowest) = (mantissa >> zeros, power + zeros as i32);
    let exact = odd < 1 << 53 && lowest >= -1022 && lowest + 63 <= 1023;
    match exact {
        // Neither conversion rounds, nor does the product.
        true => Ok(signed(odd as f64 * 2f64.powi(lowest))),
        false => Err(Extended { sign, mantissa, power }),
    }
}

/// A number of the x87 that a number of 8 bytes would round: the mantissa, times 2 to a power.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Extended {
    sign: bool,
    mantissa: u64,
    power: i32,
}

/// Writes it as C does with `%La`: `0x8.ccccccccccccccdp-3`.
impl fmt::Display for Extended {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sign = if self.sign { "-" } else { "" };
        let (whole, rest) = (self.mantissa >> 60, self.mantissa << 4 >> 4);
        let digits = format!("{rest:015x}");
        let digits = digits.trim_end_matches('0');
        let point = if digits.is_empty() { "" } else { "." };
        write!(f, "{sign}{whole:#x}{point}{digits}p{:+}", self.power + 60)
    }
}

/// Returns a floating-point number of 4 bytes.
pub fn single(value: &[u8]) -> f32 {
    f32::from_bits(number(value, 4) as u32)
}

/// Returns the first bytes, at most 16, as a number.
pub fn whole(value: &[u8], bytes: u32) -> u128 {
    let bytes = field(value, 0, u64::from(bytes.min(16)));
    bytes.iter().rev().fold(0, |number, byte| number << 8 | u128::from(*byte))
}

/// Returns the first bytes, at most 8, as a number.
pub fn number(value: &[u8], bytes: u32) -> u64 {
    let bytes = field(value, 0, u64::from(bytes.min(8)));
    bytes.iter().rev().fold(0, |number, byte| number << 8 | u64::from(*byte))
}

/// Sign-extends a number of `bits` bits.
pub fn signed(raw: u64, bits: u32) -> i64 {
    let shift = 64u32.saturating_sub(bits).min(63);
    ((raw << shift) as i64) >> shift
}

/// Returns a bit-field; its first bit is in the first byte.
pub fn bit_field(value: &[u8], shift: u32, bits: u32) -> u64 {
    // At most 7 bits before the field, plus its 64.
    let whole = value.iter().take(9).rev().fold(0u128, |whole, byte| whole << 8 | u128::from(*byte));
    (whole >> shift.min(7)) as u64 & (u64::MAX >> (64 - bits.clamp(1, 64)))
}

/// Returns the name of an enumerator; `raw` is the unsigned value.
pub fn enumerator(value: i64, raw: u64, values: &[(String, i64)]) -> Option<&str> {
    let found = values.iter().find(|(_, candidate)| *candidate == value || *candidate as u64 == raw);
    found.map(|(name, _)| &**name)
}

#[cfg(test)]
mod tests {
    use super::{Part, Shape};
    use kinst_base::variant::Variant;

    #[test]
    fn members_exist_by_the_tag() {
        let part = |values: &[u64]| Part {
            type_name: "int".to_owned(),
            name: "member".to_owned(),
            offset: 0,
            bits: None,
            shape: Shape::Number { bytes: 2 },
            variant: Some(Variant { offset: 2, bytes: 2, values: values.to_vec(), others: Vec::new() }),
        };
        let record = [9, 9, 0xfe, 0xff, 9];
        assert!(part(&[0xfffe]).exists(&record));
        assert!(!part(&[0xfe]).exists(&record));
        assert!(part(&[]).exists(&record));
        assert!(!part(&[]).exists(&record[..3]), "not recorded");
        assert!(Part { variant: None, ..part(&[]) }.exists(&[]));
    }
}
