//! os/perf.rs: perf events, and the scheduler's clock, which they report.

use super::device::{Access, Mapping, page_size};
use rustix::io::Errno;
use std::os::fd::{AsFd as _, AsRawFd as _, FromRawFd as _, OwnedFd};
use std::sync::atomic::Ordering;

/// An event on one CPU. Its enabled time is counted by the scheduler's accounting clock.
#[derive(Debug)]
pub struct Clock {
    event: OwnedFd,
    /// Samples, until one has been read.
    samples: Option<Mapping>,
}

/// PERF_TYPE_SOFTWARE.
pub const SOFTWARE: u32 = 1;
/// PERF_TYPE_TRACEPOINT.
pub const TRACEPOINT: u32 = 2;
/// PERF_COUNT_SW_CPU_CLOCK.
pub const CPU_CLOCK: u64 = 0;

/// `struct perf_event_attr`, in its second version.
#[repr(C)]
#[derive(Default)]
pub struct Attribute {
    kind: u32,
    size: u32,
    config: u64,
    period: u64,
    sample: u64,
    read: u64,
    flags: u64,
    wakeup: u32,
    breakpoint: u32,
    config1: u64,
    config2: u64,
}

/// A sample contains the time by that clock, and how long the event has been enabled.
const SAMPLE: u64 = 1 << 2 | 1 << 4;
const ENABLED: u64 = 1;
/// Nanoseconds between two samples: until the first one, and afterwards.
const SOON: u64 = 1_000_000;
const NEVER: u64 = 1 << 60;

impl Attribute {
    /// Takes a type (PERF_TYPE_*), an event of that type, and the sampling period: for a clock, in
    /// nanoseconds.
    pub fn new(kind: u32, config: u64, period: u64) -> Attribute {
        Attribute { kind, size: size_of::<Attribute>() as u32, config, period, ..Attribute::default() }
    }

    /// The same event, with the two words that some types have in addition.
    pub(super) fn with(self, config1: u64, config2: u64) -> Attribute {
        Attribute { config1, config2, ..self }
    }

    /// The same event, not counting before it is enabled.
    pub fn disabled(self) -> Attribute {
        Attribute { flags: 1, ..self }
    }

    /// Opens the event for all processes on a CPU.
    pub fn open(self, cpu: u32) -> Result<OwnedFd, Errno> {
        const EVERYONE: i32 = -1;
        self.open_at(EVERYONE, cpu as i32)
    }

    /// Opens the event for one process on all CPUs.
    pub(crate) fn open_in(self, process: u32) -> Result<OwnedFd, Errno> {
        const ALL: i32 = -1;
        self.open_at(i32::try_from(process).map_err(|_| Errno::SRCH)?, ALL)
    }

    fn open_at(mut self, process: i32, cpu: i32) -> Result<OwnedFd, Errno> {
        const CLOSE_ON_EXEC: u64 = 8;
        let no_group = -1;
        // SAFETY: the kernel reads the attribute, which contains its size.
        let opened = unsafe {
            let attribute = &raw mut self;
            libc::syscall(libc::SYS_perf_event_open, attribute, process, cpu, no_group, CLOSE_ON_EXEC)
        };
        if opened < 0 {
            let error = std::io::Error::last_os_error();
            return Err(Errno::from_io_error(&error).unwrap_or(Errno::INVAL));
        }
        // SAFETY: the kernel has just created it, and nothing else has it.
        Ok(unsafe { OwnedFd::from_raw_fd(opened as i32) })
    }
}

impl Clock {
    /// Opens the clock of a CPU. Errors are those of perf_event_open and mmap.
    pub fn new(cpu: u32) -> Result<Clock, Errno> {
        let attribute =
            Attribute { sample: SAMPLE, read: ENABLED, ..Attribute::new(SOFTWARE, CPU_CLOCK, SOON) };
        let event = attribute.open(cpu)?;
        let samples = Mapping::new(event.as_fd(), 2 * page_size(), 0, Access::ReadWrite)?;
        Ok(Clock { event, samples: Some(samples) })
    }

    /// Returns how far the clock is ahead of the event's enabled time, as soon as that is known.
    pub fn ahead(&mut self) -> Option<u64> {
        const HEAD: usize = 1024 / 8;
        let words = self.samples.as_ref()?.words();
        // Pairs with the kernel's barrier before its store.
        let head = words.get(HEAD)?.load(Ordering::Acquire) as usize / 8;
        let record = |at: usize| words.get(page_size() / 8 + at).map(|word| word.load(Ordering::Relaxed));
        let mut at = 0;
        while at < head {
            let header = record(at)?;
            // The kind of the record is in the first 4 bytes, its size in the last 2.
            const IS_SAMPLE: u32 = 9;
            if header as u32 == IS_SAMPLE {
                let (time, enabled) = (record(at + 1)?, record(at + 3)?);
                self.settle();
                return Some(time.wrapping_sub(enabled));
            }
            at += ((header >> 48) as usize / 8).max(1);
        }
        None
    }

    /// Stops the samples, as far as possible.
    fn settle(&mut self) {
        const PERIOD: u64 = 0x4008_2404;
        let never = NEVER;
        self.samples = None;
        // SAFETY: the request reads an integer. If it fails, samples have nowhere to go.
        unsafe { libc::ioctl(self.event.as_raw_fd(), PERIOD, &raw const never) };
    }

    /// The event's descriptor, for a map of events.
    pub fn number(&self) -> u32 {
        self.event.as_raw_fd() as u32
    }
}
