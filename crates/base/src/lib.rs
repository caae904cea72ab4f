//! base/: shared by all crates: probes, machines, source text and diagnostics, the numbers of the module's interface.

pub mod attributes;
pub mod diag;
pub mod glob;
pub mod image;
pub mod machine;
pub mod probe;
pub mod reason;
pub mod source;
pub mod space;
pub mod uapi;
pub mod variant;
