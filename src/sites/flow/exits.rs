//! sites/flow/exits.rs: where control leaves an inlined copy, by the control flow graph of its caller.

use std::collections::HashSet;
use std::ops::Range;

use super::points::{Over, Point};
use super::scratch::Scratch;
use super::{Block, Ending, Flow};
use crate::debuginfo::Machine;
use crate::sites::code::decode;

/// All points where one copy is left.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Exits {
    /// The points by address, each once.
    pub sites: Vec<Point>,
    /// The number of exits on which no probe can be put: a fault whose fixup is elsewhere in the function.
    pub lost: u32,
    /// The instructions of the ranges that can be reached without passing an entry.
    pub bypassed: Vec<u64>,
    /// Signs that an entry is not where each call begins.
    pub repeated: Option<Repeated>,
    /// An entry that control comes to straight from an instruction of the copy.
    pub reentered: Option<u64>,
}

/// A loop that makes it doubtful where calls begin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Repeated {
    /// A loop after the entry has an instruction of the caller, at this address: each round may be a call.
    After(u64),
    /// A loop of nothing but the copy leads to the entry: it may be one call.
    Itself(u64),
    /// The instruction at this address begins a statement that was executed before: a loop around the call may be unrolled.
    Unrolled(u64),
}

/// The copy whose exits are computed: the instructions where it is entered, ascending, at most one in a block.
pub(super) struct Copy<'e> {
    pub entries: &'e [u32],
}

impl Copy<'_> {
    /// The entry in a block.
    pub fn entry_in(&self, block: &Block) -> Option<u32> {
        let at = self.entries.partition_point(|entry| *entry < block.first);
        self.entries.get(at).copied().filter(|entry| *entry < block.end)
    }

    /// Whether an edge to the start of the block leaves the copy. In an entry's block, the instructions before the
    /// entry do not belong to the copy, and the entry is the next call.
    fn is_left(&self, flow: &Flow, scratch: &Scratch, to: u32) -> bool {
        self.entry_in(&flow.blocks[to as usize]).is_some() || scratch.live_to(to).is_none()
    }
}

impl Flow {
    /// Finds where a copy is left that is entered at `entries` (ascending; in different blocks) and made of `ranges`
    /// (sorted, disjoint; none: an empty copy, which is left where it is entered). `None` if an entry is not an
    /// instruction of this function.
    ///
    /// The copy begins with its entries and has those instructions of its ranges that cannot be reached without passing
    /// one: what the compiler hoisted out of it does not count. It lasts as long as there is a path back into it that
    /// does not lead over an entry again, even if the path passes through instructions of the caller that are mixed in.
    ///
    /// `again`, if nothing marks the entries: instructions that begin the same statement, in pairs.
    pub fn exits(
        &mut self,
        entries: &[u64],
        ranges: &[Range<u64>],
        again: Option<&[(u64, u64)]>,
    ) -> Option<Exits> {
        let mut scratch = std::mem::take(&mut self.scratch);
        let exits = self.exits_with(&mut scratch, entries, ranges, again);
        self.scratch = scratch;
        exits
    }

    pub(super) fn exits_with(
        &self,
        scratch: &mut Scratch,
        entries: &[u64],
        ranges: &[Range<u64>],
        again: Option<&[(u64, u64)]>,
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
            self.mark_range(scratch, &copy, range, &mut exits.bypassed);
        }
        self.mark_before(scratch, &copy);
        for index in 0..scratch.found.len() {
            self.leave(scratch, &copy, scratch.found[index], &mut exits);
        }
        exits.sites.sort_unstable();
        exits.sites.dedup();
        exits.reentered = self.reentered(scratch, &copy, ranges);
        exits.repeated = again.and_then(|again| {
            let unrolled = || again.iter().find(|(from, to)| self.leads_to(scratch, &copy, *from, *to));
            self.repeated(scratch, &copy, ranges)
                .or_else(|| unrolled().map(|(_, to)| Repeated::Unrolled(*to)))
        });
        Some(exits)
    }

    /// Looks for loops in what the copy consists of.
    fn repeated(&self, scratch: &Scratch, copy: &Copy<'_>, ranges: &[Range<u64>]) -> Option<Repeated> {
        let is_own = |insn: u32| has(ranges, self.address[insn as usize]);
        let foreign = |number: u32| {
            let block = &self.blocks[number as usize];
            (block.first..scratch.live_to(number)?).find(|insn| !is_own(*insn))
        };
        let is_whole = |number: u32| scratch.live_to(number) == Some(self.blocks[number as usize].end);
        let goes_on =
            |number: u32| is_whole(number) && copy.entry_in(&self.blocks[number as usize]).is_none();
        for number in scratch.found.iter().copied().filter(|number| goes_on(*number)) {
            if let Some(insn) = foreign(number)
                && self.comes_back(number, &goes_on)
            {
                return Some(Repeated::After(self.address[insn as usize]));
            }
        }
        for entry in copy.entries {
            let home = self.block[*entry as usize];
            let begins =
                self.blocks[home as usize].first == *entry && is_whole(home) && foreign(home).is_none();
            if begins && self.comes_back(home, &|number| goes_on(number) && foreign(number).is_none()) {
                return Some(Repeated::Itself(self.address[*entry as usize]));
            }
        }
        None
    }

    /// An entry after an instruction of the copy, with nothing of the caller in between.
    fn reentered(&self, scratch: &Scratch, copy: &Copy<'_>, ranges: &[Range<u64>]) -> Option<u64> {
        scratch.found.iter().find_map(|number| {
            let block = &self.blocks[*number as usize];
            let is_own = || has(ranges, self.address[block.end as usize - 1]);
            let is_entry = |first: &u32| copy.entries.binary_search(first).is_ok();
            let mut entered =
                self.next(*number).iter().map(|next| self.blocks[*next as usize].first).filter(is_entry);
            let entry = entered.next().filter(|_| scratch.live_to(*number) == Some(block.end) && is_own())?;
            Some(self.address[entry as usize])
        })
    }

    /// Whether one instruction of the copy is executed after another one in the same call.
    fn leads_to(&self, scratch: &Scratch, copy: &Copy<'_>, from: u64, to: u64) -> bool {
        let (Some(from), Some(to)) = (self.insn_at(from), self.insn_at(to)) else { return false };
        let (first, last) = (self.block[from as usize], self.block[to as usize]);
        let entry = |block: u32| copy.entry_in(&self.blocks[block as usize]);
        let is_live = |insn: u32, block: u32| scratch.live_to(block).is_some_and(|end| insn < end);
        if !is_live(from, first) || !is_live(to, last) {
            return false;
        }
        if first == last && from < to {
            return entry(first).is_none_or(|entry| entry <= from || to < entry);
        }
        if entry(first).is_some_and(|entry| from < entry) || entry(last).is_some_and(|entry| entry <= to) {
            return false;
        }
        let is_whole = |block: u32| scratch.live_to(block) == Some(self.blocks[block as usize].end);
        let mut seen = HashSet::new();
        let mut open = vec![first];
        while let Some(block) = open.pop() {
            for next in self.next(block).iter().filter(|_| is_whole(block)) {
                if *next == last {
                    return true;
                }
                if entry(*next).is_none() && seen.insert(*next) {
                    open.push(*next);
                }
            }
        }
        false
    }

    /// Whether a block can be reached from its own end over such blocks.
    fn comes_back(&self, from: u32, over: &dyn Fn(u32) -> bool) -> bool {
        let mut seen = HashSet::new();
        let mut open = vec![from];
        while let Some(number) = open.pop() {
            for next in self.next(number) {
                if *next == from {
                    return true;
                }
                if over(*next) && seen.insert(*next) {
                    open.push(*next);
                }
            }
        }
        false
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

    /// Marks the instructions of a range that only the entries lead to.
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
            // Code that nothing visible leads to, as that of a fixup, is no way in.
            if self.dominates(self.entry, number) {
                bypassed.extend(&self.address[at as usize..from as usize]);
            }
            at = last;
        }
    }

    /// Marks all that leads to what is marked without passing an entry.
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
        // A path that ends here does not leave the copy.
        if block.ending == Ending::Trap {
            return;
        }
        let itself = self.near(last, first, block.end);
        if self.ways_of(number) < 2 {
            match ways {
                [to] if !copy.is_left(self, scratch, *to) => {}
                // A predecessor that branches needs a probe at the target: that one counts this edge too.
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
        // All edges lead out: a fault counts where it happens, an unprobeable instruction at the one before it.
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

    /// Adds the exit over one edge of a branch, or of an instruction that may fault.
    fn branch(&self, block: &Block, is_usual: bool, from: u64, to: u64, exits: &mut Exits) {
        match block.ending {
            // Faults are rare: the usual edge counts for the instruction.
            Ending::Fault if is_usual => exits.sites.push(Point::At(from)),
            Ending::Fault => exits.lost += 1,
            // The key itself has no room for a probe.
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

    fn ways_of(&self, block: u32) -> usize {
        self.next(block).len() + usize::from(self.blocks[block as usize].outside.is_some())
    }

    /// The instruction that represents all edges into a block, if they all leave the copy.
    fn target(&self, scratch: &Scratch, copy: &Copy<'_>, to: u32) -> Option<u32> {
        let block = &self.blocks[to as usize];
        let all_leave = !block.is_root
            && copy.entry_in(block) != Some(block.first)
            && self
                .previous(to)
                .iter()
                .all(|previous| scratch.live_to(*previous) == Some(self.blocks[*previous as usize].end));
        let end = copy.entry_in(block).unwrap_or(block.end);
        // If the kernel rewrites the first instruction, the next one is executed as often.
        (block.first..end).find(|insn| !self.is_patched(*insn)).filter(|_| all_leave)
    }

    /// The points for an instruction of a straight run: the instruction itself, or the nearest one that can be probed.
    fn near(&self, wanted: u32, first: u32, end: u32) -> Vec<Point> {
        let mut around = std::iter::once(wanted).chain(wanted + 1..end).chain((first..wanted).rev());
        match around.find(|insn| !self.is_patched(*insn)) {
            Some(insn) => vec![Point::At(self.address[insn as usize])],
            None => self.reached(self.address[wanted as usize]),
        }
    }
}

/// Whether an address is in one of the ranges, which are sorted.
fn has(ranges: &[Range<u64>], address: u64) -> bool {
    let after = ranges.partition_point(|range| range.start <= address);
    after > 0 && ranges[after - 1].contains(&address)
}

/// The fallback for a copy whose caller cannot be read to its end: the last instruction of each range, and the number
/// of ranges that lack even that. `code` returns the bytes from the start of a range on.
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
