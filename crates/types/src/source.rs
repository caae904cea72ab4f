//! types/source.rs: where types, symbols and prototypes are found.

use super::tag::TagKind;
use super::ty::{Tagged, Type};

/// A member of a struct or union.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Member {
    /// Name, as after the dot; a struct without a name is replaced by its members.
    pub name: String,
    /// Type of the member; of a bit-field, the declared type.
    pub ty: Type,
    /// Bits from the start of the struct; members of unnamed structs inside it count from there too.
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
    /// Module that has it: `vmlinux`, `ext4`.
    pub module: String,
    /// Name without the module.
    pub name: String,
    /// Run-time address; in a sysroot, that in the file.
    pub address: u64,
    /// Size in bytes; 0 if it is not known.
    pub bytes: u64,
    /// Whether each processor has its own copy: at the address are only the initial contents.
    pub per_cpu: bool,
    /// `None` if the type is not known.
    pub ty: Option<Type>,
}

/// The parameters and result of a function.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Prototype {
    /// Names and types, in their order; a name may be empty.
    pub params: Vec<(String, Type)>,
    /// Type of the result; `void` if there is none.
    pub returns: Type,
}
