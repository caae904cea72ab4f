//! sites/: where a probe can go.

mod catalog;
pub mod code;
pub mod copies;
mod index;
pub mod listing;
pub mod target;

pub use catalog::profile::{MAX_INTERVAL, MIN_INTERVAL};
pub use catalog::tracepoints::EVENTS;
pub use catalog::{Catalog, LiveInsn, LiveText};
pub use code::tables::Rewriting;
pub use code::verdict::{Refusal, Verdict};
pub use index::{Built, Cache, DwarfIndex, InlineProbe, MAX_PROBES, Watch};
pub use listing::variables::Instruction;
pub use target::program::{InFunction, Program};
pub use target::{KERNEL_PROPER, Kernel, Module, Symbolized};

use std::fmt;

use crate::diag::Diagnostic;

/// Where a copy of an inlined function is entered or left, as a probe description names it.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Site {
    /// `vmlinux`, or the module's name.
    pub module: String,
    /// The function symbol that contains the site; `name#2` where namesakes need telling apart.
    pub caller: String,
    /// Bytes from the symbol.
    pub offset: u64,
    /// Only when control goes from there to here,
    pub to: Option<Target>,
    /// and over these static keys, in bytes from the symbol.
    pub over: Vec<u64>,
    /// The module must be written for the description to mean this site.
    pub module_needed: bool,
}

/// Where an edge of the control flow leads.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Target {
    /// The function symbol, if it is not the one of the branch: a part of it that stands elsewhere (`f.cold`).
    pub function: Option<String>,
    /// Bytes from the symbol.
    pub offset: u64,
}

impl Site {
    /// The last field of its description: `53`, of an edge `53-61` or `53-f.cold+4`, over a static key `53-61-80`.
    pub fn name(&self) -> String {
        let mut name = self.offset.to_string();
        for key in &self.over {
            name += &format!("-{key}");
        }
        match &self.to {
            None => name,
            Some(to) => format!("{name}-{to}"),
        }
    }
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.function {
            None => write!(f, "{}", self.offset),
            Some(function) => write!(f, "{function}+{}", self.offset),
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Boundary {
    Entry,
    Return,
}

/// A line of the source: of the function's own file, or of a file whose path ends so.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct SourceLine {
    pub file: Option<String>,
    pub line: u64,
}

/// What is known of one function of one module.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FunctionSites {
    pub module: String,
    /// Empty: it is not inlined anywhere.
    pub sites: Vec<Site>,
    /// Names of the out-of-line instances that a probe of fbt can serve (`f`, `f.isra.0`); empty: none.
    pub out_of_line: Vec<String>,
}

/// The sites of all the functions that a script asks for; the sugar pass knows no more than this.
pub trait SiteIndex {
    /// One entry for each module in which the function is known, in the order vmlinux first, then by name.
    /// `module` is a glob or empty. An error is one cause: not found, debug information missing, …
    fn inline_sites(
        &self,
        module: &str,
        function: &str,
        boundary: Boundary,
    ) -> Result<Vec<FunctionSites>, Box<Diagnostic>>;

    /// The sites where a line's statement begins: one for the function's own code, and one for each inlined copy.
    fn line_sites(
        &self,
        module: &str,
        function: &str,
        line: &SourceLine,
    ) -> Result<Vec<Site>, Box<Diagnostic>>;
}

/// Kinds of probes, KINST_P_* of the ABI.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[repr(u32)]
pub enum ProbeKind {
    Begin = 0,
    End = 1,
    Error = 2,
    Insn = 3,
    Edge = 4,
    FbtEntry = 5,
    FbtReturn = 6,
    Profile = 7,
    Tick = 8,
    SyscallEntry = 9,
    SyscallReturn = 10,
    Sdt = 11,
    Event = 12,
}

impl ProbeKind {
    /// Is it a place in the kernel's text, found by its address?
    pub fn is_place(self) -> bool {
        use ProbeKind::{Edge, FbtEntry, FbtReturn, Insn, Sdt};
        matches!(self, Insn | Edge | FbtEntry | FbtReturn | Sdt)
    }
}

/// A probe that exists: what a description matches, what `-l` lists, what the kernel is asked to arm.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Probe {
    /// The D variable `id`. Made on demand for kinst, and for profile but for its usual rates; the others' are fixed
    /// for one kernel.
    pub id: u32,
    pub kind: ProbeKind,
    pub provider: String,
    pub module: String,
    pub function: String,
    pub name: String,
    /// Run-time address of the function's symbol; of profile, nanoseconds between two firings; of syscall and of an
    /// event, its number; 0 for the dtrace provider.
    pub address: u64,
    /// Of the instruction, from the symbol.
    pub offset: u32,
    /// Edge: where it goes, a signed distance from the function's symbol.
    pub to: u32,
    /// Edge: the static keys that it goes over, from the symbol; 0: none.
    pub over: [u32; 2],
    /// The instruction's bytes where they are known and nothing patches them; else empty.
    pub bytes: Vec<u8>,
}

impl Probe {
    /// Where an edge leads, in the order of control, as far as that is in the function.
    pub fn path(&self) -> Vec<u64> {
        let keys = self.over.into_iter().filter(|key| *key != 0);
        let to = Some(self.to).filter(|to| self.kind == ProbeKind::Edge && to.cast_signed() >= 0);
        keys.chain(to).map(u64::from).collect()
    }
}

/// All probes of a running kernel or of a sysroot. Implemented over kallsyms or symbol tables.
pub trait ProbeCatalog {
    /// The probes that the description's fields match, in order of id; globs in any field. No match is an empty list;
    /// an error is a description that cannot be (an offset inside an instruction, an unknown function named
    /// without globs: did you mean).
    fn matches(
        &self,
        provider: &str,
        module: &str,
        function: &str,
        name: &str,
    ) -> Result<Vec<Probe>, Box<Diagnostic>>;

    /// The probe of this id.
    fn by_id(&self, id: u32) -> Option<Probe>;
}
