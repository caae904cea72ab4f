//! sites/target/symbolized.rs: an address as a function and an offset.

/// A symbolized address, as stack() and sym() print it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Symbolized {
    /// Name of the module; `vmlinux` for the kernel proper.
    pub module: String,
    /// Name of the symbol, function or variable.
    pub function: String,
    /// Offset from the start of the symbol, in bytes.
    pub offset: u64,
}
