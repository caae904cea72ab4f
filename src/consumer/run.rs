//! consumer/run.rs: one tracing run, from go to the last aggregation.

use super::message::Drops;
use super::text::Consumer;
use crate::driver::Error as DriverError;
use crate::driver::buffer::Drain;
use crate::driver::session::Tracing;
use crate::options::key;
use crate::os;
use crate::os::process::{self, Process};
use crate::uapi;
use std::io;
use std::os::fd::{AsFd as _, BorrowedFd};
use std::time::{Duration, Instant};

/// What ends the tracing, besides the program itself, and where messages go.
pub struct Watch<'a> {
    /// Becomes readable when SIGINT or SIGTERM arrives.
    pub signal: BorrowedFd<'a>,
    /// The processes of -c and -p.
    pub processes: &'a mut [Process],
    /// Reports a message of one line.
    pub say: &'a mut dyn FnMut(&str),
    /// Reports a message that a quiet run leaves out.
    pub notice: &'a mut dyn FnMut(&str),
    /// Calls what ends tracing, which takes long where there are many probes.
    pub stopping: &'a mut dyn FnMut(&mut dyn FnMut()),
}

#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("could not enable tracing: {0}")]
    Go(DriverError),
    #[error("processing aborted: {0}")]
    Kernel(#[from] DriverError),
    #[error("processing aborted: Abort due to systemic unresponsiveness")]
    Unresponsive,
    #[error(transparent)]
    Process(#[from] process::Error),
    #[error("failed to write the output: {0}")]
    Output(#[from] io::Error),
}

/// The time between two drains of a busy trace: each costs a round over all CPUs. The first record is not delayed.
const DRAIN_INTERVAL: Duration = Duration::from_millis(10);

/// Traces until the program, the user or the processes end it. Returns the program's exit status.
pub fn run(
    kernel: &mut dyn Tracing,
    consumer: &mut Consumer<'_>,
    watch: &mut Watch<'_>,
) -> Result<u8, Error> {
    kernel.go().map_err(Error::Go)?;
    let mut state = State::new(consumer);
    for process in watch.processes.iter_mut() {
        process.release()?;
        wait_until_mapped(consumer, process);
    }
    loop {
        let busy = state.work(kernel, consumer, watch.say)?;
        if consumer.exit.is_some() || state.draining {
            break;
        }
        if watch.signalled() {
            consumer.sink.text.str("\n");
            break;
        }
        if watch.all_ended() {
            break;
        }
        state.wait(kernel, watch, busy);
    }
    state.finish(kernel, consumer, watch)?;
    Ok(consumer.exit.unwrap_or(0) as u8)
}

/// The option bufpolicy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Policy {
    /// Records are printed as they come.
    Switch,
    /// Tracing ends when a buffer is full; then everything is printed.
    Fill,
    /// New records replace old ones; the remaining ones are printed at the end.
    Ring,
}

/// The interval for checking for exit() and full buffers where records do not show them.
const STATUS_INTERVAL: Duration = Duration::from_millis(100);

/// Waits until a process stops mapping files, or has ended. The command of -c counts as started a moment before its
/// program is in memory, and its libraries follow later.
fn wait_until_mapped(consumer: &Consumer<'_>, process: &Process) {
    const TRIES: u32 = 20;
    const SETTLED: u32 = 3;
    let (mut files, mut same) = (0, 0);
    for _ in 0..TRIES {
        let found = consumer.symbols.look(process.pid.into());
        same = if found == files { same + 1 } else { 0 };
        if files > 0 && (found < files || same == SETTLED) {
            return;
        }
        files = found;
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// The timers of a run, and the losses reported.
struct State {
    policy: Policy,
    drain: Drain,
    drops: Drops,
    next_status: Instant,
    next_aggregations: Instant,
    /// Whether exit() was called, so that STOP is due.
    draining: bool,
    /// Whether the device was readable, and no record has come since.
    woken: bool,
}

impl State {
    fn new(consumer: &Consumer<'_>) -> State {
        let now = Instant::now();
        State {
            policy: match consumer.options.text(key::BUFPOLICY) {
                Some("fill") => Policy::Fill,
                Some("ring") => Policy::Ring,
                _ => Policy::Switch,
            },
            drain: Drain::default(),
            drops: Drops::default(),
            next_status: now + consumer.options.period(key::STATUSRATE),
            next_aggregations: now + consumer.options.period(key::AGGRATE),
            draining: false,
            woken: false,
        }
    }

    /// Runs one work cycle; returns whether there were records.
    fn work(
        &mut self,
        kernel: &mut dyn Tracing,
        consumer: &mut Consumer<'_>,
        say: &mut dyn FnMut(&str),
    ) -> Result<bool, Error> {
        let now = Instant::now();
        if now >= self.next_aggregations {
            if !consumer.aggregations.is_empty() {
                self.snapshot(kernel, consumer)?;
            }
            // Even without aggregations: a time in the past would make the wait return at once.
            self.next_aggregations = now + consumer.options.period(key::AGGRATE);
        }
        let busy = self.policy == Policy::Switch && self.print(kernel, consumer)?;
        self.woken &= !busy;
        if now >= self.next_status {
            self.status(kernel, consumer)?;
            let period = consumer.options.period(key::STATUSRATE);
            self.next_status =
                now + if self.policy == Policy::Switch { period } else { period.min(STATUS_INTERVAL) };
        }
        // Messages refer to output before them.
        consumer.sink.flush()?;
        consumer.messages.drain(..).for_each(|message| say(&message));
        Ok(busy)
    }

    fn print(&mut self, kernel: &mut dyn Tracing, consumer: &mut Consumer<'_>) -> Result<bool, Error> {
        self.drain.clear();
        let damaged = kernel.drain(&mut self.drain);
        consumer.messages.extend(damaged.iter().map(ToString::to_string));
        self.drain.sort();
        if self.drain.records().any(|record| consumer.needs_aggregations(&record)) {
            self.snapshot(kernel, consumer)?;
        }
        self.drain.records().for_each(|record| consumer.record(&record));
        Ok(!self.drain.is_empty())
    }

    fn snapshot(&mut self, kernel: &mut dyn Tracing, consumer: &mut Consumer<'_>) -> Result<(), Error> {
        let tags = consumer.options.flag(key::DROPTAGS);
        let Consumer { aggregations, messages, layouts, symbols, .. } = consumer;
        kernel.aggregations(&mut |cpu, bytes, lost| {
            aggregations.absorb(bytes, layouts, *symbols);
            messages.extend(self.drops.aggregation(cpu, lost, tags));
        })?;
        Ok(())
    }

    fn status(&mut self, kernel: &mut dyn Tracing, consumer: &mut Consumer<'_>) -> Result<(), Error> {
        let tags = consumer.options.flag(key::DROPTAGS);
        let status = kernel.status()?;
        consumer.messages.extend(self.drops.status(&status, tags));
        for (cpu, lost) in kernel.drops() {
            if self.policy == Policy::Fill {
                self.draining |= lost > 0;
                continue;
            }
            consumer.messages.extend(self.drops.principal(cpu, lost, tags));
        }
        match uapi::State(status.state) {
            uapi::State::KILLED => return Err(Error::Unresponsive),
            uapi::State::DRAINING => {
                self.draining = true;
                consumer.exit.get_or_insert(status.exit_status);
            }
            _ => {}
        }
        Ok(())
    }

    /// Waits until there is something to do. The device stays readable once the state is DRAINING, so a cycle that
    /// finds no record after a wake-up checks the state.
    fn wait(&mut self, kernel: &dyn Tracing, watch: &Watch<'_>, busy: bool) {
        let until = self.next_status.min(self.next_aggregations);
        let mut timeout = until.saturating_duration_since(Instant::now());
        let mut fds = vec![watch.signal];
        fds.extend(watch.processes.iter().map(|process| process.as_fd()));
        if busy {
            timeout = timeout.min(DRAIN_INTERVAL);
        } else if self.policy == Policy::Switch {
            fds.push(kernel.readable());
        }
        let readable = os::wait(&fds, timeout).pop();
        let readable = !busy && self.policy == Policy::Switch && readable == Some(true);
        if readable && std::mem::replace(&mut self.woken, true) {
            self.next_status = Instant::now();
        }
    }

    /// Runs END and prints the last records, losses and aggregations.
    fn finish(
        &mut self,
        kernel: &mut dyn Tracing,
        consumer: &mut Consumer<'_>,
        watch: &mut Watch<'_>,
    ) -> Result<(), Error> {
        if self.policy == Policy::Fill {
            // Make room for the records of END.
            self.print(kernel, consumer)?;
        }
        let mut stopped = Ok(());
        (watch.stopping)(&mut || stopped = kernel.stop());
        stopped?;
        self.print(kernel, consumer)?;
        self.snapshot(kernel, consumer)?;
        self.status(kernel, consumer)?;
        consumer.sink.text.str("\n");
        consumer.finish();
        consumer.sink.flush()?;
        consumer.messages.drain(..).for_each(|message| (watch.say)(&message));
        Ok(())
    }
}

impl Watch<'_> {
    fn signalled(&self) -> bool {
        os::is_readable(self.signal)
    }

    /// Whether all processes have ended; false if there are none to watch.
    fn all_ended(&mut self) -> bool {
        if self.processes.is_empty() {
            return false;
        }
        let ended: Vec<_> = self.processes.iter_mut().map(Process::ended).collect();
        if ended.iter().any(Option::is_none) {
            return false;
        }
        for ended in ended.into_iter().flatten() {
            let how = ended.how.unwrap_or_else(|| "has exited".to_owned());
            (self.notice)(&format!("pid {} {how}", ended.pid));
        }
        true
    }
}
