//! sites/cache/: what is kept on disk about a kernel's files: their symbols, and the sites of all inlined functions.

pub(super) mod directory;
pub(super) mod file;
pub(super) mod image;
pub(super) mod known;
mod layout;
mod numbers;
pub(super) mod pack;
mod records;
pub(super) mod source;
pub(super) mod tree;

/// Reports the progress of making indices.
pub trait Watch: Send + Sync {
    /// This many bytes of debug information are going to be read.
    fn start(&self, bytes: u64);
    /// This many bytes more have been read.
    fn advance(&self, bytes: u64);
    /// The reading has ended, also if it was cut short.
    fn done(&self);
}
