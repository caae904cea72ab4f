//! parser/print/: programs as text: for -d, in the canonical layout, and as a dump of the tree.

pub mod dump;
pub(super) mod layout;
pub mod pretty;
mod provider;
