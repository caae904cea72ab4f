//! dwarf/: reads debug information; the only user of gimli.

mod callers;
mod cfi;
pub mod copies;
mod entries;
mod extent;
pub mod frames;
mod golang;
mod handlers;
mod lines;
mod mangled;
mod naming;
mod parts;
pub mod query;
mod recurring;
mod sections;
mod split;
mod type_units;
pub mod types;
mod unit;
pub mod variables;

pub use callers::{Caller, Callers, Memory, Registers};
pub use copies::code::code_meant;
pub use copies::walk::{find, find_all, find_meant, inline_names, may_know, missing};
pub use copies::{AllFindings, CallSite, Findings, Function, InlineCopy};
pub use entries::Evidence;
pub use extent::merge;
pub use frames::info::DebugInfo;
pub use frames::info::is_of;
pub use frames::{Body, Definition, Frame};
pub use golang::{GoQuery, method_of_value, without_instance};
pub use handlers::Handlers;
pub use lines::{Line, Lines, Row, Sequence, Statement};
pub use mangled::{SymbolSearch, demangled, source_name};
pub use recurring::Recurring;
pub use split::{Cause, Missing, SPLIT_HELP};
pub use variables::{Instruction, RunTime, Variables};
