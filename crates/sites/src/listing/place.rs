//! sites/listing/place.rs: a line of the source.

/// A line of the source.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Place {
    pub file: String,
    pub line: u64,
}
