//! types/: Type, layout, trait TypeSource.

pub mod btf;
pub mod declared;
pub mod intrinsic;
mod layout;
mod tag;

use std::borrow::Cow;
use std::fmt;

pub use layout::{Layout, has_size, promote};
pub use tag::TagKind;

/// A D type. A struct, union or enum is a name and a handle: its members come from the [`TypeSource`] that made it, so
/// a type is a finite value although the kernel's structures refer to each other.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Type {
    Void,
    Int(Int),
    Float {
        name: Cow<'static, str>,
        bytes: u8,
    },
    Enum(Tagged),
    /// Struct or union.
    Record(Tagged),
    Pointer {
        to: Box<Type>,
        /// Whether it points into the memory of the current process.
        user: bool,
    },
    /// A `len` of 0 means `[]`.
    Array {
        of: Box<Type>,
        len: u64,
    },
    /// D's own by-reference string of `strsize` bytes.
    String,
    Function,
    /// The type of an aggregation: there is no value, so no operator takes it.
    Dynamic,
    Typedef {
        name: Cow<'static, str>,
        to: Box<Type>,
    },
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Int {
    pub name: Cow<'static, str>,
    pub bytes: u8,
    pub signed: bool,
}

/// `struct name`, `union name` or `enum name`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tagged {
    pub kind: TagKind,
    /// Empty if it has no tag.
    pub name: String,
    pub id: TypeId,
    /// `None` if it is only declared forward.
    pub bytes: Option<u64>,
}

/// The source of a struct, union or enum, and its index there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct TypeId {
    pub origin: TypeOrigin,
    pub index: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum TypeOrigin {
    Program,
    /// One of the kernel's files of types, by number: the kernel proper, then modules.
    Kernel(u16),
}

/// A member of a struct or union.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Member {
    pub name: String,
    pub ty: Type,
    pub bit_offset: u64,
    /// The width of a bit-field; `None` for other members.
    pub bits: Option<u32>,
}

/// A source of types by name: intrinsics, the kernel's BTF or DWARF, the program itself.
pub trait TypeSource {
    /// A base type or typedef: `int`, `unsigned long`, `pid_t`; `` module`pid_t `` in that module only.
    fn named(&self, name: &str) -> Option<Type>;

    /// `struct name`, `union name`, `enum name`; the name may have a module too.
    fn tagged(&self, kind: TagKind, name: &str) -> Option<Type>;

    /// Returns what is known by now of a type that may only have been declared forward when it was met.
    fn complete(&self, tagged: &Tagged) -> Tagged;

    /// The members of a struct or union of this source; empty for a forward declaration.
    fn members(&self, record: &Tagged) -> Vec<Member>;

    /// Names and values of an enum of this source.
    fn enumerators(&self, tagged: &Tagged) -> Vec<(String, i64)>;

    /// Whether a struct of this source has its members one after the other, without alignment.
    fn is_packed(&self, _: &Tagged) -> bool {
        false
    }

    /// All names that `named` finds and that a misspelt name may have meant.
    fn names(&self) -> Vec<&str>;
}

/// The types and symbols of a kernel. Nothing is loaded until it is needed.
pub trait KernelTypes: TypeSource {
    /// A variable or function, `name` or `` module`name ``; a leading backtick means all modules.
    fn symbol(&self, name: &str) -> Option<Symbol>;

    /// The type of a function, for `args[]`. An empty module means any.
    fn prototype(&self, module: &str, function: &str) -> Option<Prototype>;

    /// Whether a module of this name exists; the kernel proper counts as one.
    fn has_module(&self, name: &str) -> bool {
        kinst_base::image::is_kernel_proper(name)
    }

    /// The type at a place of a module's debug information that a variable of the module refers to.
    fn type_at(&self, _module: &str, _place: u64) -> Type {
        Type::Void
    }

    /// The reason why there are no types of the kernel, and what to do about it.
    fn without_types(&self) -> Option<String>;
}

/// A variable or function of the kernel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Symbol {
    pub module: String,
    pub name: String,
    pub address: u64,
    pub bytes: u64,
    /// Whether each processor has its own copy: at the address are only the initial contents.
    pub per_cpu: bool,
    /// `None` if the type is not known.
    pub ty: Option<Type>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Prototype {
    pub params: Vec<(String, Type)>,
    pub returns: Type,
}

impl Type {
    pub fn pointer_to(to: Type) -> Type {
        Type::Pointer { to: Box::new(to), user: false }
    }

    pub fn array_of(of: Type, len: u64) -> Type {
        Type::Array { of: Box::new(of), len }
    }

    /// The type without its typedefs.
    pub fn resolved(&self) -> &Type {
        let mut ty = self;
        while let Type::Typedef { to, .. } = ty {
            ty = to;
        }
        ty
    }

    /// Whether its values are places in the kernel's code: `caller`, and pointers to functions.
    pub fn is_place_in_code(&self) -> bool {
        match self {
            Type::Typedef { name, .. } if *name == intrinsic::PLACE_IN_CODE => true,
            Type::Typedef { to, .. } => to.is_place_in_code(),
            Type::Pointer { to, user } => !user && matches!(to.resolved(), Type::Function),
            _ => false,
        }
    }

    /// Whether it is an integer or enum.
    pub fn is_integer(&self) -> bool {
        matches!(self.resolved(), Type::Int(_) | Type::Enum(_))
    }

    /// Whether it is an integer or pointer, and so can be a condition.
    pub fn is_scalar(&self) -> bool {
        self.is_integer() || matches!(self.resolved(), Type::Pointer { .. })
    }

    /// Whether it is a pointer or array.
    pub fn is_pointer(&self) -> bool {
        self.referent().is_some()
    }

    pub fn is_void(&self) -> bool {
        matches!(self.resolved(), Type::Void)
    }

    pub fn is_string(&self) -> bool {
        matches!(self.resolved(), Type::String)
    }

    pub fn is_record(&self) -> bool {
        matches!(self.resolved(), Type::Record(_))
    }

    /// Whether it is `string`, `char *` or `char []`.
    pub fn is_string_compatible(&self) -> bool {
        self.is_string() || self.referent().is_some_and(Type::is_char)
    }

    /// Whether it is an integer of one byte, of which texts are made.
    pub fn is_byte(&self) -> bool {
        matches!(self.resolved(), Type::Int(Int { bytes: 1, .. }))
    }

    fn is_char(&self) -> bool {
        matches!(self.resolved(), Type::Int(Int { bytes: 1, signed: true, .. }))
    }

    pub fn is_signed(&self) -> bool {
        match self.resolved() {
            Type::Int(int) => int.signed,
            Type::Enum(_) => true,
            _ => false,
        }
    }

    /// The type that a pointer points to, or of an array's elements.
    pub fn referent(&self) -> Option<&Type> {
        match self.resolved() {
            Type::Pointer { to, .. } => Some(to),
            Type::Array { of, .. } => Some(of),
            _ => None,
        }
    }

    pub fn is_user(&self) -> bool {
        matches!(self.resolved(), Type::Pointer { user: true, .. })
    }

    /// Whether a register holds the value's address instead of the value.
    pub fn is_by_ref(&self) -> bool {
        matches!(self.resolved(), Type::String | Type::Array { .. } | Type::Record(_))
    }

    /// Whether both are the same type, whatever the typedefs are called.
    pub fn same(&self, other: &Type) -> bool {
        match (self.resolved(), other.resolved()) {
            (Type::Int(a), Type::Int(b)) => a.bytes == b.bytes && a.signed == b.signed,
            (Type::Pointer { to: a, user: u }, Type::Pointer { to: b, user: v }) => u == v && a.same(b),
            (Type::Array { of: a, len: m }, Type::Array { of: b, len: n }) => m == n && a.same(b),
            (Type::Record(a), Type::Record(b)) | (Type::Enum(a), Type::Enum(b)) => a.same(b),
            (a, b) => a == b,
        }
    }
}

impl Tagged {
    /// A forward declaration is the type of its name, wherever that is defined; in the kernel one name is one type.
    pub fn same(&self, other: &Tagged) -> bool {
        let named = self.kind == other.kind && self.name == other.name && !self.name.is_empty();
        let of_kernel = |tagged: &Tagged| matches!(tagged.id.origin, TypeOrigin::Kernel(_));
        let forward = self.bytes.is_none() || other.bytes.is_none();
        self.id == other.id || named && (forward || of_kernel(self) && of_kernel(other))
    }
}

/// Writes the type as C does: `unsigned int`, `pid_t`, `struct file *`, `char [16]`.
impl fmt::Display for Type {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The text that C puts around the name, from the outermost type inwards.
        let mut declarator = String::new();
        let mut ty = self;
        loop {
            match ty {
                Type::Pointer { to, .. } => {
                    declarator.insert(0, '*');
                    ty = to;
                }
                Type::Array { of, len } => {
                    if declarator.starts_with('*') {
                        declarator = format!("({declarator})");
                    }
                    declarator += &if *len == 0 { "[]".to_string() } else { format!("[{len}]") };
                    ty = of;
                }
                _ => break,
            }
        }
        match ty {
            Type::Void => f.write_str("void")?,
            Type::Int(int) => f.write_str(&int.name)?,
            Type::Float { name, .. } | Type::Typedef { name, .. } => f.write_str(name)?,
            Type::Enum(tagged) | Type::Record(tagged) => write!(f, "{tagged}")?,
            Type::String => f.write_str("string")?,
            Type::Function => f.write_str("function")?,
            Type::Dynamic => f.write_str("aggregation")?,
            Type::Pointer { .. } | Type::Array { .. } => {}
        }
        if declarator.is_empty() { Ok(()) } else { write!(f, " {declarator}") }
    }
}

impl fmt::Display for Tagged {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind = match self.kind {
            TagKind::Struct => "struct",
            TagKind::Union => "union",
            TagKind::Enum => "enum",
        };
        match self.name.as_str() {
            "" => write!(f, "{kind} (no name)"),
            name => write!(f, "{kind} {name}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::intrinsic::{self, Intrinsic};
    use super::*;

    #[test]
    fn types_are_written_as_in_c() {
        let array = Type::array_of(intrinsic::CHAR, 16);
        let cases = [
            (Type::pointer_to(intrinsic::CHAR), "char *"),
            (array.clone(), "char [16]"),
            (Type::array_of(Type::pointer_to(intrinsic::INT), 4), "int *[4]"),
            (Type::pointer_to(array), "char (*)[16]"),
            (Type::pointer_to(Type::pointer_to(Type::Void)), "void **"),
            (Intrinsic.named("pid_t").unwrap(), "pid_t"),
        ];
        for (ty, text) in cases {
            assert_eq!(ty.to_string(), text);
        }
    }
}
