//! typeck/env.rs: the inputs of a check other than the program.

use crate::parser::ast::ProbeDesc;
use crate::sugar::plain;
use crate::vocabulary::builtin::Version;
use kinst_base::attributes::Attributes;
use kinst_sites::Places;
use kinst_types::KernelTypes;
use kinst_types::intrinsic::Intrinsic;

/// External facts that a program depends on.
#[derive(Clone, Copy)]
pub struct Env<'a> {
    /// The types and symbols of the kernel.
    pub kernel: &'a dyn KernelTypes,
    /// The probes of the kernel, and the variables in scope at its instructions.
    pub places: &'a dyn Places,
    /// Option strsize: bytes of a string.
    pub strsize: u32,
    /// Option stackframes: frames of stack() without an argument.
    pub stackframes: u32,
    /// Option ustackframes: frames of ustack() without an argument.
    pub ustackframes: u32,
    /// Option maxframes: the most frames of any stack.
    pub maxframes: u32,
    /// Option ustackcopy: bytes of the user's stack that ustack() copies, 0 for none; `None` if it is not set.
    pub ustackcopy: Option<u32>,
    /// Option amin: the least stability of everything that a clause uses.
    pub amin: Option<Attributes>,
    /// The libraries, each after its dependencies.
    pub libraries: &'a [Library<'a>],
    /// Option jstackframes: frames of jstack() without an argument.
    pub jstackframes: u32,
    /// Option jstackstrsize: bytes for the names in jstack() without a second argument.
    pub jstackstrsize: u32,
    /// Whether to report the dependencies of each clause; the types of arguments are looked up for it.
    pub stability: bool,
    /// Option version: a program may define names that are newer.
    pub version: Option<Version>,
    /// Option missinglocals.
    pub missing_locals: MissingLocals,
}

/// The meaning of a clause at a place that lacks a variable of the kernel's code.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum MissingLocals {
    /// The program is refused.
    #[default]
    Error,
    /// The variable is 0 there, with a warning.
    Zero,
    /// The clause is left out there, with a remark, if another place has the variable.
    Skip,
}

impl Default for Env<'_> {
    fn default() -> Self {
        Env {
            kernel: &Intrinsic,
            places: &Intrinsic,
            strsize: 256,
            stackframes: 20,
            ustackframes: 20,
            maxframes: u32::MAX,
            ustackcopy: None,
            amin: None,
            libraries: &[],
            jstackframes: 50,
            jstackstrsize: 512,
            stability: false,
            version: None,
            missing_locals: MissingLocals::Error,
        }
    }
}

/// Declarations from a file other than the program.
#[derive(Clone, Copy, Debug)]
pub struct Library<'a> {
    /// The name of its file, without the directory, as `depends_on library` gives it.
    pub name: &'a str,
    /// Its declarations, as written.
    pub program: &'a plain::Program<ProbeDesc>,
    /// Whether it comes with the compiler; such a library is left out if the kernel lacks its types.
    pub own: bool,
}
