//! backend/bpf/session.rs: an armed session: its state in mapped maps, and its services to the consumer.

use super::aggregations::Aggregations;
use super::error::{EnableError, Request, request};
use super::events::{Event, Tracefs};
use super::last_records::LastRecords;
use super::maps;
use super::misses::{Counts, Misses};
use super::ring::Ring;
use super::rounds::Rounds;
use super::speculations::Speculations;
use super::sweep::{self, Sweeper};
use super::timers::Timers;
use crate::backend::records::{Damaged, Drain};
use crate::backend::tracing::{Fired, RequestError, Tracing};
use kinst_base::uapi;
use kinst_bpf::memory::globals;
use kinst_bpf::program::{Lanes, place};
use kinst_bpf::{Home, Image, memory as layout};
use kinst_dif::Options;
use kinst_os::bpf::{self, Attached, Map};
use kinst_os::device::{Access, Mapping};
use kinst_os::perf::Clock;
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::atomic::{AtomicU64, Ordering};

/// An armed program in the kernel.
#[derive(Debug)]
pub struct Session {
    pub(super) maps: Vec<Map>,
    globals: Mapping,
    pub(super) cpus: Mapping,
    /// The places that do not share their programs.
    alone: Mapping,
    /// The words of one value of the CPUs' memory, and the CPUs that the values belong to.
    pub(super) stride: usize,
    lanes: Lanes,
    ring: Ring,
    /// With bufpolicy=ring.
    kept: Option<LastRecords>,
    speculations: Speculations,
    aggregations: Aggregations,
    pub(super) begin: Vec<bpf::Program>,
    pub(super) end: Vec<bpf::Program>,
    /// The programs at kprobe events, and the programs whose misses the kernel counts: at tracepoints and
    /// functions.
    pub(super) at_places: Vec<bpf::Program>,
    pub(super) counted: Vec<bpf::Program>,
    pub(super) attached: Vec<Attached>,
    /// The links that run programs at functions, and a description of how many of each kind there are.
    pub(super) at_functions: Vec<Attached>,
    /// The links that run programs at instructions of files; those of single instructions are slow to close.
    pub(super) at_files: Vec<Attached>,
    pub(super) at_instructions: Vec<Attached>,
    /// The same for places that fire once.
    pub(super) rounds: Rounds,
    pub(super) by: Option<String>,
    pub(super) timers: Timers,
    pub(super) tracefs: Option<Tracefs>,
    pub(super) events: Vec<Event>,
    /// The process that removes the events after the end.
    pub(super) sweeper: Option<Sweeper>,
    misses: Misses,
    /// The only CPU to trace.
    cpu: Option<u32>,
    /// The memory location of each place, with its probe.
    places: Vec<(Home, u32)>,
    /// The source of the scheduler's clock for the programs.
    pub(super) clocks: Vec<Clock>,
}

impl Session {
    pub(super) fn new(image: &Image, options: &Options) -> Result<Session, EnableError> {
        let lanes = image.lanes;
        let ring_size = maps::ring_size(options, lanes.cpus)?;
        let maps = maps::make(image, options, ring_size)?;
        maps::fill(image, &maps)?;
        let map = |which: layout::Map| maps[which as usize].as_fd();
        let stride = image.memory.size as usize / 8;
        let mapped = |which, bytes: usize| {
            let length = bytes.next_multiple_of(kinst_os::device::page_size());
            Mapping::new(map(which), length, 0, Access::ReadWrite).map_err(request(Request::Map))
        };
        let session = Session {
            globals: mapped(layout::Map::Globals, image.memory.globals_end() as usize)?,
            cpus: mapped(layout::Map::Cpus, stride * 8 * lanes.values() as usize)?,
            alone: mapped(layout::Map::Alone, image.alone.max(8) as usize)?,
            ring: Ring::new(map(layout::Map::Records), ring_size).map_err(request(Request::Map))?,
            kept: options.overwrite.then(|| LastRecords::new(options.bufsize)),
            stride,
            lanes,
            speculations: Speculations::new(options.specsize),
            aggregations: Aggregations::new(image),
            maps,
            begin: Vec::new(),
            end: Vec::new(),
            at_places: Vec::new(),
            counted: Vec::new(),
            attached: Vec::new(),
            at_functions: Vec::new(),
            at_files: Vec::new(),
            at_instructions: Vec::new(),
            rounds: Rounds::default(),
            by: None,
            timers: Timers::default(),
            tracefs: None,
            events: Vec::new(),
            sweeper: None,
            misses: Misses::default(),
            cpu: options.cpu,
            places: image.places().map(|place| (place.home, place.probe)).collect(),
            clocks: Vec::new(),
        };
        let ahead = &session.globals.words()[globals::AHEAD as usize / 8];
        ahead.store(kinst_os::clock::atomic_ahead(), Ordering::Relaxed);
        let numbers = Session::words(&session.cpus, session.stride, layout::cpu::NUMBER);
        (0..).zip(numbers).for_each(|(at, number)| number.store(at, Ordering::Relaxed));
        let numbers = Session::words(&session.cpus, session.stride, layout::cpu::CPU);
        (0..).zip(numbers).for_each(|(at, cpu)| cpu.store(lanes.cpu(at).into(), Ordering::Relaxed));
        Ok(session)
    }

    /// Returns a word of a place that does not share its program.
    pub(super) fn of_alone(&self, offset: u32, word: i16) -> Option<&AtomicU64> {
        self.alone.words().get((offset as usize + word as usize) / 8)
    }

    /// Whether a place has fired; false if it was refused.
    fn has_fired(&self, home: Home) -> bool {
        match home {
            Home::Shared(key) => {
                let entry = self.maps[layout::Map::Places as usize].lookup(&key.to_ne_bytes());
                // The places of refused probes were deleted.
                entry.is_ok_and(|entry| entry.get(place::FIRED as usize).is_some_and(|fired| *fired != 0))
            }
            Home::Alone(offset) => {
                let fired = self.of_alone(offset, place::FIRED);
                fired.is_some_and(|fired| fired.load(Ordering::Relaxed) != 0)
            }
        }
    }

    fn state(&self) -> &AtomicU64 {
        &self.globals.words()[globals::STATE as usize / 8]
    }

    /// Returns a word of each value of the CPUs' memory.
    fn words(cpus: &Mapping, stride: usize, at: i16) -> impl Iterator<Item = &AtomicU64> {
        let word = at as usize / 8;
        cpus.words().chunks_exact(stride).filter_map(move |cpu| cpu.get(word))
    }

    /// Returns a counter of each CPU.
    fn counters(&self, counter: i16) -> impl Iterator<Item = (u32, u64)> {
        let mut counts = vec![0; self.lanes.cpus as usize];
        let words = Session::words(&self.cpus, self.stride, counter);
        for (at, word) in (0..self.lanes.values()).zip(words) {
            if let Some(count) = counts.get_mut(self.lanes.cpu(at) as usize) {
                *count += word.load(Ordering::Relaxed);
            }
        }
        (0..).zip(counts)
    }

    fn release(&mut self) {
        self.attached.clear();
        self.timers.end();
        self.at_files.clear();
        self.rounds = Rounds::default();
        let slow = [&mut self.at_functions, &mut self.at_instructions].into_iter();
        sweep::let_go(slow.flat_map(std::mem::take).collect());
        let events = std::mem::take(&mut self.events);
        // Removal takes long; the sweeper starts it now.
        if self.sweeper.take().is_none()
            && let Some(tracefs) = &self.tracefs
        {
            for event in events {
                // The next session removes any event that is left.
                let _ = tracefs.remove(&event);
            }
        }
    }

    /// Moves records out of the ring if they are kept until the end. An error is the position of damage.
    fn keep(&mut self) -> Result<(), u64> {
        let Some(kept) = &mut self.kept else { return Ok(()) };
        let mut drain = Drain::default();
        let drained = self.ring.drain(&mut drain, &mut self.speculations);
        drain.records().for_each(|record| kept.add(&record));
        drained
    }

    fn run(&self, programs: &[bpf::Program]) -> Result<(), RequestError> {
        programs.iter().try_for_each(|program| {
            program.run(self.cpu).map_err(RequestError::of_kernel("BPF_PROG_TEST_RUN"))
        })
    }

    fn counts(&self) -> Counts {
        let counts = Counts::read(&self.at_places, &self.counted, &self.at_functions);
        let tracefs = self.tracefs.as_ref().filter(|_| !self.events.is_empty());
        match tracefs.map(|tracefs| tracefs.profile()) {
            Some(Ok(profile)) => counts.of_events(profile.of(&self.events)),
            _ => counts,
        }
    }

    fn runs(&self) -> u64 {
        self.counters(layout::cpu::RUNS).map(|(_, runs)| runs).sum()
    }

    fn begin_to_count(&mut self) {
        let runs = self.runs();
        self.misses.begin(self.counts().of_runs(runs));
    }

    fn count_misses(&mut self) {
        if self.attached.is_empty() && self.at_functions.is_empty() {
            return;
        }
        let counts = self.counts();
        self.misses.count(counts.of_runs(self.runs()));
    }
}

impl Tracing for Session {
    fn go(&mut self) -> Result<(), RequestError> {
        self.state().store(uapi::State::WARMUP.0.into(), Ordering::Relaxed);
        self.run(&self.begin)?;
        self.begin_to_count();
        // An exit() in BEGIN remains in effect.
        let [warmup, active] = [uapi::State::WARMUP, uapi::State::ACTIVE].map(|state| u64::from(state.0));
        let _ = self.state().compare_exchange(warmup, active, Ordering::Release, Ordering::Relaxed);
        self.timers.start().map_err(RequestError::of_kernel("perf's clocks"))
    }

    fn stop(&mut self) -> Result<(), RequestError> {
        self.state().store(uapi::State::COOLDOWN.0.into(), Ordering::Release);
        self.count_misses();
        let ended = self.run(&self.end);
        self.release();
        self.state().store(uapi::State::STOPPED.0.into(), Ordering::Release);
        ended
    }

    fn status(&mut self) -> Result<uapi::Status, RequestError> {
        self.count_misses();
        self.timers.follow(self.cpu);
        let mut rounds = std::mem::take(&mut self.rounds);
        rounds.remove(|home| self.has_fired(home));
        self.rounds = rounds;
        // Damage to the ring is reported when its records are printed.
        let _ = self.keep();
        let sum = |counter| self.counters(counter).map(|(_, value)| value).sum();
        let exit = &self.globals.words()[globals::STATUS as usize / 8];
        Ok(uapi::Status {
            state: self.state().load(Ordering::Acquire) as u32,
            exit_status: exit.load(Ordering::Relaxed) as u32,
            dyn_drops: sum(layout::cpu::VARIABLE_DROPS),
            nested: self.missed(),
            spec_drops: self.speculations.lost,
            spec_unavail: sum(layout::cpu::UNAVAILABLE),
            dblerrors: sum(layout::cpu::DOUBLE_FAULTS),
            hits: sum(layout::cpu::HITS),
            ..uapi::Status::default()
        })
    }

    fn by(&self) -> Option<&str> {
        self.by.as_deref()
    }

    fn missed(&self) -> u64 {
        self.counters(layout::cpu::NESTED).map(|(_, nested)| nested).sum::<u64>() + self.misses.all()
    }

    fn drain(&mut self, into: &mut Drain) -> Vec<Damaged> {
        let damaged = match self.kept.is_some() {
            false => self.ring.drain(into, &mut self.speculations),
            true => self.keep(),
        };
        if let Some(kept) = &mut self.kept {
            kept.give(into);
        }
        damaged.err().map(|position| Damaged { cpu: 0, position }).into_iter().collect()
    }

    fn drops(&self) -> Vec<(u32, u64)> {
        self.counters(layout::cpu::DROPS).collect()
    }

    fn aggregations(&mut self, each: &mut dyn FnMut(u32, &[u8], u64)) -> Result<(), RequestError> {
        let lost: Vec<u64> = self.counters(layout::cpu::AGGREGATION_DROPS).map(|(_, lost)| lost).collect();
        let maps = self.maps.get(layout::Map::COUNT as usize..).unwrap_or_default();
        let busy: Vec<_> = Session::words(&self.cpus, self.stride, layout::cpu::BUSY).collect();
        let half = &self.globals.words()[globals::HALF as usize / 8];
        let snapshots = self.aggregations.snapshot(maps, half, &busy);
        for ((cpu, bytes), lost) in (0..).zip(snapshots?).zip(lost) {
            each(cpu, &bytes, lost);
        }
        Ok(())
    }

    fn fired(&self, probes: usize) -> Result<Vec<Fired>, RequestError> {
        let mut fired = vec![Fired::No; probes];
        for (home, probe) in &self.places {
            if let Some(fired) = fired.get_mut(*probe as usize)
                && self.has_fired(*home)
            {
                *fired = Fired::Yes;
            }
        }
        Ok(fired)
    }

    fn readable(&self) -> BorrowedFd<'_> {
        self.maps[layout::Map::Records as usize].as_fd()
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        self.release();
    }
}
