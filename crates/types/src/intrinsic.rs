//! types/intrinsic.rs: the types that every D program has, without a kernel.

use std::borrow::Cow;

use super::source::{KernelTypes, Member, Prototype, Symbol, TypeSource};
use super::tag::TagKind;
pub use super::ty::PLACE_IN_CODE;
use super::ty::{Int, Tagged, Type};

const fn int(name: &'static str, bytes: u8, signed: bool) -> Type {
    Type::Int(Int { name: Cow::Borrowed(name), bytes, signed })
}

/// `char`: 1 byte, with a sign.
pub const CHAR: Type = int("char", 1, true);
/// `unsigned char`: 1 byte.
pub const UCHAR: Type = int("unsigned char", 1, false);
/// `unsigned short`: 2 bytes.
pub const USHORT: Type = int("unsigned short", 2, false);
/// `int`: 4 bytes.
pub const INT: Type = int("int", 4, true);
/// `unsigned int`: 4 bytes.
pub const UINT: Type = int("unsigned int", 4, false);
/// `long`: 8 bytes.
pub const LONG: Type = int("long", 8, true);
/// `unsigned long`: 8 bytes.
pub const ULONG: Type = int("unsigned long", 8, false);
/// `long long`: 8 bytes.
pub const LONG_LONG: Type = int("long long", 8, true);
/// `unsigned long long`: 8 bytes.
pub const ULONG_LONG: Type = int("unsigned long long", 8, false);

/// The base types (LP64; char is signed), in the order of their definition.
const BASE: &[Type] = &[
    CHAR,
    int("signed char", 1, true),
    UCHAR,
    int("_Bool", 1, false),
    int("short", 2, true),
    USHORT,
    INT,
    UINT,
    LONG,
    ULONG,
    LONG_LONG,
    ULONG_LONG,
    Type::Float { name: Cow::Borrowed("float"), bytes: 4 },
    Type::Float { name: Cow::Borrowed("double"), bytes: 8 },
    Type::Float { name: Cow::Borrowed("long double"), bytes: 16 },
];

/// The typedefs that are always present, in the order of their definition.
const TYPEDEFS: &[(&str, &str)] = &[
    ("int8_t", "char"),
    ("int16_t", "short"),
    ("int32_t", "int"),
    ("int64_t", "long"),
    ("uint8_t", "unsigned char"),
    ("uint16_t", "unsigned short"),
    ("uint32_t", "unsigned int"),
    ("uint64_t", "unsigned long"),
    ("intptr_t", "long"),
    ("uintptr_t", "unsigned long"),
    ("ssize_t", "long"),
    ("size_t", "unsigned long"),
    ("ptrdiff_t", "long"),
    ("uchar_t", "unsigned char"),
    ("ushort_t", "unsigned short"),
    ("uint_t", "unsigned int"),
    ("ulong_t", "unsigned long"),
    ("longlong_t", "long long"),
    ("u_longlong_t", "unsigned long long"),
    ("id_t", "int"),
    ("pid_t", "int"),
    ("uid_t", "unsigned int"),
    ("gid_t", "unsigned int"),
    (PLACE_IN_CODE, "unsigned long"),
];

/// The types of §3 of the language: enough for any program that names no type of the kernel.
#[derive(Clone, Copy, Debug, Default)]
pub struct Intrinsic;

impl TypeSource for Intrinsic {
    fn named(&self, name: &str) -> Option<Type> {
        match name {
            "void" => Some(Type::Void),
            "string" => Some(Type::String),
            name => base(name).or_else(|| typedef(name)),
        }
    }

    fn tagged(&self, _: TagKind, _: &str) -> Option<Type> {
        None
    }

    fn complete(&self, tagged: &Tagged) -> Tagged {
        tagged.clone()
    }

    fn members(&self, _: &Tagged) -> Vec<Member> {
        Vec::new()
    }

    fn enumerators(&self, _: &Tagged) -> Vec<(String, i64)> {
        Vec::new()
    }

    fn names(&self) -> Vec<&str> {
        TYPEDEFS.iter().map(|(name, _)| *name).collect()
    }
}

/// An implementation without a kernel, with only the types that every program has.
impl KernelTypes for Intrinsic {
    fn symbol(&self, _: &str) -> Option<Symbol> {
        None
    }

    fn prototype(&self, _: &str, _: &str) -> Option<Prototype> {
        None
    }

    fn without_types(&self) -> Option<String> {
        Some("no kernel was examined".to_owned())
    }
}

/// The position of a type in the order of definition: base types, then the typedefs, then all others.
pub(super) fn definition_order(ty: &Type) -> usize {
    let name = ty.to_string();
    let base = BASE.iter().position(|base| base == ty);
    let typedef = || TYPEDEFS.iter().position(|(typedef, _)| *typedef == name).map(|i| BASE.len() + i);
    base.or_else(typedef).unwrap_or(usize::MAX)
}

fn base(name: &str) -> Option<Type> {
    let called = |ty: &&Type| matches!(ty, Type::Int(Int { name: own, .. }) | Type::Float { name: own, .. } if own == name);
    BASE.iter().find(called).cloned()
}

fn typedef(name: &str) -> Option<Type> {
    let (name, to) = TYPEDEFS.iter().find(|(typedef, _)| *typedef == name)?;
    Some(Type::Typedef { name: Cow::Borrowed(name), to: Box::new(base(to)?) })
}
