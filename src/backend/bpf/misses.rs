//! backend/bpf/misses.rs: the hits that the kernel ran no program for.
//!
//! A kprobe that is hit inside of another one's work is counted by kprobes. One whose program is not run because another
//! one runs on the CPU is counted by kernels since 6.7; in older ones it is a hit of the event without a run of a program,
//! which programs count themselves. The hits while the counters are read are in one of the two alone, and only ever make the
//! difference smaller.

use super::Session;
use crate::bpf::memory::cpu;
use crate::os::bpf::{Attached, Program};

/// What was counted when the session began to count, and what was lost since.
#[derive(Debug, Default)]
pub struct Misses {
    before: Counts,
    lost: u64,
}

#[derive(Clone, Copy, Debug, Default)]
struct Counts {
    /// By kprobes.
    missed: u64,
    /// Of the events, and the runs of programs.
    hits: u64,
    runs: u64,
    /// By BPF, at places, and at tracepoints and functions.
    refused: u64,
    elsewhere: u64,
}

impl Misses {
    pub fn all(&self) -> u64 {
        self.lost
    }
}

impl Counts {
    /// What was lost since the other counts.
    fn lost_since(&self, before: &Counts) -> u64 {
        let since = |now: u64, before: u64| now.saturating_sub(before);
        let without_run = since(self.hits, before.hits).saturating_sub(since(self.runs, before.runs));
        since(self.missed, before.missed)
            + without_run.max(since(self.refused, before.refused))
            + since(self.elsewhere, before.elsewhere)
    }
}

impl Session {
    fn counts(&self) -> Counts {
        let of = |programs: &[Program]| programs.iter().map(Program::missed).sum();
        let mut counts = Counts {
            refused: of(&self.at_places),
            elsewhere: of(&self.counted) + self.at_functions.iter().map(Attached::missed).sum::<u64>(),
            ..Counts::default()
        };
        let profile = self.tracefs.as_ref().filter(|_| !self.events.is_empty());
        if let Some(Ok(profile)) = profile.map(|tracefs| tracefs.profile()) {
            let all = profile.of(&self.events);
            (counts.hits, counts.missed) = (all.hits, all.missed);
        }
        counts
    }

    fn runs(&self) -> u64 {
        self.counters(cpu::RUNS).map(|(_, runs)| runs).sum()
    }

    /// Begins to count.
    pub(super) fn begin_to_count(&mut self) {
        let runs = self.runs();
        self.misses.before = Counts { runs, ..self.counts() };
    }

    /// Counts what was lost up to now. After the events are gone it stays.
    pub(super) fn count_misses(&mut self) {
        if self.attached.is_empty() && self.at_functions.is_empty() {
            return;
        }
        let counts = self.counts();
        let counts = Counts { runs: self.runs(), ..counts };
        self.misses.lost = self.misses.lost.max(counts.lost_since(&self.misses.before));
    }
}

#[cfg(test)]
mod tests {
    use super::Counts;

    #[test]
    fn the_greater_of_two_counts() {
        let before = Counts { missed: 1, hits: 100, runs: 90, refused: 4, elsewhere: 2 };
        let lost = |now: Counts| now.lost_since(&before);
        assert_eq!(lost(before), 0);
        assert_eq!(lost(Counts { hits: 150, runs: 130, ..before }), 10);
        assert_eq!(lost(Counts { hits: 150, runs: 130, refused: 16, missed: 3, ..before }), 14);
        assert_eq!(lost(Counts { hits: 150, runs: 145, elsewhere: 5, ..before }), 3, "read late");
    }
}
