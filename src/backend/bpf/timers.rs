//! backend/bpf/timers.rs: programs run by clocks: on one CPU, or on each CPU, even if it comes online later.

use super::error::{EnableError, Request, request};
use kinst_os::Errno;
use kinst_os::bpf::{self, Attached, Counted, Program};
use std::collections::{BTreeMap, BTreeSet};

#[derive(Debug, Default)]
pub(super) struct Timers {
    /// Each program with its interval.
    programs: Vec<(Program, u64)>,
    /// The links by CPU.
    attached: BTreeMap<u32, Vec<Attached>>,
    /// The links of programs on only one CPU.
    ticks: Vec<Attached>,
    online: BTreeSet<u32>,
}

impl Timers {
    /// Adds a program to run on one CPU.
    pub(super) fn add_tick(&mut self, program: &Program, interval: u64, cpu: u32) -> Result<(), EnableError> {
        let attached = bpf::attach(program, Counted::Clock(interval), cpu);
        self.ticks.push(attached.map_err(request(Request::OpenPerfEvent))?);
        Ok(())
    }

    /// Adds a program to run on each of the CPUs that is online.
    pub(super) fn add_profile(
        &mut self,
        program: Program,
        interval: u64,
        cpus: impl Iterator<Item = u32>,
    ) -> Result<(), EnableError> {
        for cpu in cpus {
            match bpf::attach(&program, Counted::Clock(interval), cpu) {
                Ok(attached) => self.attached.entry(cpu).or_default().push(attached),
                // The CPU is offline now.
                Err(Errno::NODEV) => {}
                Err(errno) => return Err(request(Request::OpenPerfEvent)(errno)),
            }
        }
        self.programs.push((program, interval));
        self.online = online();
        Ok(())
    }

    /// Starts all clocks.
    pub(super) fn start(&self) -> Result<(), Errno> {
        self.ticks.iter().chain(self.attached.values().flatten()).try_for_each(Attached::enable)
    }

    /// Runs the programs on new CPUs; the old clocks of a CPU do not resume when it comes back online.
    pub(super) fn follow(&mut self, only: Option<u32>) {
        if self.programs.is_empty() {
            return;
        }
        let before = std::mem::replace(&mut self.online, online());
        for cpu in self.online.difference(&before).filter(|cpu| only.is_none_or(|only| only == **cpu)) {
            let start = |(program, interval): &(Program, u64)| {
                let attached = bpf::attach(program, Counted::Clock(*interval), *cpu).ok()?;
                attached.enable().is_ok().then_some(attached)
            };
            self.attached.insert(*cpu, self.programs.iter().filter_map(start).collect());
        }
    }

    pub(super) fn end(&mut self) {
        self.attached.clear();
        self.ticks.clear();
        self.programs.clear();
    }
}

fn online() -> BTreeSet<u32> {
    kinst_os::cpus("online").unwrap_or_default()
}
