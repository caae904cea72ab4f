//! types/source.rs: the sources of types, symbols and prototypes.

use super::tag::TagKind;
use super::ty::{Tagged, Type};
use kinst_base::variant::Variant;

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
    /// The values of a tag for which it exists; `None` if it always does.
    pub variant: Option<Variant>,
}

/// A source of types by name: intrinsics, the kernel's BTF or DWARF, the program itself.
pub trait TypeSource {
    /// A base type or typedef: `int`, `unsigned long`, `pid_t`; `` module`pid_t `` in that module only.
    fn named(&self, name: &str) -> Option<Type>;

    /// `struct name`, `union name`, `enum name`; the name may have a module too.
    fn tagged(&self, kind: TagKind, name: &str) -> Option<Type>;

    /// Returns the current state of a type that may have been only a forward declaration at first.
    fn complete(&self, tagged: &Tagged) -> Tagged;

    /// The members of a struct or union of this source; empty for a forward declaration.
    fn members(&self, record: &Tagged) -> Vec<Member>;

    /// The parameters of the template or generic that a struct is an instance of, each with its type.
    fn parameters(&self, _: &Tagged) -> Vec<(String, Type)> {
        Vec::new()
    }

    /// The virtual bases of a class, whose members are not among its own: their places are known at run time only.
    fn virtual_bases(&self, _: &Tagged) -> Vec<Type> {
        Vec::new()
    }

    /// Names and values of an enum of this source.
    fn enumerators(&self, tagged: &Tagged) -> Vec<(String, i64)>;

    /// Whether a struct of this source is packed: its members follow each other without alignment.
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

    /// The type at an offset in a module's debug information that a variable of the module refers to.
    fn type_at(&self, _module: &str, _place: u64) -> Type {
        Type::Void
    }

    /// Why the kernel's types are not available, and what to do about it.
    fn without_types(&self) -> Option<String>;
}

/// A variable or function of the kernel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Symbol {
    /// Module that contains it: `vmlinux`, `ext4`.
    pub module: String,
    /// Name without the module.
    pub name: String,
    /// Run-time address; in a sysroot, the address in the file.
    pub address: u64,
    /// Size in bytes; 0 if unknown.
    pub bytes: u64,
    /// Whether each CPU has its own copy: the address has only the initial contents.
    pub per_cpu: bool,
    /// `None` if the type is unknown.
    pub ty: Option<Type>,
}

/// The parameters and result of a function.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Prototype {
    /// Names and types, in order; a name may be empty.
    pub params: Vec<(String, Type)>,
    /// Type of the result; `void` if there is none.
    pub returns: Type,
}
