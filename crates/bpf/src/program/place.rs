//! bpf/program/place.rs: the place of a probe in its map, by offset.
//!
//! It has what the names of its fields are, by offset in the constants, its number, which of its hits count, and what is
//! known of each enabling at it; 8 bytes each.

/// The provider, module, function and name: the offset of each in the constants.
pub const NAMES: i16 = 0;
/// The number of the probe, as the variable `id` has it.
pub const ID: i16 = 32;
/// The offset of the instruction, for a return.
pub const EXIT: i16 = 40;
/// The bits of the flags of which one has to be set, and whether it must not.
pub const BITS: i16 = 48;
/// Whether the hit counts if none of the bits is set.
pub const INVERTED: i16 = 56;
/// Whether the probe has fired.
pub const FIRED: i16 = 64;
/// Whether the place is left out, since another one of its probe was refused.
pub const REFUSED: i16 = 72;
/// The first of the place's clauses.
pub const CLAUSES: i16 = 80;
/// For each clause the number of the enabling, and the name of the inlined function whose copy the place is, or 0.
pub const CLAUSE: i16 = 16;

/// Returns the key of a place of a program: two programs may have the same address.
pub fn key(address: u64, unit: usize) -> u64 {
    address ^ (unit as u64) << 48
}
