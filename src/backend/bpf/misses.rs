//! backend/bpf/misses.rs: the hits that the kernel ran no program for.
//!
//! A kprobe that is hit inside of another one's work is counted by kprobes. One whose program is not run because another
//! one runs on the CPU is counted by kernels since 6.7; in older ones it is a hit of the event without a run of a program,
//! which programs count themselves. The hits while the counters are read are in one of the two alone, and only ever make the
//! difference smaller.

use super::events::Hits;
use kinst_os::bpf::{Attached, Program};

/// What was counted when the session began to count, and what was lost since.
#[derive(Debug, Default)]
pub(super) struct Misses {
    before: Counts,
    lost: u64,
}

#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Counts {
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
    pub(super) fn all(&self) -> u64 {
        self.lost
    }

    pub(super) fn begin(&mut self, counts: Counts) {
        self.before = counts;
    }

    /// Counts what was lost up to now. After the events are gone it stays.
    pub(super) fn count(&mut self, counts: Counts) {
        self.lost = self.lost.max(counts.lost_since(&self.before));
    }
}

impl Counts {
    /// Reads the counts of programs at places, of those at tracepoints and functions, and of links.
    pub(super) fn read(at_places: &[Program], elsewhere: &[Program], at_functions: &[Attached]) -> Counts {
        let of = |programs: &[Program]| programs.iter().map(Program::missed).sum::<u64>();
        let refused = of(at_places);
        let elsewhere = of(elsewhere) + at_functions.iter().map(Attached::missed).sum::<u64>();
        Counts { refused, elsewhere, ..Counts::default() }
    }

    pub(super) fn of_events(self, Hits { hits, missed }: Hits) -> Counts {
        Counts { hits, missed, ..self }
    }

    pub(super) fn of_runs(self, runs: u64) -> Counts {
        Counts { runs, ..self }
    }

    /// The hits that were lost since the other counts.
    fn lost_since(&self, before: &Counts) -> u64 {
        let since = |now: u64, before: u64| now.saturating_sub(before);
        let without_run = since(self.hits, before.hits).saturating_sub(since(self.runs, before.runs));
        since(self.missed, before.missed)
            + without_run.max(since(self.refused, before.refused))
            + since(self.elsewhere, before.elsewhere)
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
