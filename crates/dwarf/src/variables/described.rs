//! dwarf/variables/described.rs: the variables of a function as its unit describes them.

use crate::sections::Slice;
use gimli::AttributeValue;

/// Converts an address of the file to the running kernel's; `None` if the kernel hides it.
pub type RunTime<'r> = dyn Fn(u64) -> Option<u64> + 'r;

/// One entry that describes a variable or parameter, completed by the entries that it is an instance of.
#[derive(Clone, Default)]
pub(crate) struct Described<'d> {
    pub die: u64,
    pub(super) parameter: bool,
    /// Whether it is a result of a function of Go, which are described like parameters.
    pub(super) is_result: bool,
    /// Whether it is only a declaration.
    pub(super) declaration: bool,
    pub name: Option<String>,
    pub ty: Option<u64>,
    pub location: Option<AttributeValue<Slice<'d>>>,
    pub value: Option<AttributeValue<Slice<'d>>>,
    /// An entry in the unit that the location and value belong to.
    pub of: u64,
    pub(super) origin: Option<u64>,
    /// Whether it is a function that does not obey the calling convention.
    pub(super) is_nocall: bool,
}
