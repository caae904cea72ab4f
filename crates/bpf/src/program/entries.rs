//! bpf/program/entries.rs: the entries of an aggregation in its map.

use kinst_dif::ActionKind;
use kinst_dif::layout::AggregationLayout;

/// Two maps of an aggregation's entries: hashes by the CPU's number and the key, or, without keys, arrays by the number.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entries {
    /// The id of the aggregation, from 1.
    pub aggregation: u32,
    /// The numbers in the program of the actions that aggregate into them; there is one at least.
    pub actions: Vec<u32>,
    /// The aggregating function.
    pub function: ActionKind,
    /// The places of keys and value, without the CPU's number.
    pub layout: AggregationLayout,
}

/// The size of the CPU's number in a hash's key.
pub const CPU_NUMBER: u32 = 8;

impl Entries {
    /// Whether actions with such entries can share the maps.
    pub fn is_like(&self, other: &Entries) -> bool {
        self.aggregation == other.aggregation
            && self.function == other.function
            && self.layout == other.layout
    }

    /// Whether there can be more than one.
    pub fn has_key(&self) -> bool {
        self.layout.value.offset != 0
    }

    /// The size of the keys, and of what is between them.
    pub fn keys_size(&self) -> u32 {
        self.layout.value.offset
    }

    /// The size of the map's key.
    pub fn key_size(&self) -> u32 {
        if self.has_key() { CPU_NUMBER + self.keys_size() } else { 4 }
    }

    /// The size of a value, with a word that says whether there is one.
    pub fn value_size(&self) -> u32 {
        self.layout.value.size + 8
    }
}
