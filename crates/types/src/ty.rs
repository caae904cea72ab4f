//! types/ty.rs: a type of C, and how it is written.

use super::tag::TagKind;
use std::borrow::Cow;
use std::fmt;

/// The type of `caller`: an address in the kernel's code, which is shown by its name.
pub const PLACE_IN_CODE: &str = "pc_t";

/// A D type. A struct, union or enum is a name and a handle: its members come from the [`crate::TypeSource`]
/// that made it, so a type is a finite value although the kernel's structures refer to each other.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Type {
    /// `void`.
    Void,
    /// An integer, of the kernel or of D.
    Int(Int),
    /// `float`, `double` or `long double`.
    Float {
        /// Name as in C: `double`.
        name: Cow<'static, str>,
        /// 4, 8 or 16.
        bytes: u8,
    },
    /// `enum name`.
    Enum(Tagged),
    /// Struct or union.
    Record(Tagged),
    /// `to *`.
    Pointer {
        /// Type that it points to.
        to: Box<Type>,
        /// Whether it points into the memory of the current process.
        user: bool,
    },
    /// A `len` of 0 means `[]`.
    Array {
        /// Type of the elements.
        of: Box<Type>,
        /// Number of elements.
        len: u64,
    },
    /// D's own by-reference string of `strsize` bytes.
    String,
    /// A function, without its parameters.
    Function,
    /// The type of an aggregation: it has no value, so no operator accepts it.
    Dynamic,
    /// A name that the program or the kernel gives to a type.
    Typedef {
        /// Name of the typedef: `pid_t`.
        name: Cow<'static, str>,
        /// Type that it names, which may be a typedef too.
        to: Box<Type>,
    },
}

/// An integer type.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Int {
    /// Name as in C: `unsigned int`.
    pub name: Cow<'static, str>,
    /// 1, 2, 4 or 8.
    pub bytes: u8,
    /// Whether it has a sign.
    pub signed: bool,
}

/// `struct name`, `union name` or `enum name`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tagged {
    /// Keyword before the name.
    pub kind: TagKind,
    /// Empty without a tag.
    pub name: String,
    /// Handle by which its source finds the members.
    pub id: TypeId,
    /// `None` if it is only declared forward.
    pub bytes: Option<u64>,
}

/// The source of a struct, union or enum, and its index there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct TypeId {
    /// Source that contains the definition.
    pub origin: TypeOrigin,
    /// Index in program order; for BTF the id, for DWARF the offset in .debug_info, with the number of its part.
    pub index: u64,
}

/// The source of a struct, union or enum.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum TypeOrigin {
    /// The D program: [`Declared`](crate::declared::Declared).
    Program,
    /// One of the kernel's files of types, by index: the kernel proper, then modules.
    Kernel(u16),
    /// The debug information of a program or library, by index. Its addresses are those of a process.
    File(u16),
}

impl Type {
    /// A pointer into the kernel's memory.
    pub fn pointer_to(to: Type) -> Type {
        Type::Pointer { to: Box::new(to), user: false }
    }

    /// An array; `len` is the number of elements, 0 for `[]`.
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
            Type::Typedef { name, .. } if *name == PLACE_IN_CODE => true,
            Type::Typedef { to, .. } => to.is_place_in_code(),
            Type::Pointer { to, user } => !user && matches!(to.resolved(), Type::Function),
            _ => false,
        }
    }

    /// Whether it is an integer or enum.
    pub fn is_integer(&self) -> bool {
        matches!(self.resolved(), Type::Int(_) | Type::Enum(_))
    }

    /// Whether it is an integer of 128 bits of a program, which is an array of bytes to D.
    pub fn is_wide_integer(&self) -> bool {
        const NAMES: [&str; 5] = ["__int128", "__int128 unsigned", "unsigned __int128", "i128", "u128"];
        self.is_named_array(&|name| NAMES.contains(&name))
    }

    /// Whether it is a floating-point number of x87 in 16 bytes, which is an array of bytes to D.
    pub fn is_long_double(&self) -> bool {
        self.is_named_array(&|name| name == "long double")
    }

    fn is_named_array(&self, is_name: &dyn Fn(&str) -> bool) -> bool {
        match self {
            Type::Typedef { name, to } if matches!(**to, Type::Array { len: 16, .. }) => is_name(name),
            Type::Typedef { to, .. } => to.is_named_array(is_name),
            _ => false,
        }
    }

    /// Whether it is an integer or pointer, and so can be a condition.
    pub fn is_scalar(&self) -> bool {
        self.is_integer() || matches!(self.resolved(), Type::Pointer { .. })
    }

    /// Whether it is a pointer or array.
    pub fn is_pointer(&self) -> bool {
        self.referent().is_some()
    }

    /// Whether it is `void`, or a typedef of it.
    pub fn is_void(&self) -> bool {
        matches!(self.resolved(), Type::Void)
    }

    /// Whether it is D's `string`.
    pub fn is_string(&self) -> bool {
        matches!(self.resolved(), Type::String)
    }

    /// Whether it is a struct or union.
    pub fn is_record(&self) -> bool {
        matches!(self.resolved(), Type::Record(_))
    }

    /// Whether it is `string`, `char *` or `char []`.
    pub fn is_string_compatible(&self) -> bool {
        self.is_string() || self.referent().is_some_and(Type::is_char)
    }

    /// Whether it is a one-byte integer, the element of strings.
    pub fn is_byte(&self) -> bool {
        matches!(self.resolved(), Type::Int(Int { bytes: 1, .. }))
    }

    fn is_char(&self) -> bool {
        // Rust has text in arrays of u8 only.
        matches!(self.resolved(), Type::Int(Int { bytes: 1, signed: true, name }) if name != "i8")
    }

    /// Whether it is an integer with a sign, or an enum.
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

    /// Whether it is a pointer into the memory of the current process.
    pub fn is_user(&self) -> bool {
        matches!(self.resolved(), Type::Pointer { user: true, .. })
    }

    /// Whether a register holds the value's address instead of the value.
    pub fn is_by_ref(&self) -> bool {
        matches!(self.resolved(), Type::String | Type::Array { .. } | Type::Record(_))
    }

    /// Whether both are the same type, whatever the names of their typedefs.
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
    /// A forward declaration is the same type as any definition of its name; in the kernel, and in one program, one
    /// name is one type.
    pub fn same(&self, other: &Tagged) -> bool {
        let named = self.kind == other.kind && self.name == other.name && !self.name.is_empty();
        let is_of_one_set = match (self.id.origin, other.id.origin) {
            (TypeOrigin::Kernel(_), TypeOrigin::Kernel(_)) => true,
            (TypeOrigin::File(one), TypeOrigin::File(other)) => one == other,
            (TypeOrigin::File(_), _) | (_, TypeOrigin::File(_)) => return false,
            _ => false,
        };
        let forward = self.bytes.is_none() || other.bytes.is_none();
        self.id == other.id || named && (forward || is_of_one_set)
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
