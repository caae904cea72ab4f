//! sites/kept/: what is kept on disk of a kernel's files: their symbols, and the sites of all inlined functions.

pub(super) mod directory;
pub(super) mod file;
pub(super) mod image;
pub(super) mod known;

/// Who is told how far the making of indices is.
pub trait Watch: Send + Sync {
    /// So many bytes of debug information are going to be read.
    fn start(&self, bytes: u64);
    fn advance(&self, bytes: u64);
    fn done(&self);
}
