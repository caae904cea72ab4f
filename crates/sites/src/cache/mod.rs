//! sites/cache/: cached facts about a kernel's files: their symbols, and the sites of all inlined functions.

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
    /// This many bytes of debug information will be read.
    fn start(&self, bytes: u64);
    /// This many more bytes have been read.
    fn advance(&self, bytes: u64);
    /// Reading has ended, even if it was aborted.
    fn done(&self);
}
