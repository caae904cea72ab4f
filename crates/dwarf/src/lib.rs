//! dwarf/: reads debug information; the only user of gimli.

mod callers;
mod cfi;
pub mod copies;
mod entries;
mod extent;
pub mod frames;
mod golang;
mod lines;
mod mangled;
mod naming;
pub mod query;
mod recurring;
mod sections;
mod split;
pub mod types;
mod unit;
pub mod variables;

pub use callers::{Caller, Callers, Memory, Registers};
pub use cfi::with_handlers;
pub use copies::walk::{find, find_all, find_meant, inline_names, may_know};
pub use copies::{AllFindings, CallSite, Findings, Function, InlineCopy};
pub use entries::Evidence;
pub use extent::merge;
pub use frames::info::DebugInfo;
pub use frames::info::is_of;
pub use frames::{Body, Definition, Frame};
pub use golang::{GoQuery, method_of_value, without_instance};
pub use lines::{Line, Lines, Row, Sequence, Statement};
pub use mangled::{SymbolSearch, demangled, source_name};
pub use recurring::Recurring;
pub use split::Missing;
pub use variables::{Instruction, RunTime, Variables};
