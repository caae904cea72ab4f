//! dif/shape.rs: the meaning of the bytes of a printed value, member by member.

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
    /// Text up to a NUL, in a field of this many bytes.
    Text {
        bytes: u64,
    },
    Array {
        of: Box<Shape>,
        /// The distance between two elements in bytes.
        stride: u64,
        len: u64,
    },
    /// A struct or union.
    Record(Vec<Part>),
    /// Bytes of unknown meaning.
    Bytes {
        bytes: u64,
    },
}

/// A member: its declaration as C writes it, and the place of its value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Part {
    /// `struct list_head`, `char [16]`
    pub type_name: String,
    pub name: String,
    /// The offset in bytes from the start of the record.
    pub offset: u64,
    /// For a bit-field, its first bit in the bytes from `offset` on, and its width in bits.
    pub bits: Option<(u32, u32)>,
    pub shape: Shape,
}
