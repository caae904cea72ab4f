//! sites/listing/place.rs: a line of the source.

/// A line of the source.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Place {
    /// The path as the debug information has it.
    pub file: String,
    /// The line, from 1.
    pub line: u64,
}
