//! types/btf/: the kernel's type format (BTF), read on demand.

mod format;
mod graph;
mod index;
mod reader;
#[cfg(test)]
mod tests;

pub use format::{Header, Malformed, Record};
pub use graph::integer;
pub use reader::Btf;
