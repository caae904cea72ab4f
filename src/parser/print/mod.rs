//! parser/print/: programs as text: as -d shows them, in the canonical layout, and as a dump of the tree.

pub mod dump;
pub(super) mod layout;
pub mod pretty;
mod provider;
