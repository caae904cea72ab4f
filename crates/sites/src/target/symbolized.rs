//! sites/target/symbolized.rs: an address as a function and an offset.

/// An address as stack() and sym() print it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Symbolized {
    /// The name of the module; `vmlinux` for the kernel proper.
    pub module: String,
    /// The name of the symbol, which may be that of a variable.
    pub function: String,
    /// The distance from the start of the symbol, in bytes.
    pub offset: u64,
}
