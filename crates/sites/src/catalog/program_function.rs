//! sites/catalog/program_function.rs: a function of a program, and the values by which its probes are remembered.

use crate::flow::Undecodable;
use crate::programs::Meant;
use crate::symtab::Symbol;
use kinst_base::image::FileId;
use kinst_base::probe::End;
use kinst_base::space::Space;

/// Above all ids of the kernel's probes.
pub(super) const FIRST_PROGRAM_ID: u32 = 2_000_000;

/// A function of a program.
pub(super) struct Function<'a> {
    pub space: Space,
    pub meant: &'a Meant,
    pub symbol: Symbol,
    /// Name in lists: as in the description; of C++ and Rust, the path in the source.
    pub name: &'a str,
    /// Name that means this function alone.
    pub own_name: &'a str,
}

/// The probes of a function by which they are remembered.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Known {
    End(End),
    Insn(u64),
    Edge(u64, u64),
    /// A static probe, by its number in the file.
    Static(usize),
}

/// A probe of a program: its space and file, its function, and the place in it.
pub(super) type At = (Space, FileId, u64, Known);

/// Why an end of a function has no probe.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum NoEnd {
    #[error("no instruction of it returns")]
    NoExit,
    #[error("{0}")]
    Undecodable(Undecodable),
    #[error("the conditions of a branch that leaves it are unknown")]
    UnknownBranch,
}
