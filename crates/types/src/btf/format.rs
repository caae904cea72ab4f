//! types/btf/format.rs: the bytes of a BTF file: header, records, and the data after each kind of record.
//!
//! The format is described in Documentation/bpf/btf.rst of the kernel, and is little-endian. In newer kernels
//! a record may have 24 bits for the number of its elements and 7 for its kind, instead of 16 and 5 with
//! zeros above them, and the header may describe a third section, the layout: for each kind, the sizes of the
//! data after its record. With a layout, a kind that is unknown here is skipped: the kinds of inline sites
//! (LOC_PARAM, LOC_PROTO, LOCSEC) are proposed, and do not have numbers yet.

use std::fmt;
use std::ops::Range;

const MAGIC: u16 = 0xeb9f;
/// The size of a record's name, info, and size or type.
const HEAD: usize = 12;

/// Why a file is not BTF.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Malformed {
    /// Wrong first bytes, or the other byte order.
    Magic,
    /// A version of the format other than 1.
    Version(u8),
    /// The file does not contain the sections that the header describes.
    Truncated,
    /// An unknown kind, in a file that does not describe how long its records are.
    Kind(u32),
}

impl fmt::Display for Malformed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Malformed::Magic => f.write_str("it does not begin with the magic number of BTF"),
            Malformed::Version(version) => {
                write!(f, "BTF version {version} is not supported; only version 1 is")
            }
            Malformed::Truncated => f.write_str("it is truncated"),
            Malformed::Kind(kind) => {
                write!(f, "it has types of unknown kind {kind}, and no layout to skip them")
            }
        }
    }
}

/// The ranges of the sections in the file.
#[derive(Clone, Debug)]
pub struct Header {
    types: Range<usize>,
    strings: Range<usize>,
    /// Empty in older files.
    layout: Range<usize>,
}

/// The size of a header that describes the layout.
const WITH_LAYOUT: usize = 32;
/// The highest kind before files had a layout.
const LAST_PLAIN: u32 = 19;

impl Header {
    /// Reads the header of a file. A section outside the file is an error.
    pub fn read(bytes: &[u8]) -> Result<Header, Malformed> {
        let word = |at: usize| u32_at(bytes, at).map(|word| word as usize).ok_or(Malformed::Truncated);
        match bytes {
            [low, high, ..] if u16::from_le_bytes([*low, *high]) != MAGIC => return Err(Malformed::Magic),
            [_, _, version, ..] if *version != 1 => return Err(Malformed::Version(*version)),
            _ => {}
        }
        let length = word(4)?;
        let section = |at: usize| -> Result<Range<usize>, Malformed> {
            let start = length.checked_add(word(at)?).ok_or(Malformed::Truncated)?;
            let end = start.checked_add(word(at + 4)?).ok_or(Malformed::Truncated)?;
            if end > bytes.len() { Err(Malformed::Truncated) } else { Ok(start..end) }
        };
        let layout = if length >= WITH_LAYOUT { section(24)? } else { 0..0 };
        Ok(Header { types: section(8)?, strings: section(16)?, layout })
    }

    /// The bytes of the layout; empty if the file has none.
    pub fn layout<'a>(&self, bytes: &'a [u8]) -> &'a [u8] {
        bytes.get(self.layout.clone()).unwrap_or_default()
    }

    /// The bytes of the records.
    pub fn types<'a>(&self, bytes: &'a [u8]) -> &'a [u8] {
        bytes.get(self.types.clone()).unwrap_or_default()
    }

    /// The bytes of the strings, each with a terminating zero.
    pub fn strings<'a>(&self, bytes: &'a [u8]) -> &'a [u8] {
        bytes.get(self.strings.clone()).unwrap_or_default()
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Int,
    Pointer,
    Array,
    Struct,
    Union,
    Enum,
    Forward,
    Typedef,
    /// const, volatile, restrict or a type tag: does not affect how a value is read.
    Modifier,
    Function,
    Prototype,
    Variable,
    /// A section of variables, or a declaration tag: not a type.
    Other,
    Float,
    Enum64,
}

impl Kind {
    pub(super) fn of(info: u32) -> Option<Kind> {
        Some(match kind(info) {
            1 => Kind::Int,
            2 => Kind::Pointer,
            3 => Kind::Array,
            4 => Kind::Struct,
            5 => Kind::Union,
            6 => Kind::Enum,
            7 => Kind::Forward,
            8 => Kind::Typedef,
            9..=11 | 18 => Kind::Modifier,
            12 => Kind::Function,
            13 => Kind::Prototype,
            14 => Kind::Variable,
            15 | 17 => Kind::Other,
            16 => Kind::Float,
            19 => Kind::Enum64,
            _ => return None,
        })
    }
}

fn kind(info: u32) -> u32 {
    info >> 24 & 0x7f
}

fn count(info: u32) -> usize {
    (info & 0xff_ffff) as usize
}

/// The number of bytes after the head of a record of a known kind.
fn tail(info: u32) -> Option<usize> {
    let count = count(info);
    Some(match kind(info) {
        1 | 14 | 17 => 4,
        3 => 12,
        4 | 5 | 15 | 19 => count * 12,
        6 | 13 => count * 8,
        2 | 7..=12 | 16 | 18 => 0,
        _ => return None,
    })
}

/// The number of bytes after the head of a record of any kind in the layout. The layout has four bytes for
/// each kind: the first is the size of the fixed data, the second the size of each element.
fn tail_by(layout: &[u8], info: u32) -> Option<usize> {
    let [once, each, ..] = layout.chunks_exact(4).nth(kind(info) as usize)? else { return None };
    Some(usize::from(*once) + count(info) * usize::from(*each))
}

/// The offsets of the records, up to the first one that is damaged. `layout` may be empty.
pub(super) fn record_offsets(types: &[u8], layout: &[u8]) -> Result<Vec<u32>, Malformed> {
    let mut offsets = Vec::with_capacity(types.len() / 24);
    let mut at = 0;
    while let Some(info) = u32_at(types, at + 4) {
        let Some(tail) = tail(info).or_else(|| tail_by(layout, info).filter(|_| kind(info) > LAST_PLAIN))
        else {
            if kind(info) > LAST_PLAIN {
                return Err(Malformed::Kind(kind(info)));
            }
            break;
        };
        if at + HEAD + tail > types.len() {
            break;
        }
        offsets.push(at as u32);
        at += HEAD + tail;
    }
    Ok(offsets)
}

/// Name and info of the record at an offset.
pub(super) fn head(types: &[u8], at: usize) -> Option<(u32, u32)> {
    Some((u32_at(types, at)?, u32_at(types, at + 4)?))
}

/// One record.
#[derive(Clone, Copy)]
pub(super) struct Reader<'a> {
    head: &'a [u8],
    tail: &'a [u8],
}

impl<'a> Reader<'a> {
    pub(super) fn at(types: &'a [u8], at: usize) -> Option<Reader<'a>> {
        let head = types.get(at..at.checked_add(HEAD)?)?;
        let length = tail(u32_at(head, 4)?)?;
        let tail = types.get(at + HEAD..(at + HEAD).checked_add(length)?)?;
        Some(Reader { head, tail })
    }

    pub(super) fn name(&self) -> u32 {
        u32_at(self.head, 0).unwrap_or(0)
    }

    pub(super) fn info(&self) -> u32 {
        u32_at(self.head, 4).unwrap_or(0)
    }

    /// The offset of the name, and the contents.
    pub(super) fn record(&self) -> Option<(u32, Record<'a>)> {
        let info = self.info();
        let flag = info >> 31 != 0;
        let word = u32_at(self.head, 8)?;
        let tail = self.tail;
        let record = match Kind::of(info)? {
            Kind::Int => {
                let data = u32_at(tail, 0)?;
                let signed = data >> 24 & 1 != 0;
                Record::Int { bytes: word, signed, bit_offset: data >> 16 & 0xff, bits: data & 0xff }
            }
            Kind::Pointer => Record::Pointer(word),
            Kind::Array => Record::Array { of: u32_at(tail, 0)?, len: u32_at(tail, 8)? },
            kind @ (Kind::Struct | Kind::Union) => Record::Struct {
                union: kind == Kind::Union,
                bytes: word,
                fields: Fields { tail, bits: flag },
            },
            Kind::Enum => Record::Enum { bytes: word, values: Values { tail, wide: false } },
            Kind::Enum64 => Record::Enum { bytes: word, values: Values { tail, wide: true } },
            Kind::Forward => Record::Forward { union: flag },
            Kind::Typedef => Record::Typedef(word),
            Kind::Modifier => Record::Modifier(word),
            Kind::Function => Record::Function(word),
            Kind::Prototype => Record::Prototype { returns: word, params: Params { tail } },
            Kind::Variable => Record::Variable(word),
            Kind::Float => Record::Float { bytes: word },
            Kind::Other => Record::Other,
        };
        Some((self.name(), record))
    }
}

/// The contents of a type. Other types are given by their ids, 0 for void; sizes are in bytes.
#[derive(Clone, Debug)]
pub enum Record<'a> {
    /// The value has `bits` bits, from `bit_offset` on.
    Int {
        /// Size of the storage.
        bytes: u32,
        /// Whether the value has a sign.
        signed: bool,
        /// Bits from the start of the storage to the value.
        bit_offset: u32,
        /// Width of the value.
        bits: u32,
    },
    /// A pointer to the type of this id.
    Pointer(u32),
    /// An array.
    Array {
        /// Type of the elements.
        of: u32,
        /// Number of elements; 0 for `[]`.
        len: u32,
    },
    /// A struct or union with its members.
    Struct {
        /// Whether it is a union.
        union: bool,
        /// Size of the whole.
        bytes: u32,
        /// Members in the order of the file.
        fields: Fields<'a>,
    },
    /// An enum (ENUM, ENUM64).
    Enum {
        /// Size of a value.
        bytes: u32,
        /// Enumerators in the order of the file.
        values: Values<'a>,
    },
    /// A struct or union that this file does not define.
    Forward {
        /// Whether it is a union.
        union: bool,
    },
    /// Another name of the type of this id.
    Typedef(u32),
    /// The type of this id with const, volatile, restrict or a type tag, which do not change how a value is
    /// read.
    Modifier(u32),
    /// A function, with the id of its prototype.
    Function(u32),
    /// Parameters and result of functions.
    Prototype {
        /// Type of the result.
        returns: u32,
        /// Parameters in their order.
        params: Params<'a>,
    },
    /// A variable, with the id of its type.
    Variable(u32),
    /// float, double, or a larger type.
    Float {
        /// Size of a value.
        bytes: u32,
    },
    /// A section of variables, or a declaration tag: not a type.
    Other,
}

/// The members of a struct or union.
#[derive(Clone, Copy, Debug)]
pub struct Fields<'a> {
    tail: &'a [u8],
    /// Whether offsets have the length of a bit-field in their upper byte.
    bits: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Field {
    pub name: u32,
    pub ty: u32,
    pub bit_offset: u32,
    /// 0: not a bit-field, as far as the record shows.
    pub bits: u32,
}

impl<'a> Fields<'a> {
    pub fn iter(self) -> impl Iterator<Item = Field> + 'a {
        self.tail.chunks_exact(12).filter_map(move |chunk| {
            let offset = u32_at(chunk, 8)?;
            let (bit_offset, bits) = if self.bits { (offset & 0xff_ffff, offset >> 24) } else { (offset, 0) };
            Some(Field { name: u32_at(chunk, 0)?, ty: u32_at(chunk, 4)?, bit_offset, bits })
        })
    }
}

/// The enumerators of an enum.
#[derive(Clone, Copy, Debug)]
pub struct Values<'a> {
    tail: &'a [u8],
    wide: bool,
}

impl<'a> Values<'a> {
    /// Offset of the name, and value.
    pub fn iter(self) -> impl Iterator<Item = (u32, i64)> + 'a {
        self.tail.chunks_exact(if self.wide { 12 } else { 8 }).filter_map(move |chunk| {
            let low = u32_at(chunk, 4)?;
            // An enum of four bytes is an int in D. BTF records whether it has negative values only since 6.0.
            let value = match self.wide {
                true => i64::from(u32_at(chunk, 8)?) << 32 | i64::from(low),
                false => i64::from(low as i32),
            };
            Some((u32_at(chunk, 0)?, value))
        })
    }
}

/// The parameters of a function.
#[derive(Clone, Copy, Debug)]
pub struct Params<'a> {
    tail: &'a [u8],
}

impl<'a> Params<'a> {
    /// Offset of the name, and type; both 0: `...`.
    pub fn iter(self) -> impl Iterator<Item = (u32, u32)> + 'a {
        self.tail.chunks_exact(8).filter_map(|chunk| Some((u32_at(chunk, 0)?, u32_at(chunk, 4)?)))
    }
}

fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    let word = bytes.get(at..at.checked_add(4)?)?;
    Some(u32::from_le_bytes(word.try_into().ok()?))
}
