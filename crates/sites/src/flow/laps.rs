//! sites/flow/laps.rs: chooses where to take the time in a function; the code between two such places is a lap.

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
}

/// The facts about an instruction that matter for timing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Kind {
    /// Whether it calls a function.
    pub is_call: bool,
    /// An estimate of its time.
    pub takes: Takes,
}

/// Number of places where the cost of a probe is measured; those with memory accesses are a fallback.
const MEASURED: [(Takes, usize); 2] = [(Takes::Nothing, 4), (Takes::Memory, 2)];

impl Flow {
    /// Returns the laps of the selected blocks in `counts`: each block that can have a probe begins one, and
    /// the code after a call begins another if one more call follows. `kind` describes an instruction.
    pub fn laps(&self, counts: &Counts, room: impl Fn(u64) -> Room, kind: impl Fn(u64) -> Kind) -> Vec<Lap> {
        let is_free = |insn: u32| !self.is_patched(insn) && room(self.address[insn as usize]).has_space();
        let is_call = |insn: u32| kind(self.address[insn as usize]).is_call;
        let mut all = Vec::new();
        for block in (0..self.blocks.len() as u32).filter(|block| counts.looks_at(*block)) {
            let (mut from, end) = (self.blocks[block as usize].first, self.blocks[block as usize].end);
            while let Some(begin) = (from..end).find(|insn| is_free(*insn)) {
                let call = (begin..end).find(|insn| is_call(*insn));
                let address = |insn: u32| self.address[insn as usize];
                let takes = kind(address(begin)).takes;
                let is_measured = takes < Takes::More && begin + 1 < end && is_free(begin + 1);
                all.push(Lap {
                    block,
                    begin: address(begin),
                    shown: address(call.unwrap_or(begin)),
                    second: is_measured.then(|| address(begin + 1)),
                    takes,
                });
                let Some(after) = call.map(|call| call + 1) else { break };
                if !(after..end).any(is_call) {
                    break;
                }
                from = after;
            }
        }
        self.measure_at_few(&mut all);
        all
    }

    /// Retains the second places in the most frequent blocks.
    fn measure_at_few(&self, all: &mut [Lap]) {
        let often = self.often(&self.order());
        for (takes, most) in MEASURED {
            let is_one = |lap: &Lap| lap.second.is_some() && lap.takes == takes;
            let mut measured: Vec<usize> = (0..all.len()).filter(|at| is_one(&all[*at])).collect();
            measured.sort_by(|one, other| {
                let often = |at: usize| often[all[at].block as usize];
                often(*other).total_cmp(&often(*one))
            });
            measured.into_iter().skip(most).for_each(|at| all[at].second = None);
        }
    }
}
