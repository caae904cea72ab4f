//! bpf/program/place.rs: the entry of a probe's place in its map, by offset.
//!
//! It has the names of the probe as offsets in the constants, the probe's id, the test for hits that count,
//! and for each enabling its data; 8 bytes each.

/// Provider, module, function and name: an offset in the constants each.
pub const NAMES: i16 = 0;
/// Id of the probe, as in the variable `id`.
pub const ID: i16 = 32;
/// Offset of the instruction, for a return probe.
pub const EXIT: i16 = 40;
/// A mask of flags; the hit counts if any of these bits is set.
pub const BITS: i16 = 48;
/// Whether the hit counts only if none of the bits is set.
pub const INVERTED: i16 = 56;
/// Whether the probe has fired.
pub const FIRED: i16 = 64;
/// Whether the place is left out because another one of its probe was refused.
pub const REFUSED: i16 = 72;
/// The first of the place's clauses.
pub const CLAUSES: i16 = 80;
/// Size of each clause: the enabling's id, and the name of the inlined function if the place is in a copy, or 0.
pub const CLAUSE: i16 = 16;

/// Returns the key of a program's place: two programs may have the same address.
pub fn key(address: u64, unit: usize) -> u64 {
    address ^ (unit as u64) << 48
}
