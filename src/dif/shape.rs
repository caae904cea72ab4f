//! dif/shape.rs: what the bytes of a printed value are, member by member.

/// How print() shows a value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Shape {
    /// 1, 2, 4 or 8 bytes: an integer or a pointer, in hexadecimal.
    Number {
        bytes: u32,
    },
    Enum {
        bytes: u32,
        values: Vec<(String, i64)>,
    },
    /// Text up to a NUL, in a field of so many bytes.
    Text {
        bytes: u64,
    },
    Array {
        of: Box<Shape>,
        /// Bytes from one element to the next.
        stride: u64,
        len: u64,
    },
    /// Struct or union.
    Record(Vec<Part>),
    /// Of no known meaning.
    Bytes {
        bytes: u64,
    },
}

/// A member: its declaration as C writes it, and where its value is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Part {
    /// `struct list_head`, `char [16]`
    pub type_name: String,
    pub name: String,
    /// In bytes, from the start of the record.
    pub offset: u64,
    /// A bit-field: its first bit in the bytes from `offset` on, and how many there are.
    pub bits: Option<(u32, u32)>,
    pub shape: Shape,
}
