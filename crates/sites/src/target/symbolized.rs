//! sites/target/symbolized.rs: an address as a function and an offset.

/// An address as stack() and sym() print it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Symbolized {
    pub module: String,
    pub function: String,
    pub offset: u64,
}
