//! sites/model.rs: the values and traits by which the rooms of the folder, and the stages above them, speak of sites.

use std::sync::Arc;

use kinst_base::diag::Diagnostic;
use kinst_base::machine::Machine;
use kinst_base::probe::{Description, Fields, Probe, Site};
use kinst_base::reason::Untraceable;
use kinst_dwarf::variables::scope::{NoScope, Scope};
use kinst_dwarf::variables::term::Term;
use kinst_types::intrinsic::Intrinsic;

/// A site where a copy of an inlined function is entered or left.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct FoundSite {
    /// Includes the module's name, which is `vmlinux` for the kernel proper; for a line, also the body or copy that it is in.
    pub site: Site,
    /// Whether the description must name the module to mean this site.
    pub module_needed: bool,
}

/// The side of a copy that a probe is at.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Boundary {
    /// Control comes into the copy: the name `entry`.
    Entry,
    /// Control leaves it: the name `return`.
    Return,
}

/// A line of the source, in the function's own file or in a file whose path ends with `file`.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct SourceLine {
    /// The end of the file's path; `None` for the file that defines the function.
    pub file: Option<String>,
    /// The line, from 1.
    pub line: u64,
}

/// The sites of one function of one module.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FunctionSites {
    /// The name of the module; `vmlinux` for the kernel proper.
    pub module: String,
    /// The name of the inlined function.
    pub function: String,
    /// Empty if it is not inlined anywhere.
    pub sites: Vec<FoundSite>,
    /// Names of the out-of-line instances that a probe of fbt can serve (`f`, `f.isra.0`).
    pub out_of_line: Vec<String>,
}

/// The sites of all functions that a script names; the sugar pass has no other source.
pub trait SiteIndex {
    /// Returns one entry for each module that has the function: vmlinux first, then by name. `module` is a glob or
    /// empty. An error is one cause: not found, debug information missing, …
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
    ) -> Result<Vec<FoundSite>, Box<Diagnostic>>;
}

/// The variables at an instruction, or why they are not known.
pub type InScope = Arc<Result<Scope, NoScope>>;

/// A probe of a driver's own, at one place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Driven {
    /// The id of its probe.
    pub id: u32,
    /// The fields of its description.
    pub name: Fields,
    /// Its arguments, in the order of `args[]`.
    pub arguments: Vec<DrivenArgument>,
}

/// One argument of a driver's probe, as its note describes it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DrivenArgument {
    /// The type, as far as the note has it.
    pub ty: DrivenType,
    /// The type as the driver writes it, if it does.
    pub written: Option<String>,
    /// Of which the type says how many bits count. `None`: it is where no program can read it.
    pub value: Option<Term>,
}

/// What is known of an argument's type without the driver's types.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DrivenType {
    /// An integer in a register or in memory.
    Number {
        /// The size: 1, 2, 4 or 8.
        bytes: u8,
        /// Whether it is signed.
        signed: bool,
    },
    /// A pointer to something else.
    Pointer,
    /// A pointer to characters.
    Text,
}

/// The facts about its probes that a program can look up before they are armed.
pub trait Places {
    /// The probes that a description names; empty if there are none, or if they cannot be determined.
    fn probes(&self, description: &Description) -> Vec<Fields>;

    /// The reason if a description matches nothing; `None` also where that cannot be determined.
    fn unmatched(&self, _description: &Description) -> Option<Box<Diagnostic>> {
        None
    }

    /// The instructions that a description of kinst names, each as a site that means no other one.
    fn instructions(&self, description: &Fields) -> Result<Vec<Site>, Box<Diagnostic>>;

    /// The variables in scope at the sites; one answer for each, in their order.
    fn scopes(&self, sites: &[Site]) -> Vec<InScope>;

    /// The machine that the kernel is for.
    fn machine(&self) -> Machine {
        Machine::default()
    }

    /// The probes of drivers that a description names.
    fn driven(&self, _description: &Description) -> Vec<Driven> {
        Vec::new()
    }
}

/// An implementation without a kernel: there are no probes and no variables.
impl Places for Intrinsic {
    fn probes(&self, _: &Description) -> Vec<Fields> {
        Vec::new()
    }

    fn instructions(&self, _: &Fields) -> Result<Vec<Site>, Box<Diagnostic>> {
        Ok(Vec::new())
    }

    fn scopes(&self, sites: &[Site]) -> Vec<InScope> {
        let nothing = || Arc::new(Err(NoScope::DebugInformation("there is no kernel".to_owned())));
        sites.iter().map(|_| nothing()).collect()
    }
}

/// All probes of a running kernel or of a sysroot. Implemented over kallsyms or symbol tables.
pub trait ProbeCatalog {
    /// The probes that the description matches, in order of id. No match is an empty list; an error is an impossible
    /// description (an offset inside an instruction, or an unknown function named without globs, with a suggestion).
    fn matches(&self, description: &Description) -> Result<Vec<Probe>, Box<Diagnostic>>;

    /// What has to be armed besides these probes, so that they are reached.
    fn gates(&self, _probes: &[Probe]) -> Vec<Probe> {
        Vec::new()
    }
}

/// An instruction of a function as it is in memory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LiveInsn {
    /// The distance from the start of the function, in bytes.
    pub offset: u32,
    /// Its encoding.
    pub bytes: Vec<u8>,
    /// The reason why it cannot be traced; `None` if it can, or if only the file was read.
    pub refused: Option<Untraceable>,
    /// The kind of machine that it is for.
    pub machine: Machine,
}
