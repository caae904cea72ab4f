//! sites/flow/copy.rs: an inlined copy in a flow graph: its entries and its extent.

use std::ops::Range;

use super::block::Block;
use super::graph::Flow;
use super::scratch::Scratch;

/// A copy whose exits are computed: its entry instructions, ascending, at most one in a block.
pub(super) struct Copy<'e> {
    pub entries: &'e [u32],
}

impl Copy<'_> {
    /// Returns the entry in a block.
    pub(super) fn entry_in(&self, block: &Block) -> Option<u32> {
        let at = self.entries.partition_point(|entry| *entry < block.first);
        self.entries.get(at).copied().filter(|entry| *entry < block.end)
    }

    /// Whether an edge to the start of the block exits the copy. In an entry's block, the instructions before
    /// the entry do not belong to the copy, and the entry is the next call.
    pub(super) fn is_left(&self, flow: &Flow, scratch: &Scratch, to: u32) -> bool {
        self.entry_in(&flow.blocks[to as usize]).is_some() || scratch.live_to(to).is_none()
    }
}

/// A copy while its exits are computed.
pub(super) struct Reached<'r> {
    pub scratch: &'r Scratch,
    pub copy: &'r Copy<'r>,
    pub ranges: &'r [Range<u64>],
}

/// Whether an address is in one of the sorted ranges.
pub(super) fn has(ranges: &[Range<u64>], address: u64) -> bool {
    let after = ranges.partition_point(|range| range.start <= address);
    after > 0 && ranges[after - 1].contains(&address)
}
