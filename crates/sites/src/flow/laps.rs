//! sites/flow/laps.rs: chooses where to take the time in a function; the code between two such places is a lap.

use std::ops::Range;

use super::block::Ending;
use super::counts::{Counts, Room};
use super::graph::Flow;
pub use crate::code::decode::Takes;

/// Code from a place where the time is taken to the next one on the path, with at most one call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lap {
    /// Index of its block in the flow graph.
    pub block: u32,
    /// Its first instruction.
    pub begin: u64,
    /// Its call, or else its first instruction: where its time is displayed.
    pub shown: u64,
    /// The next instruction, if it can have a probe and the one before it takes no time: the time between the
    /// two is the cost of a probe.
    pub second: Option<u64>,
    /// The time that its first instruction takes.
    pub takes: Takes,
    /// Whether nothing that takes time is between its beginning and the next place, on each path.
    pub is_empty: bool,
}

/// The facts about an instruction that matter for timing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Kind {
    /// Whether it calls a function.
    pub is_call: bool,
    /// Whether the kernel emulates it below a probe in a program. Unless it is a call, it takes nothing.
    pub is_emulated: bool,
    /// Whether calls begin here, so that it has a probe anyway.
    pub is_entry: bool,
    /// An estimate of its time.
    pub takes: Takes,
}

/// Number of places where the cost of a probe is measured; those with memory accesses are a fallback.
const MEASURED: [(Takes, usize); 2] = [(Takes::Nothing, 4), (Takes::Memory, 2)];

impl Kind {
    fn takes_nothing(self) -> bool {
        !self.is_call && (self.is_emulated || self.takes == Takes::Nothing)
    }
}

impl Flow {
    /// Returns the laps of the selected blocks in `counts`: each block that can have a probe begins one, and
    /// the code after a call begins another if one more call follows. `kind` describes an instruction.
    ///
    /// In programs, another lap begins at a branch that may leave the code, since its probe is hit on both paths.
    pub fn laps(&self, counts: &Counts, room: impl Fn(u64) -> Room, kind: impl Fn(u64) -> Kind) -> Vec<Lap> {
        let room = |insn: u32| match self.is_patched(insn) {
            true => Room::None,
            false => room(self.address[insn as usize]),
        };
        let kind = |insn: u32| kind(self.address[insn as usize]);
        let is_emulated = |lap: &Lap| self.insn_at(lap.begin).is_some_and(|begin| kind(begin).is_emulated);
        let is_measured = |lap: &Lap| lap.is_empty || lap.second.is_some() && lap.takes == Takes::Nothing;
        let mut all = self.laps_at(counts, &room, &kind, true);
        // If no cost of an emulated probe can be measured, as few of them as possible are better.
        if all.iter().any(is_emulated) && !all.iter().any(|lap| is_emulated(lap) && is_measured(lap)) {
            all = self.laps_at(counts, &room, &kind, false);
        }
        self.measure_at_few(&mut all, |begin| kind(begin).is_emulated);
        all
    }

    fn laps_at(
        &self,
        counts: &Counts,
        room: &impl Fn(u32) -> Room,
        kind: &impl Fn(u32) -> Kind,
        is_cheap: bool,
    ) -> Vec<Lap> {
        let address = |insn: u32| self.address[insn as usize];
        let mut all = Vec::new();
        for block in (0..self.blocks.len() as u32).filter(|block| counts.looks_at(*block)) {
            let (mut from, end) = (self.blocks[block as usize].first, self.blocks[block as usize].end);
            let leaves =
                self.next(block).len() > 1 && self.next(block).iter().any(|to| !counts.looks_at(*to));
            let leaves = leaves && kind(end - 1).is_emulated;
            while let Some(free) = (from..end).find(|insn| room(*insn).has_space()) {
                let begin = if is_cheap { cheap(free, end, room, kind) } else { free };
                let call = (begin..end).find(|insn| kind(*insn).is_call);
                let takes = kind(begin).takes;
                let is_measured = takes < Takes::More && begin + 1 < end && room(begin + 1).has_space();
                all.push(Lap {
                    block,
                    begin: address(begin),
                    shown: address(call.unwrap_or(free)),
                    second: is_measured.then(|| address(begin + 1)),
                    takes,
                    is_empty: false,
                });
                from = match call.map(|call| call + 1) {
                    Some(after) if (after..end).any(|insn| kind(insn).is_call) => after,
                    _ if leaves && begin + 1 < end => end - 1,
                    _ => break,
                };
            }
        }
        self.find_empty(counts, &mut all, kind);
        all
    }

    /// Marks the laps that contain nothing but a jump. Another place of the same block begins no such lap.
    fn find_empty(&self, counts: &Counts, all: &mut [Lap], kind: impl Fn(u32) -> Kind) {
        let begin = |lap: &Lap| self.insn_at(lap.begin);
        let nothing = |mut insns: Range<u32>| insns.all(|insn| kind(insn).takes_nothing());
        // Whether the first place of a block follows its beginning at once.
        let mut heads = vec![false; self.blocks.len()];
        for lap in all.iter() {
            let first = self.blocks[lap.block as usize].first;
            heads[lap.block as usize] |= begin(lap).is_some_and(|begin| nothing(first..begin));
        }
        for at in 0..all.len() {
            let lap = &all[at];
            let (block, is_last) = (&self.blocks[lap.block as usize], {
                let next = all.get(at + 1);
                next.is_none_or(|next| next.block != lap.block)
            });
            let next = self.next(lap.block);
            let goes_on = block.outside.is_none() && !next.is_empty() && block.ending == Ending::Plain;
            let stays = next.iter().all(|to| counts.looks_at(*to) && heads[*to as usize]);
            let jumps = |begin| kind(begin).is_emulated && nothing(begin..block.end);
            let is_empty = is_last && goes_on && stays && begin(lap).is_some_and(jumps);
            all[at].is_empty = is_empty;
        }
    }

    /// Retains the second places in the most frequent blocks.
    fn measure_at_few(&self, all: &mut [Lap], is_emulated: impl Fn(u32) -> bool) {
        let often = self.often(&self.order());
        let is_emulated: Vec<bool> =
            all.iter().map(|lap| self.insn_at(lap.begin).is_some_and(&is_emulated)).collect();
        for ((takes, most), emulated) in MEASURED.into_iter().flat_map(|one| [(one, false), (one, true)]) {
            let is_one = |at: &usize| {
                all[*at].second.is_some() && all[*at].takes == takes && is_emulated[*at] == emulated
            };
            let mut measured: Vec<usize> = (0..all.len()).filter(is_one).collect();
            measured.sort_by(|one, other| {
                let often = |at: usize| often[all[at].block as usize];
                often(*other).total_cmp(&often(*one))
            });
            measured.into_iter().skip(most).for_each(|at| all[at].second = None);
        }
    }
}

/// Returns where to take the time instead of at `free`: at an emulated instruction, if nothing before it takes time.
fn cheap(free: u32, end: u32, room: &impl Fn(u32) -> Room, kind: &impl Fn(u32) -> Kind) -> u32 {
    if room(free) != Room::Dear || kind(free).is_entry {
        return free;
    }
    let passes = |insn: &u32| kind(*insn).takes_nothing() && !kind(*insn).is_emulated;
    let found = free + (free..end).take_while(passes).count() as u32;
    if found < end && kind(found).is_emulated && room(found) == Room::Free { found } else { free }
}
