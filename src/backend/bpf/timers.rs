//! backend/bpf/timers.rs: programs that run by clocks: on one CPU, or on each, also on one that comes while the session runs.

use super::error::{EnableError, Request, request};
use kinst_os::Errno;
use kinst_os::bpf::{self, Attached, Counted, Program};
use std::collections::{BTreeMap, BTreeSet};

#[derive(Debug, Default)]
pub(super) struct Timers {
    /// Each with its interval.
    programs: Vec<(Program, u64)>,
    /// By CPU.
    attached: BTreeMap<u32, Vec<Attached>>,
    /// Those of one CPU alone.
    ticks: Vec<Attached>,
    online: BTreeSet<u32>,
}

impl Timers {
    /// Will run a program on a CPU.
    pub(super) fn add_tick(&mut self, program: &Program, interval: u64, cpu: u32) -> Result<(), EnableError> {
        let attached = bpf::attach(program, Counted::Clock(interval), cpu);
        self.ticks.push(attached.map_err(request(Request::OpenPerfEvent))?);
        Ok(())
    }

    /// Will run a program on those of the CPUs that are there.
    pub(super) fn add_profile(
        &mut self,
        program: Program,
        interval: u64,
        cpus: impl Iterator<Item = u32>,
    ) -> Result<(), EnableError> {
        for cpu in cpus {
            match bpf::attach(&program, Counted::Clock(interval), cpu) {
                Ok(attached) => self.attached.entry(cpu).or_default().push(attached),
                // It is not there now.
                Err(Errno::NODEV) => {}
                Err(errno) => return Err(request(Request::OpenPerfEvent)(errno)),
            }
        }
        self.programs.push((program, interval));
        self.online = online();
        Ok(())
    }

    /// Begins with all intervals.
    pub(super) fn start(&self) -> Result<(), Errno> {
        self.ticks.iter().chain(self.attached.values().flatten()).try_for_each(Attached::enable)
    }

    /// Runs the programs on CPUs that have come: the clocks of one that goes stay still when it comes back.
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
