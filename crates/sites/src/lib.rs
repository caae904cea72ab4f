//! sites/: the places in a kernel where a probe can go.

mod absent;
mod cache;
mod catalog;
mod code;
pub mod copies;
pub mod flow;
mod image;
mod index;
pub mod listing;
mod memory;
mod model;
mod programs;
mod symtab;
mod target;
pub mod uprobe;

pub use absent::{Lenient, NothingWanted};
pub use cache::Watch;
pub use cache::file::Cache;
pub use catalog::elsewhere::seldom_made;
pub use catalog::profile::{MAX_INTERVAL, MIN_INTERVAL};
pub use catalog::refusals::no_match;
pub use catalog::tracepoints::EVENTS;
pub use catalog::{Begun, Catalog, DTRACE, Reach, Unreachable};
pub use code::decode::text as insn_text;
pub use code::notes::parse as read_notes;
pub use code::pclntab::{GoFunction, GoInlined, GoTable, Unreadable as UnreadableGoTable};
pub use code::refusal::Refusal;
pub use code::stapsdt::{Notes as StaticNotes, StaticProbe};
pub use code::tables::Rewriting;
pub use index::{Built, DwarfIndex, Imported, InlineProbe, MAX_PROBES, NotImported};
pub use listing::verdict::Verdict;
pub use memory::{Ftraced, LiveError, LiveText, Memory, SpotError, Spots, Symbols, Text};
pub use model::{
    Boundary, Driven, DrivenArgument, DrivenType, FoundSite, FunctionSites, InScope, LiveInsn, NotPlaced,
    Places, ProbeCatalog, ProgramFiles, SiteIndex, SourceLine,
};
pub use programs::{ProgramFile, Programs, libraries, library};
pub use target::loaded::Loaded;
pub use target::program::{InFunction, Program};
pub use target::stack as user_stack;
pub use target::{Kernel, Module, Symbolized};
