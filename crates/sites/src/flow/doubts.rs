//! sites/flow/doubts.rs: signs that a copy may be entered elsewhere than recorded, or less often.

use std::collections::HashSet;
use std::fmt;
use std::ops::Range;

use super::block::Ending;
use super::copy::{Reached, has};
use super::graph::Flow;

/// Why the points of a copy may be too few or too many.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Doubt {
    /// An instruction with an effect of the copy is reached without passing an entry.
    Bypassed(u64),
    /// Entries are not marked, and a loop after the entry contains an instruction of the caller, at this
    /// address: each round may be a call.
    Looped(u64),
    /// Entries are not marked, and the instruction at this address begins a statement that was executed
    /// before: a loop around the call may have been unrolled.
    Unrolled(u64),
    /// The compiler marks entries, but this copy has lost its marker: calls begin here, or elsewhere.
    Unmarked(u64),
    /// A loop inside the copy, or another copy of the function, leads to this entry: it is the next call, or
    /// still the same one.
    Reentered(u64),
    /// The first branch, at this address, and the next one exit the copy to the same place: the compiler may
    /// have combined a condition of the caller with the function's.
    Combined(u64),
    /// Calls of several copies begin at this instruction, which has several predecessors.
    Shared(u64),
}

impl fmt::Display for Doubt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Doubt::Bypassed(at) => {
                write!(f, "the instruction at {at:#x} is reached without passing an entry")
            }
            Doubt::Looped(at) => {
                write!(
                    f,
                    "the instruction at {at:#x} belongs to the caller, and is in a loop after the entry"
                )
            }
            Doubt::Unrolled(at) => write!(
                f,
                "the statement at {at:#x} was executed before, as if a loop around the call were unrolled"
            ),
            Doubt::Unmarked(at) => {
                write!(f, "the compiler has lost its marker of the beginning of the call at {at:#x}")
            }
            Doubt::Reentered(at) => {
                write!(f, "the entry at {at:#x} is also reached from a call of the function")
            }
            Doubt::Shared(at) => write!(f, "another call may begin at {at:#x} instead"),
            Doubt::Combined(at) => {
                write!(f, "the branch at {at:#x} may also decide whether the call takes place")
            }
        }
    }
}

/// The signs of doubt in the control flow around one copy.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Signs {
    /// Instructions of its ranges that can be reached without passing an entry.
    pub bypassed: Vec<u64>,
    /// An instruction of the caller in a loop after the entry.
    pub looped: Option<u64>,
    /// An entry that a loop inside the copy leads to.
    pub reentered: Option<u64>,
    /// The second of two instructions that begin the same statement and execute in one call.
    pub again: Option<u64>,
    /// Pairs of branches after an entry that exit the copy to the same place, at most one pair for each entry.
    pub combined: Vec<Combined>,
    /// Whether a branch exits the copy after an entry.
    pub decides: bool,
    /// An entry that is a branch of the caller and exits the copy at once on one edge.
    pub decided: Option<u64>,
}

/// Two branches that exit a copy to the same place, with a comparison between them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Combined {
    /// Code from an entry to the first branch.
    pub before: Range<u64>,
    /// Address of the second branch.
    pub second: u64,
    /// Whether the rest of the copy also leads to that place, as it does if the caller ignores the result.
    pub joins: bool,
}

impl Flow {
    /// Adds the signs in the control flow. `again` is given if entries are not marked: pairs of instructions
    /// that begin the same statement.
    pub(super) fn add_signs(&self, of: &Reached<'_>, again: Option<&[(u64, u64)]>, signs: &mut Signs) {
        signs.reentered = self.reentered(of);
        // If entries are not marked, an instruction of the caller in the loop proves nothing.
        if of.copy.entries.len() > 1 || again.is_some() {
            signs.reentered = signs.reentered.or_else(|| self.continued(of));
        }
        signs.decides = self.begins_with_condition(of);
        signs.combined = self.combined(of);
        signs.decided = self.decided(of);
        if let Some(again) = again {
            signs.looped = self.looped(of);
            let unrolled = again.iter().find(|(from, to)| self.leads_to(of, *from, *to));
            signs.again = unrolled.map(|(_, to)| *to);
        }
    }

    /// Returns an instruction of the caller in a loop within the extent of the copy.
    fn looped(&self, of: &Reached<'_>) -> Option<u64> {
        let goes_on = |number: u32| self.goes_on(of, number);
        let found = of.scratch.found.iter().copied().filter(|number| goes_on(*number));
        found
            .filter_map(|number| Some((number, self.foreign(of, number)?)))
            .find_map(|(number, insn)| self.comes_back(number, &goes_on).then(|| self.address[insn as usize]))
    }

    /// Returns an entry after an instruction of the copy, with at most one instruction of the caller and a
    /// jump in between.
    fn continued(&self, of: &Reached<'_>) -> Option<u64> {
        of.scratch.found.iter().find_map(|number| {
            let last = self.blocks[*number as usize].end - 1;
            let is_own = self.is_whole(of, *number) && has(of.ranges, self.address[last as usize]);
            let is_entry = |first: &u32| of.copy.entries.binary_search(first).is_ok();
            let next = self.next(*number).iter().flat_map(|next| [Some(*next), self.passed(*next)]);
            let mut next = next.flatten().map(|next| self.blocks[next as usize].first);
            next.find(is_entry).filter(|_| is_own).map(|entry| self.address[entry as usize])
        })
    }

    /// Returns the successor of a block that is hardly more than a jump to it.
    fn passed(&self, number: u32) -> Option<u32> {
        let block = &self.blocks[number as usize];
        match *self.next(number) {
            [only] if block.end - block.first <= 2 => Some(only),
            _ => None,
        }
    }

    /// Returns an entry that a loop inside the copy leads to.
    fn reentered(&self, of: &Reached<'_>) -> Option<u64> {
        let is_own = |number: u32| self.foreign(of, number).is_none();
        let goes_on = |number: u32| self.goes_on(of, number) && is_own(number);
        let mut entries = of.copy.entries.iter().copied();
        let entry = entries.find(|entry| {
            let home = self.block[*entry as usize];
            let begins = self.blocks[home as usize].first == *entry && self.is_whole(of, home);
            begins && is_own(home) && self.comes_back(home, &goes_on)
        })?;
        Some(self.address[entry as usize])
    }

    /// Whether an entry has a direct predecessor in these ranges.
    pub(super) fn follows(&self, entry: u64, ranges: &[Range<u64>]) -> bool {
        let Some(entry) = self.insn_at(entry) else { return false };
        let number = self.block[entry as usize];
        let comes_from = |insn: u32| has(ranges, self.address[insn as usize]);
        match self.blocks[number as usize].first {
            first if first < entry => comes_from(entry - 1),
            _ => self.previous(number).iter().any(|from| comes_from(self.blocks[*from as usize].end - 1)),
        }
    }

    /// Whether the first branch after an entry may exit the copy.
    fn begins_with_condition(&self, of: &Reached<'_>) -> bool {
        of.copy.entries.iter().any(|entry| {
            let home = self.block[*entry as usize];
            self.is_whole(of, home) && self.leaves_on_one_way(of, home)
        })
    }

    /// Whether a block ends with a branch that exits the copy on one edge.
    fn leaves_on_one_way(&self, of: &Reached<'_>, number: u32) -> bool {
        let leaves = |to: &&u32| of.copy.is_left(self, of.scratch, **to);
        self.ways_of(number) == 2 && self.next(number).iter().filter(leaves).count() == 1
    }

    /// Returns an entry that is a branch of the caller and exits the copy at once on one edge: the call's
    /// marker was moved before the branch that decides whether the call takes place.
    fn decided(&self, of: &Reached<'_>) -> Option<u64> {
        let entry = of.copy.entries.iter().copied().find(|entry| {
            let home = self.block[*entry as usize];
            self.blocks[home as usize].end == entry + 1
                && !has(of.ranges, self.address[*entry as usize])
                && self.leaves_on_one_way(of, home)
        })?;
        Some(self.address[entry as usize])
    }

    /// Whether one entry is a jump to the other, which means that the code after it is shared.
    pub(super) fn hands_over(&self, from: u64, to: u64) -> bool {
        let (Some(from), Some(to)) = (self.insn_at(from), self.insn_at(to)) else { return false };
        let number = self.block[from as usize];
        let is_last = self.blocks[number as usize].end == from + 1 && self.ways_of(number) == 1;
        is_last && self.next(number).iter().any(|next| self.blocks[*next as usize].first == to)
    }

    /// Returns the first two branches after each entry, if they exit the copy to the same place with only a
    /// comparison between them.
    fn combined(&self, of: &Reached<'_>) -> Vec<Combined> {
        let branches = |entry: &u32| {
            let home = self.block[*entry as usize];
            let decides = |number: u32| self.is_whole(of, number) && self.ways_of(number) == 2;
            let [one, other] = *self.next(home) else { return None };
            let is_second = |out: u32, on: u32| {
                let next = &self.blocks[on as usize];
                of.copy.is_left(self, of.scratch, out)
                    && decides(on)
                    && next.end - next.first <= 2
                    && self.previous(on) == [home]
                    && self.next(on).contains(&out)
            };
            let (out, second) = if is_second(one, other) { (one, other) } else { (other, one) };
            let last = self.blocks[home as usize].end - 1;
            let is_plain = !self.is_key(last) && self.blocks[home as usize].ending == Ending::Plain;
            let is_sign = is_plain && decides(home) && is_second(out, second);
            let joins = |from: &u32| *from != home && *from != second && self.is_whole(of, *from);
            is_sign.then(|| Combined {
                before: self.address[*entry as usize]..self.address[last as usize],
                second: self.address[self.blocks[second as usize].end as usize - 1],
                joins: self.previous(out).iter().any(joins),
            })
        };
        of.copy.entries.iter().filter_map(branches).collect()
    }

    /// Returns the first instruction of a block that is not part of the copy, up to the copy's end in the block.
    fn foreign(&self, of: &Reached<'_>, number: u32) -> Option<u32> {
        let block = &self.blocks[number as usize];
        (block.first..of.scratch.live_to(number)?).find(|insn| !has(of.ranges, self.address[*insn as usize]))
    }

    fn is_whole(&self, of: &Reached<'_>, number: u32) -> bool {
        of.scratch.live_to(number) == Some(self.blocks[number as usize].end)
    }

    /// Whether the copy extends over the whole block without being entered there.
    fn goes_on(&self, of: &Reached<'_>, number: u32) -> bool {
        self.is_whole(of, number) && of.copy.entry_in(&self.blocks[number as usize]).is_none()
    }

    /// Whether one instruction of the copy executes after another one in the same call.
    fn leads_to(&self, of: &Reached<'_>, from: u64, to: u64) -> bool {
        let (Some(from), Some(to)) = (self.insn_at(from), self.insn_at(to)) else { return false };
        let (first, last) = (self.block[from as usize], self.block[to as usize]);
        let entry = |block: u32| of.copy.entry_in(&self.blocks[block as usize]);
        let is_live = |insn: u32, block: u32| of.scratch.live_to(block).is_some_and(|end| insn < end);
        if !is_live(from, first) || !is_live(to, last) {
            return false;
        }
        if first == last && from < to {
            return entry(first).is_none_or(|entry| entry <= from || to < entry);
        }
        if entry(first).is_some_and(|entry| from < entry) || entry(last).is_some_and(|entry| entry <= to) {
            return false;
        }
        let mut seen = HashSet::new();
        let mut open = vec![first];
        while let Some(block) = open.pop() {
            for next in self.next(block).iter().filter(|_| self.is_whole(of, block)) {
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

    /// Whether a block can be reached from its own end through blocks that match.
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
}
