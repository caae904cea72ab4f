//! sites/flow/entered.rs: finds the entry of an inlined copy that has none in the debug information.

use std::ops::Range;

use super::graph::Flow;

impl Flow {
    /// Returns the entry of a copy with these ranges (sorted, disjoint); `told` is the start of its code.
    ///
    /// Compilers move blocks: the end of a loop may precede its beginning. So the entry is the instruction
    /// that dominates all others of the copy, or most of them. If a copy was a loop and was unrolled, or a
    /// part of it was duplicated on several paths, it has several beginnings that look like the rest.
    ///
    /// `fills` says whether an instruction only pads to align the next one, which is the target of jumps.
    pub fn entered(&self, told: u64, ranges: &[Range<u64>], fills: impl Fn(u64) -> bool) -> u64 {
        if !ranges.iter().any(|range| range.contains(&told)) {
            return told;
        }
        let stretches = self.stretches(ranges, fills);
        // Number of instructions before each stretch.
        let mut before = vec![0];
        before.extend(stretches.iter().scan(0, |sum, stretch| {
            *sum += stretch.insns;
            Some(*sum)
        }));
        let mut most = (0, told);
        for (at, stretch) in stretches.iter().enumerate() {
            let below = stretches[at..].partition_point(|below| self.dominates(stretch.block, below.block));
            let insns = before[at + below] - before[at];
            let begin = self.address[stretch.first as usize];
            if insns > most.0 || insns == most.0 && begin < most.1 {
                most = (insns, begin);
            }
        }
        most.1
    }

    /// Returns the part of each reachable block in the ranges, in the order of the dominator tree: the blocks
    /// that a block dominates directly follow it.
    fn stretches(&self, ranges: &[Range<u64>], fills: impl Fn(u64) -> bool) -> Vec<Stretch> {
        let mut stretches: Vec<Stretch> = Vec::new();
        for insn in ranges.iter().flat_map(|range| self.insns_in(range)) {
            let block = self.block[insn as usize];
            if !self.is_key(insn) && fills(self.address[insn as usize]) {
                continue;
            }
            match stretches.last_mut() {
                Some(before) if before.block == block => before.insns += 1,
                // The first block is the function's entry.
                _ if self.dominates(0, block) => stretches.push(Stretch { block, first: insn, insns: 1 }),
                _ => {}
            }
        }
        stretches.sort_by_key(|stretch| self.blocks[stretch.block as usize].tree.0);
        stretches
    }
}

/// Instructions of one block.
struct Stretch {
    block: u32,
    first: u32,
    insns: u32,
}
