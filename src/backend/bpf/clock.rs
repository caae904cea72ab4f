//! backend/bpf/clock.rs: per-CPU data for programs: the scheduler's clock, and where interrupts are counted.

use super::error::{EnableError, ProgramError, Request, request};
use kinst_bpf::memory::cpu;
use kinst_bpf::program::Lanes;
use kinst_os::Errno;
use kinst_os::bpf::Map;
use kinst_os::device::Mapping;
use kinst_os::perf::Clock;
use kinst_sites::Spots;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

/// The addresses of per-CPU variables, as for a CPU whose per-CPU offset is 0.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Variables {
    pub interrupts: Option<u64>,
    pub irq_time: Option<u64>,
}

/// The memory of all CPUs.
pub(super) struct Cpus<'a> {
    pub memory: &'a Mapping,
    /// The words of one CPU's part.
    pub stride: usize,
    pub lanes: Lanes,
}

impl Cpus<'_> {
    fn set(&self, cpu: u32, at: i16, value: u64) {
        for lane in (cpu..self.lanes.values()).step_by(self.lanes.cpus as usize) {
            if let Some(word) = self.memory.words().get(lane as usize * self.stride + at as usize / 8) {
                word.store(value, Ordering::Release);
            }
        }
    }

    /// Writes the address of each CPU's instance of the variables.
    pub(super) fn place(&self, variables: Variables, symbols: &dyn Spots) -> Option<()> {
        let wanted = [(cpu::INTERRUPTS, variables.interrupts), (cpu::IRQ_TIME, variables.irq_time)];
        if wanted.iter().all(|(_, variable)| variable.is_none()) {
            return Some(());
        }
        let table = symbols.symbol("__per_cpu_offset")?;
        let offsets = symbols.bytes(table, 8 * self.lanes.cpus as usize)?;
        for (cpu, offset) in (0..).zip(offsets.chunks_exact(8)) {
            let offset = u64::from_ne_bytes(offset.try_into().ok()?);
            for (at, variable) in wanted {
                if let Some(variable) = variable {
                    self.set(cpu, at, variable.wrapping_add(offset));
                }
            }
        }
        Some(())
    }

    /// Starts the clock of each online CPU, for the programs that use the map.
    pub(super) fn start(&self, map: &Map) -> Result<Vec<Clock>, EnableError> {
        const PATIENCE: Duration = Duration::from_secs(1);
        let mut clocks = Vec::new();
        for cpu in 0..self.lanes.cpus {
            match Clock::new(cpu) {
                Ok(clock) => clocks.push((cpu, clock)),
                Err(Errno::NODEV) => {}
                Err(errno) => return Err(request(Request::OpenPerfEvent)(errno)),
            }
        }
        let begun = Instant::now();
        let mut waiting: Vec<_> = clocks.iter_mut().map(|(cpu, clock)| (*cpu, clock)).collect();
        while !waiting.is_empty() && begun.elapsed() < PATIENCE {
            std::thread::sleep(Duration::from_millis(1));
            let mut left = Vec::new();
            for (cpu, clock) in waiting {
                let Some(ahead) = clock.ahead() else {
                    left.push((cpu, clock));
                    continue;
                };
                self.set(cpu, cpu::CLOCK, ahead);
                let event = clock.number().to_ne_bytes();
                map.update(&cpu.to_ne_bytes(), &event).map_err(request(Request::UpdateMap))?;
            }
            waiting = left;
        }
        if !waiting.is_empty() {
            return Err(ProgramError::NoClock.into());
        }
        Ok(clocks.into_iter().map(|(_, clock)| clock).collect())
    }
}
