//! sites/model.rs: the types and traits for sites that are shared between the modules of this crate and its users.

use std::path::PathBuf;
use std::sync::Arc;

use crate::uprobe::{Freedom, Nop5, Refused};
use kinst_base::diag::Diagnostic;
use kinst_base::image::FileId;
use kinst_base::machine::Machine;
use kinst_base::probe::{Description, Fields, InProgram, Probe, Site, Spot};
use kinst_base::reason::Untraceable;
use kinst_base::space::Space;
use kinst_dwarf::variables::scope::{NoScope, Scope};
use kinst_dwarf::variables::term::Term;
use kinst_types::intrinsic::Intrinsic;

/// A site where a copy of an inlined function is entered or exited.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct FoundSite {
    /// Includes the module's name, `vmlinux` for the kernel proper; for a line, also the containing body or copy.
    pub site: Site,
    /// Whether the description must name the module to be unambiguous.
    pub module_needed: bool,
}

/// A boundary of a copy.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Boundary {
    /// Control enters the copy: the name `entry`.
    Entry,
    /// Control exits the copy: the name `return`.
    Return,
}

/// A source line, in the function's own file or in a file whose path ends with `file`.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct SourceLine {
    /// The end of the file's path; `None` for the file that defines the function.
    pub file: Option<String>,
    /// Line number, from 1.
    pub line: u64,
}

/// The sites of one function of one module.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FunctionSites {
    /// Name of the module; `vmlinux` for the kernel proper.
    pub module: String,
    /// Name of the inlined function.
    pub function: String,
    /// Empty if it is not inlined anywhere.
    pub sites: Vec<FoundSite>,
    /// Names of the out-of-line instances that fbt can probe (`f`, `f.isra.0`).
    pub out_of_line: Vec<String>,
}

/// The sites of all functions in a script; the only source of sites for the sugar pass.
pub trait SiteIndex {
    /// Returns one entry for each module that has the function: vmlinux first, then by name. `module` is a
    /// glob or empty. An error is one cause: function does not exist, debug information missing, …
    fn inline_sites(
        &self,
        module: &str,
        function: &str,
        boundary: Boundary,
    ) -> Result<Vec<FunctionSites>, Box<Diagnostic>>;

    /// Returns the index of the programs of a space; `None` if this index has none.
    fn in_space(&self, _: Space) -> Option<Box<dyn SiteIndex + '_>> {
        None
    }

    /// Returns the sites where a line's statement begins: one for the function's own code, and one for each
    /// inlined copy.
    fn line_sites(
        &self,
        module: &str,
        function: &str,
        line: &SourceLine,
    ) -> Result<Vec<FoundSite>, Box<Diagnostic>>;
}

/// The variables at an instruction, or why they are unavailable.
pub type InScope = Arc<Result<Scope, NoScope>>;

/// A static probe of a driver or a program, at one place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Driven {
    /// Id of the probe.
    pub id: u32,
    /// Fields of its description.
    pub name: Fields,
    /// The provider, without the number of a process.
    pub provider: String,
    /// The kernel, or the code of a program.
    pub space: Space,
    /// Its arguments, in the order of `args[]`.
    pub arguments: Vec<DrivenArgument>,
}

/// An argument of a static probe, as described by its note.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DrivenArgument {
    /// Kind of type, from the note.
    pub ty: DrivenType,
    /// Type as written by the driver, if given.
    pub written: Option<String>,
    /// Value; the type says how many of its bits count. Or why no program can read it.
    pub value: Result<Term, String>,
}

/// The kind of an argument's type, without the driver's type information.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DrivenType {
    /// An integer in a register or in memory.
    Number {
        /// Size: 1, 2, 4 or 8.
        bytes: u8,
        /// Whether it is signed.
        signed: bool,
    },
    /// A pointer to something else.
    Pointer,
    /// A pointer to characters.
    Text,
}

/// Facts about its probes that a program can look up before they are armed.
pub trait Places {
    /// Returns the probes that match a description; empty if there are none, or if they cannot be determined.
    fn probes(&self, description: &Description) -> Vec<Fields>;

    /// Returns why a description matches nothing; `None` also if that cannot be determined.
    fn unmatched(&self, _description: &Description) -> Option<Box<Diagnostic>> {
        None
    }

    /// Returns the instructions that match a kinst description, each as an unambiguous site.
    fn instructions(&self, description: &Fields) -> Result<Vec<Site>, Box<Diagnostic>>;

    /// Returns the variables in scope at each of the sites, in order.
    fn scopes(&self, sites: &[Site]) -> Vec<InScope>;

    /// Returns the machine of the kernel.
    fn machine(&self) -> Machine {
        Machine::default()
    }

    /// Returns the static probes of drivers and programs that match a description.
    fn driven(&self, _description: &Description) -> Vec<Driven> {
        Vec::new()
    }
}

/// An implementation without a kernel: it has no probes and no variables.
impl Places for Intrinsic {
    fn probes(&self, _: &Description) -> Vec<Fields> {
        Vec::new()
    }

    fn instructions(&self, _: &Fields) -> Result<Vec<Site>, Box<Diagnostic>> {
        Ok(Vec::new())
    }

    fn scopes(&self, sites: &[Site]) -> Vec<InScope> {
        let nothing = || Arc::new(Err(NoScope::DebugInformation("no kernel is available".to_owned())));
        sites.iter().map(|_| nothing()).collect()
    }
}

/// All probes of a running kernel or of a sysroot. Implemented over kallsyms or symbol tables.
pub trait ProbeCatalog {
    /// Returns the probes that match the description, in order of id. Without a match, the list is empty; an
    /// error is an impossible description (an offset inside an instruction, or an unknown function named
    /// without globs, with a suggestion).
    fn matches(&self, description: &Description) -> Result<Vec<Probe>, Box<Diagnostic>>;

    /// Returns places that must be armed additionally so that these probes are reached.
    fn gates(&self, _probes: &[Probe]) -> Vec<Probe> {
        Vec::new()
    }
}

/// The files of the places in programs.
pub trait ProgramFiles {
    /// Returns a path that leads to the file.
    fn path(&self, file: FileId) -> Option<PathBuf>;

    /// Returns the position in the file of an address of its layout.
    fn offset(&self, file: FileId, address: u64) -> Option<u64>;

    /// Returns the instructions that take a probe, each in place of one that it describes. `nop5` tests the kernel.
    fn placed(
        &self,
        place: &InProgram,
        freedom: Freedom,
        nop5: &dyn Fn() -> Nop5,
    ) -> Result<Vec<Spot>, NotPlaced>;
}

/// Why a probe in a program has no instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotPlaced {
    /// The instruction cannot have a probe, and no other one can replace it.
    #[error(transparent)]
    Refused(#[from] Refused),
    /// The process has changed its code, or a debugger has.
    #[error("the process has other code there than its file")]
    Changed,
    /// The file is not one of the run.
    #[error("its file is not open")]
    NoFile,
}

/// An instruction of a function in memory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LiveInsn {
    /// Offset from the start of the function, in bytes.
    pub offset: u32,
    /// Encoded bytes.
    pub bytes: Vec<u8>,
    /// Why it cannot be traced; `None` if it can, or if only the file was read.
    pub refused: Option<Untraceable>,
    /// Machine of the code.
    pub machine: Machine,
}
