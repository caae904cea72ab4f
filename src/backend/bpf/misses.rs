//! backend/bpf/misses.rs: the hits for which the kernel did not run a program.
//!
//! Kprobes count a hit while another kprobe is being handled. Since 6.7, the kernel counts a program that
//! is skipped because another one runs on the CPU; older kernels count it as a hit of the event without a
//! run of a program, and the programs count their runs. Hits during the reading of the counters appear in
//! only one of the two, and can only make the difference smaller.

use super::events::Hits;
use kinst_os::bpf::{Attached, Program};

/// The counts when the session began to count, and the losses since.
#[derive(Debug, Default)]
pub(super) struct Misses {
    before: Counts,
    lost: u64,
}

#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Counts {
    /// Counted by kprobes.
    missed: u64,
    /// The hits of events, and the runs of programs.
    hits: u64,
    runs: u64,
    /// Counted by BPF: at places, and at tracepoints and functions.
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

    /// Counts the losses so far. After the events are removed, the result stays.
    pub(super) fn count(&mut self, counts: Counts) {
        self.lost = self.lost.max(counts.lost_since(&self.before));
    }
}

impl Counts {
    /// Reads the counts of programs at places, of programs at tracepoints and functions, and of links.
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

    /// The hits lost between two counts.
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
