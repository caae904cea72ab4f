//! sites/flow/graph.rs: the graph, with its edges and dominators, and queries on it.

use super::block::{Block, Ending, NONE, Turn};
use super::part::{Read, insn_at};
use super::scratch::Scratch;
use std::ops::Range;

/// The graph. Instructions and blocks are numbered from 0, in order of address within a part.
#[derive(Debug)]
pub struct Flow {
    /// Address of each instruction.
    pub(crate) address: Vec<u64>,
    /// Block of each instruction.
    pub(crate) block: Vec<u32>,
    pub(crate) blocks: Vec<Block>,
    /// Edges within the function; see [`Block::next`] and [`Block::previous`].
    pub(super) ways: Vec<u32>,
    pub(super) parts: Vec<Read>,
    /// Block of the function's entry.
    pub(super) entry: u32,
    /// Instructions that cannot be probed, sorted.
    pub(crate) patched: Vec<u32>,
    /// The static keys among these, sorted.
    pub(super) keys: Vec<u32>,
    /// The calls after which a block ends because they may not return, sorted.
    pub(super) stops: Vec<u32>,
    /// Scratch memory for `Flow::exits`.
    pub(crate) scratch: Scratch,
}

impl Flow {
    /// Returns the instruction that begins at the address.
    pub(crate) fn insn_at(&self, address: u64) -> Option<u32> {
        insn_at(&self.parts, address)
    }

    /// Returns the instructions that begin in a range.
    pub(crate) fn insns_in(&self, range: &Range<u64>) -> Range<u32> {
        let Some(part) = self.parts.iter().find(|part| part.holds(range.start)) else { return 0..0 };
        let insns = &self.address[part.insns.start as usize..part.insns.end as usize];
        let place = |address| part.insns.start + insns.partition_point(|insn| *insn < address) as u32;
        place(range.start)..place(range.end)
    }

    pub(crate) fn next(&self, block: u32) -> &[u32] {
        let (from, to) = self.blocks[block as usize].next;
        &self.ways[from as usize..to as usize]
    }

    pub(crate) fn previous(&self, block: u32) -> &[u32] {
        let (from, to) = self.blocks[block as usize].previous;
        &self.ways[from as usize..to as usize]
    }

    /// Whether an instruction has several predecessors.
    pub(crate) fn is_joined(&self, address: u64) -> bool {
        self.insn_at(address).is_some_and(|insn| {
            let number = self.block[insn as usize];
            self.blocks[number as usize].first == insn && self.previous(number).len() > 1
        })
    }

    /// Whether every path to `below` passes `above`. A block dominates itself.
    pub(crate) fn dominates(&self, above: u32, below: u32) -> bool {
        let (from, to) = self.blocks[above as usize].tree;
        (from..to).contains(&self.blocks[below as usize].tree.0)
    }

    /// Whether a block ends with a call that may not return.
    pub(super) fn may_not_return(&self, block: u32) -> bool {
        let last = self.blocks[block as usize].end - 1;
        self.stops.binary_search(&last).is_ok()
    }

    pub(crate) fn is_patched(&self, insn: u32) -> bool {
        self.patched.binary_search(&insn).is_ok()
    }

    /// Whether the kernel rewrites the instruction between a nop and a jump.
    pub(crate) fn is_key(&self, insn: u32) -> bool {
        self.keys.binary_search(&insn).is_ok()
    }

    /// Whether both instructions belong to one part of the code, with offsets from one symbol.
    pub(crate) fn is_one_symbol(&self, one: u64, other: u64) -> bool {
        self.parts.iter().any(|part| part.holds(one) && part.holds(other))
    }

    /// Returns the addresses of the function, part by part.
    pub(crate) fn ranges(&self) -> Vec<Range<u64>> {
        let range = |part: &Read| part.address..part.address + part.places.len() as u64;
        let mut ranges: Vec<Range<u64>> = self.parts.iter().map(range).collect();
        ranges.sort_unstable_by_key(|range| range.start);
        ranges
    }

    /// Returns the number of instructions.
    pub fn len(&self) -> usize {
        self.address.len()
    }

    /// Whether the function has no instructions.
    pub fn is_empty(&self) -> bool {
        self.address.is_empty()
    }
}

impl Flow {
    /// Collects the edges from block to block.
    pub(super) fn forwards(&mut self, turns: &[Turn], ends: &[u32]) {
        let count = self.blocks.len();
        let mut turns = turns;
        let mut ways: Vec<u32> = Vec::with_capacity(4 * count);
        for number in 0..count {
            let last = self.blocks[number].end - 1;
            let first = turns;
            while let [turn, rest @ ..] = turns
                && turn.insn == last
            {
                turns = rest;
            }
            let mine = &first[..first.len() - turns.len()];
            let from = ways.len();
            // Another function follows the end of a part: the last instruction was a call that does not return.
            let goes_on = mine.is_empty() || mine.iter().any(|turn| turn.falls_through);
            if goes_on && ends.binary_search(&last).is_err() {
                ways.push(number as u32 + 1);
            }
            let mut outside = None;
            for to in mine.iter().filter_map(|turn| turn.to) {
                match insn_at(&self.parts, to).map(|insn| self.block[insn as usize]) {
                    // Both edges of a branch may have the same target.
                    Some(to) if ways[from..].contains(&to) => {}
                    Some(to) => ways.push(to),
                    None => outside = Some(to),
                }
            }
            let block = &mut self.blocks[number];
            block.next = (from as u32, ways.len() as u32);
            block.outside = outside;
            block.ending = mine.last().map_or(Ending::Plain, |turn| turn.ending);
        }
        self.ways = ways;
    }

    /// Collects the same edges by target. Padding before an aligned block seems to fall through to it but is
    /// never executed: only its edges to other unreached code count.
    pub(super) fn backwards(&mut self, reached: &[bool]) {
        let counts = |from: usize, to: u32| reached[from] || !reached[to as usize];
        let forwards = self.ways.len();
        let mut degree = vec![0u32; self.blocks.len()];
        for from in 0..self.blocks.len() {
            for to in self.next(from as u32) {
                degree[*to as usize] += u32::from(counts(from, *to));
            }
        }
        let mut at = forwards as u32;
        for (block, degree) in self.blocks.iter_mut().zip(degree) {
            block.previous = (at, at);
            at += degree;
        }
        self.ways.resize(at as usize, 0);
        for from in 0..self.blocks.len() {
            let (first, end) = self.blocks[from].next;
            for way in first..end {
                let to = self.ways[way as usize];
                if counts(from, to) {
                    let place = &mut self.blocks[to as usize].previous.1;
                    self.ways[*place as usize] = from as u32;
                    *place += 1;
                }
            }
        }
    }

    /// Computes the dominator tree (Cooper, Harvey, Kennedy: A Simple, Fast Dominance Algorithm). Code
    /// without visible predecessor is a root below the common one, and so is the entry.
    pub(super) fn dominate(&mut self, order: &[u32]) {
        let count = order.len();
        // By index in the order; index 0 is the common root.
        let mut place = vec![0u32; count];
        for (at, block) in (1..).zip(order) {
            place[*block as usize] = at;
        }
        let mut above = vec![NONE; count + 1];
        above[0] = 0;
        let mut changed = true;
        while changed {
            changed = false;
            for (at, number) in (1u32..).zip(order) {
                let mut new = if self.blocks[*number as usize].is_root { 0 } else { NONE };
                for previous in self.previous(*number) {
                    let previous = place[*previous as usize];
                    if above[previous as usize] != NONE {
                        new = if new == NONE { previous } else { meet(&above, new, previous) };
                    }
                }
                if above[at as usize] != new {
                    above[at as usize] = new;
                    changed = true;
                }
            }
        }
        // A block precedes those below it in the order: sizes are summed from the end, then numbers are
        // assigned from the start.
        let mut size = vec![1u32; count + 1];
        for at in (1..=count).rev() {
            size[above[at] as usize] += size[at];
        }
        let mut free = vec![0u32; count + 1];
        free[0] = 1;
        for (at, number) in (1..).zip(order) {
            let parent = above[at] as usize;
            let mine = free[parent];
            free[parent] += size[at];
            free[at] = mine + 1;
            self.blocks[*number as usize].tree = (mine, mine + size[at]);
        }
    }

    pub(super) fn order(&self) -> Order {
        let count = self.blocks.len();
        let mut seen = vec![false; count];
        let (mut reached, mut roots) = (Vec::new(), Vec::new());
        let mut order = Vec::with_capacity(count);
        let mut path: Vec<(u32, u32)> = Vec::new();
        // A tree precedes those that can lead into it; the order is reversed at the end.
        for root in std::iter::once(self.entry).chain(0..count as u32) {
            if std::mem::replace(&mut seen[root as usize], true) {
                continue;
            }
            roots.push(root);
            path.push((root, 0));
            while let Some((block, way)) = path.last_mut() {
                let next = self.next(*block).get(*way as usize).copied();
                *way += 1;
                match next {
                    Some(next) if !std::mem::replace(&mut seen[next as usize], true) => path.push((next, 0)),
                    Some(_) => {}
                    None => {
                        order.push(*block);
                        path.pop();
                    }
                }
            }
            if reached.is_empty() {
                reached.clone_from(&seen);
            }
        }
        order.reverse();
        Order { blocks: order, reached, roots }
    }
}

/// All blocks, each before its successors except in loops.
pub(super) struct Order {
    pub(super) blocks: Vec<u32>,
    /// Whether a block is reachable from the entry.
    pub(super) reached: Vec<bool>,
    /// The entry, and code without visible predecessor.
    pub(super) roots: Vec<u32>,
}

/// Returns the block where the two paths to the root meet.
fn meet(above: &[u32], mut one: u32, mut other: u32) -> u32 {
    while one != other {
        while one > other {
            one = above[one as usize];
        }
        while other > one {
            other = above[other as usize];
        }
    }
    one
}
