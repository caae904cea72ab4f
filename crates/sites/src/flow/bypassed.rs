//! sites/flow/bypassed.rs: instructions of an inlined copy that execute without a call of it.

use std::collections::HashSet;
use std::ops::Range;

use super::block::Ending;
use super::copy::{Copy, has};
use super::graph::Flow;
use super::scratch::Scratch;

/// A copy of a function: its entries and its code.
pub struct Call<'r> {
    pub entries: Vec<u64>,
    pub ranges: &'r [Range<u64>],
}

impl Flow {
    /// Returns the first of some instructions of a copy with entries `entries` that lies on a path through
    /// the whole function which bypasses every entry. An instruction hoisted above a call, because all paths
    /// lead to one, does not; if entries are not `marked`, nothing may be between them that the caller `acts` with.
    ///
    /// `calls` has all copies of the inlined function here: shared code is attributed to one of them, so
    /// another one's entry counts as well until that copy has been exited. The same holds for code that
    /// precedes both, unless the caller `acts` in between. Code that precedes only another copy is not shared: a
    /// loop around this copy was unrolled.
    pub fn bypassing(
        &self,
        entries: &[u64],
        calls: &[Call<'_>],
        mut instructions: impl Iterator<Item = u64>,
        marked: bool,
        acts: impl Fn(u64) -> bool,
    ) -> Option<u64> {
        let own = self.insns(entries.iter());
        let all = self.insns(calls.iter().flat_map(|call| &call.entries));
        let (own, all) = (Copy { entries: &own }, Copy { entries: &all });
        let reached = self.reached_outside(&own, &all, &self.live(calls));
        let leaves = self.leaves_without(&own);
        let barred = |address: u64| !calls.iter().any(|call| has(call.ranges, address)) && acts(address);
        let is_hoisted = |insn: u32, number: usize| {
            !leaves[number] && (marked || self.comes_to(&own, insn, barred).is_some())
        };
        let is_shared = |insn: u32| {
            let next = self.comes_to(&all, insn, barred);
            next.is_some_and(|next| next.iter().any(|entry| own.entries.contains(entry)))
        };
        instructions.find(|address| {
            self.insn_at(*address).is_some_and(|insn| {
                let number = self.block[insn as usize] as usize;
                reached[number] && !is_hoisted(insn, number) && !is_shared(insn)
            })
        })
    }

    /// Returns the first entries on all paths from an instruction to the end of the function; `None` if one
    /// passes no entry, or a `barred` instruction before it.
    fn comes_to(&self, copy: &Copy<'_>, insn: u32, barred: impl Fn(u64) -> bool) -> Option<Vec<u32>> {
        let (mut seen, mut entries) = (HashSet::new(), Vec::new());
        let mut open = vec![insn];
        while let Some(from) = open.pop() {
            let number = self.block[from as usize];
            let block = &self.blocks[number as usize];
            let entry = copy.entries.iter().find(|entry| (from..block.end).contains(entry));
            if (from..entry.copied().unwrap_or(block.end)).any(|insn| barred(self.address[insn as usize])) {
                return None;
            }
            entries.extend(entry);
            if entry.is_some() || block.ending == Ending::Trap {
                continue;
            }
            if block.outside.is_some() || self.next(number).is_empty() {
                return None;
            }
            let next = self.next(number).iter().map(|next| self.blocks[*next as usize].first);
            open.extend(next.filter(|first| seen.insert(*first)));
        }
        Some(entries)
    }

    /// Returns a branch of the caller after an entry that exits the copy on one edge before any instruction
    /// of the copy that `acts`, if the copy has one. It may decide whether the call takes place; then the
    /// preceding code was moved there.
    pub fn parting(&self, call: &Call<'_>, acts: impl Fn(u64) -> bool) -> Option<u64> {
        let live = self.live(std::slice::from_ref(call));
        let entries = self.insns(call.entries.iter());
        let is_live = |insn: u32| insn < live[self.block[insn as usize] as usize];
        let acting = |insn: u32| is_live(insn) && acts(self.address[insn as usize]);
        let mut own = call.ranges.iter().flat_map(|range| self.insns_in(range));
        if !own.any(acting) {
            return None;
        }
        let mut seen = HashSet::new();
        let mut open = entries.clone();
        while let Some(from) = open.pop() {
            let number = self.block[from as usize];
            let block = &self.blocks[number as usize];
            let is_own = |insn: u32| has(call.ranges, self.address[insn as usize]);
            if live[number as usize] < block.end || (from..block.end).any(|insn| is_own(insn) && acting(insn))
            {
                continue;
            }
            let first = |next: &u32| self.blocks[*next as usize].first;
            let goes_on = |next: &&u32| live[**next as usize] > 0 && !entries.contains(&first(next));
            let next = self.next(number);
            let stay = next.iter().filter(goes_on).count();
            if 0 < stay && stay < next.len() && !is_own(block.end - 1) {
                return Some(self.address[block.end as usize - 1]);
            }
            open.extend(next.iter().filter(goes_on).map(first).filter(|first| seen.insert(*first)));
        }
        None
    }

    fn insns<'e>(&self, addresses: impl Iterator<Item = &'e u64>) -> Vec<u32> {
        let mut insns: Vec<u32> = addresses.filter_map(|address| self.insn_at(*address)).collect();
        insns.sort_unstable();
        insns.dedup();
        insns
    }

    /// Returns for each block the end of the instructions during which a call is active; 0 for none.
    fn live(&self, calls: &[Call<'_>]) -> Vec<u32> {
        let mut live = vec![0; self.blocks.len()];
        let mut scratch = Scratch::default();
        for call in calls {
            let mut entries = call.entries.clone();
            entries.sort_unstable();
            if self.exits_with(&mut scratch, &entries, call.ranges).is_none() {
                continue;
            }
            for block in scratch.found.iter().copied() {
                let end = scratch.live_to(block).unwrap_or(0);
                live[block as usize] = end.max(live[block as usize]);
            }
        }
        live
    }

    /// Returns the blocks whose start can be reached without passing an entry of the copy, outside calls
    /// entered on the path.
    fn reached_outside(&self, own: &Copy<'_>, all: &Copy<'_>, live: &[u32]) -> Vec<bool> {
        let mut reached = vec![[false; 2]; self.blocks.len()];
        let roots = (0..self.blocks.len() as u32).filter(|block| self.blocks[*block as usize].is_root);
        let mut open: Vec<(u32, bool)> = roots.map(|root| (root, false)).collect();
        while let Some((number, inside)) = open.pop() {
            let block = &self.blocks[number as usize];
            let is_known = std::mem::replace(&mut reached[number as usize][usize::from(inside)], true);
            if is_known || own.entry_in(block).is_some() {
                continue;
            }
            let inside = live[number as usize] == block.end && (inside || all.entry_in(block).is_some());
            open.extend(self.next(number).iter().map(|next| (*next, inside && live[*next as usize] > 0)));
        }
        reached.into_iter().map(|[outside, _]| outside).collect()
    }

    /// Returns for each block whether the end of the function can be reached from its start without passing
    /// an entry. A path that ends in a trap does not count.
    fn leaves_without(&self, copy: &Copy<'_>) -> Vec<bool> {
        let mut leaves = vec![false; self.blocks.len()];
        let is_free = |number: u32| copy.entry_in(&self.blocks[number as usize]).is_none();
        let ends = |number: &u32| {
            let block = &self.blocks[*number as usize];
            block.outside.is_some() || self.next(*number).is_empty() && block.ending != Ending::Trap
        };
        let mut open: Vec<u32> = (0..self.blocks.len() as u32).filter(ends).collect();
        while let Some(number) = open.pop() {
            if is_free(number) && !std::mem::replace(&mut leaves[number as usize], true) {
                open.extend(self.previous(number));
            }
        }
        leaves
    }
}
