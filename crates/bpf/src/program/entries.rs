//! bpf/program/entries.rs: an aggregation's entries in its maps.

use kinst_dif::ActionKind;
use kinst_dif::layout::AggregationLayout;

/// Two maps of an aggregation's entries: hashes by the number of the CPU's value and the key, or, without keys,
/// arrays by the number.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entries {
    /// The id of the aggregation, from 1.
    pub aggregation: u32,
    /// The program's indices of the actions that aggregate into them; at least one.
    pub actions: Vec<u32>,
    /// The aggregating function.
    pub function: ActionKind,
    /// Layout of keys and value, without that number.
    pub layout: AggregationLayout,
}

/// Size of the number in a hash's key.
pub const CPU_NUMBER: u32 = 8;

impl Entries {
    /// Whether the actions of both can share the maps.
    pub fn is_like(&self, other: &Entries) -> bool {
        self.aggregation == other.aggregation
            && self.function == other.function
            && self.layout == other.layout
    }

    /// Whether there can be more than one entry.
    pub fn has_key(&self) -> bool {
        self.layout.value.offset != 0
    }

    /// Size of the keys, with padding.
    pub fn keys_size(&self) -> u32 {
        self.layout.value.offset
    }

    /// The size of the map's key.
    pub fn key_size(&self) -> u32 {
        if self.has_key() { CPU_NUMBER + self.keys_size() } else { 4 }
    }

    /// Size of a value, with a word that says whether it is set.
    pub fn value_size(&self) -> u32 {
        self.layout.value.size + 8
    }
}
