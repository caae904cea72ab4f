//! sites/index/: the sites of all inlined functions, from the index on disk or from a walk over the debug information.

mod build;
mod carry;
mod dwarf_index;
mod functions;
mod line_sites;
mod make;
mod program_sites;
pub(super) mod refusals;

pub use build::Built;
pub use carry::{Imported, NotImported};
pub use dwarf_index::{DwarfIndex, InlineProbe, MAX_PROBES};
