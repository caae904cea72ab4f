//! sites/listing/place.rs: a source line.

/// A source line.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Place {
    /// Path as in the debug information.
    pub file: String,
    /// The line, from 1.
    pub line: u64,
}
