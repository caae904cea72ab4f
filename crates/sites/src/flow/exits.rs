//! sites/flow/exits.rs: computes where control exits an inlined copy from its caller's control flow graph.

use std::ops::Range;

use super::block::{Block, Ending};
use super::copy::{Copy, Reached};
use super::doubts::Signs;
use super::graph::Flow;
use super::points::{Over, Point};
use super::scratch::Scratch;
use crate::code::decode;
use kinst_base::machine::Machine;

/// All exits of one copy.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Exits {
    /// Unique points, by address.
    pub sites: Vec<Point>,
    /// Number of exits that cannot have a probe: faults whose fixup is elsewhere in the function.
    pub lost: u32,
    /// Signs that the entries are not where each call begins.
    pub signs: Signs,
}

impl Flow {
    /// Computes the exits of a copy that is entered at `entries` (ascending; in different blocks) and
    /// consists of `ranges` (sorted, disjoint; an empty copy has none, and is exited where it is entered).
    /// `None` if an entry is not an instruction of this function.
    ///
    /// The copy begins with its entries and has those instructions of its ranges that cannot be reached
    /// without passing one: code that the compiler hoisted out of it does not count. It lasts as long as
    /// there is a path back into it that does not pass an entry again, even through interleaved instructions
    /// of the caller.
    ///
    /// `again` is given if entries are not marked: pairs of instructions that begin the same statement.
    pub fn exits(
        &mut self,
        entries: &[u64],
        ranges: &[Range<u64>],
        again: Option<&[(u64, u64)]>,
    ) -> Option<Exits> {
        let mut scratch = std::mem::take(&mut self.scratch);
        let mut exits = self.exits_with(&mut scratch, entries, ranges);
        if let Some(exits) = exits.as_mut().filter(|_| !ranges.is_empty()) {
            let entries: Vec<u32> = entries.iter().filter_map(|entry| self.insn_at(*entry)).collect();
            let reached = Reached { scratch: &scratch, copy: &Copy { entries: &entries }, ranges };
            self.add_signs(&reached, again, &mut exits.signs);
        }
        self.scratch = scratch;
        exits
    }

    /// Computes the exits; of the signs of doubt, only `bypassed` is set.
    pub(super) fn exits_with(
        &self,
        scratch: &mut Scratch,
        entries: &[u64],
        ranges: &[Range<u64>],
    ) -> Option<Exits> {
        let entries = entries.iter().map(|entry| self.insn_at(*entry)).collect::<Option<Vec<u32>>>()?;
        let copy = Copy { entries: &entries };
        let mut exits = Exits::default();
        if ranges.is_empty() {
            exits.sites.extend(entries.iter().map(|entry| Point::At(self.address[*entry as usize])));
            return Some(exits);
        }
        scratch.begin(self.blocks.len());
        if entries.len() > 1 {
            self.mark_bypassed(scratch, &copy);
        }
        for entry in &entries {
            scratch.mark(self.block[*entry as usize], entry + 1);
        }
        for range in ranges {
            self.mark_range(scratch, &copy, range, &mut exits.signs.bypassed);
        }
        self.mark_before(scratch, &copy);
        for index in 0..scratch.found.len() {
            self.leave(scratch, &copy, scratch.found[index], &mut exits);
        }
        exits.sites.sort_unstable();
        exits.sites.dedup();
        Some(exits)
    }

    /// Marks the blocks whose start can be reached without passing an entry.
    fn mark_bypassed(&self, scratch: &mut Scratch, copy: &Copy<'_>) {
        let roots = (0..self.blocks.len() as u32).filter(|block| self.blocks[*block as usize].is_root);
        let mut open: Vec<u32> = roots.collect();
        while let Some(number) = open.pop() {
            if scratch.bypass(number) && copy.entry_in(&self.blocks[number as usize]).is_none() {
                open.extend(self.next(number));
            }
        }
    }

    /// Whether the start of a block can be reached without passing an entry.
    fn is_bypassed(&self, scratch: &Scratch, copy: &Copy<'_>, number: u32) -> bool {
        match copy.entries {
            [entry] => !self.dominates(self.block[*entry as usize], number),
            _ => scratch.is_bypassed(number),
        }
    }

    /// Marks the instructions of a range that are reachable only through the entries.
    fn mark_range(
        &self,
        scratch: &mut Scratch,
        copy: &Copy<'_>,
        range: &Range<u64>,
        bypassed: &mut Vec<u64>,
    ) {
        let Range { start: mut at, end } = self.insns_in(range);
        while at < end {
            let number = self.block[at as usize];
            let block = &self.blocks[number as usize];
            let last = block.end.min(end);
            let from = match copy.entry_in(block) {
                Some(entry) => entry.clamp(at, last),
                None if self.is_bypassed(scratch, copy, number) => last,
                None => at,
            };
            if from < last {
                scratch.mark(number, last);
            }
            // Code without visible predecessor, such as a fixup, is not an entry.
            if self.dominates(self.entry, number) {
                bypassed.extend(&self.address[at as usize..from as usize]);
            }
            at = last;
        }
    }

    /// Marks everything that leads to a mark without passing an entry.
    fn mark_before(&self, scratch: &mut Scratch, copy: &Copy<'_>) {
        let mut next = 0;
        while let Some(number) = scratch.found.get(next).copied() {
            next += 1;
            if copy.entry_in(&self.blocks[number as usize]).is_some() {
                continue;
            }
            for previous in self.previous(number) {
                scratch.mark(*previous, self.blocks[*previous as usize].end);
            }
        }
    }

    /// Collects the exits from one block.
    fn leave(&self, scratch: &mut Scratch, copy: &Copy<'_>, number: u32, exits: &mut Exits) {
        let block = &self.blocks[number as usize];
        let Some(end) = scratch.live_to(number) else { return };
        let last = end - 1;
        let from = self.address[last as usize];
        let first = copy.entry_in(block).unwrap_or(block.first);
        if end < block.end {
            exits.sites.extend(self.near(last, first, block.end));
            return;
        }
        let ways = self.next(number);
        // A path that ends here does not exit the copy.
        if block.ending == Ending::Trap {
            return;
        }
        let itself = self.near(last, first, block.end);
        if self.ways_of(number) < 2 {
            match ways {
                [to] if !copy.is_left(self, scratch, *to) => {}
                // If a predecessor branches, it needs a probe at the target, which also covers this edge.
                [to] if self.previous(*to).iter().any(|previous| self.ways_of(*previous) > 1) => {
                    match self.target(scratch, copy, *to) {
                        Some(site) => self.leave_at(scratch, *to, site, exits),
                        None => exits.sites.extend(itself),
                    }
                }
                _ => exits.sites.extend(itself),
            }
            return;
        }
        let all_leave = ways.iter().all(|to| copy.is_left(self, scratch, *to));
        let is_own = all_leave && ways.iter().all(|to| self.target(scratch, copy, *to).is_none());
        // All edges exit: a fault is counted where it happens, an unprobeable instruction at the one before it.
        if is_own && (block.ending == Ending::Fault || self.is_patched(last) && last > first) {
            return exits.sites.extend(itself);
        }
        for to in ways {
            if copy.is_left(self, scratch, *to) {
                match self.target(scratch, copy, *to) {
                    Some(site) => self.leave_at(scratch, *to, site, exits),
                    None => {
                        let begin = self.blocks[*to as usize].first;
                        self.branch(block, begin == last + 1, from, self.address[begin as usize], exits);
                    }
                }
            }
        }
        if let Some(to) = block.outside {
            self.branch(block, false, from, to, exits);
        }
    }

    /// Adds the exit on one edge of a branch, or of an instruction that may fault.
    fn branch(&self, block: &Block, is_usual: bool, from: u64, to: u64, exits: &mut Exits) {
        match block.ending {
            // Faults are rare: the usual edge counts for the instruction.
            Ending::Fault if is_usual => exits.sites.push(Point::At(from)),
            Ending::Fault => exits.lost += 1,
            // The key itself cannot have a probe.
            _ => match self.over_key(block.end - 1, to) {
                Some(points) => exits.sites.extend(points),
                None => exits.sites.push(Point::Edge { from, over: Over::default(), to }),
            },
        }
    }

    fn leave_at(&self, scratch: &mut Scratch, to: u32, site: u32, exits: &mut Exits) {
        if scratch.is_first(to) {
            exits.sites.push(Point::At(self.address[site as usize]));
        }
    }

    pub(super) fn ways_of(&self, block: u32) -> usize {
        self.next(block).len() + usize::from(self.blocks[block as usize].outside.is_some())
    }

    /// Returns the instruction that covers all edges into a block, if all of them exit the copy.
    fn target(&self, scratch: &Scratch, copy: &Copy<'_>, to: u32) -> Option<u32> {
        let block = &self.blocks[to as usize];
        let all_leave = !block.is_root
            && copy.entry_in(block) != Some(block.first)
            && self
                .previous(to)
                .iter()
                .all(|previous| scratch.live_to(*previous) == Some(self.blocks[*previous as usize].end));
        let end = copy.entry_in(block).unwrap_or(block.end);
        // If the kernel rewrites the first instruction, the next one executes equally often.
        (block.first..end).find(|insn| !self.is_patched(*insn)).filter(|_| all_leave)
    }

    /// Returns the points for an instruction of a straight run: the instruction itself, or the nearest one
    /// that can be probed.
    fn near(&self, wanted: u32, first: u32, end: u32) -> Vec<Point> {
        let mut around = std::iter::once(wanted).chain(wanted + 1..end).chain((first..wanted).rev());
        match around.find(|insn| !self.is_patched(*insn)) {
            Some(insn) => vec![Point::At(self.address[insn as usize])],
            None => self.reached(self.address[wanted as usize]),
        }
    }
}

/// The fallback for a copy whose caller cannot be read completely: returns the last instruction of each
/// range, and the number of ranges that lack even that. `code` returns the bytes from the start of a range
/// on.
pub fn last_instructions<'a>(
    machine: Machine,
    entry: u64,
    ranges: &[Range<u64>],
    code: impl Fn(&Range<u64>) -> Option<&'a [u8]>,
) -> (Vec<Point>, usize) {
    if ranges.is_empty() {
        return (vec![Point::At(entry)], 0);
    }
    let found: Vec<Point> = ranges
        .iter()
        .filter_map(|range| decode::last_instruction(machine, code(range)?, range))
        .map(Point::At)
        .collect();
    let missing = ranges.len() - found.len();
    (found, missing)
}
