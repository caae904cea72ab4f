//! consumer/run.rs: one tracing run, from go to the last aggregation.

use super::clock::Clock;
use super::consume::Consumer;
use super::message::{Drops, Message};
use super::stream::Flushed;
use super::text;
use crate::backend::{Drain, RequestError, Tracing};
use crate::options::key;
use kinst_base::uapi;
use kinst_os::process::{self, Process};
use kinst_os::signals::Requests;
use std::io;
use std::os::fd::{AsFd as _, BorrowedFd};
use std::time::{Duration, Instant};

/// The events outside the program that end tracing, and the sinks of messages.
pub(crate) struct Watch<'a> {
    /// Becomes readable when SIGINT or SIGTERM arrives.
    pub signal: BorrowedFd<'a>,
    /// SIGHUP and SIGUSR1.
    pub requests: &'a Requests,
    /// The processes of -c and -p.
    pub processes: &'a mut [Process],
    /// Reports a one-line message.
    pub say: &'a mut dyn FnMut(&str),
    /// Reports a message that -q suppresses.
    pub notice: &'a mut dyn FnMut(&str),
    /// Runs the function that ends tracing, which takes long with many probes.
    pub stopping: &'a mut dyn FnMut(&mut dyn FnMut()),
}

#[derive(Debug, thiserror::Error)]
pub(crate) enum Error {
    #[error("processing aborted: {0}")]
    Kernel(#[from] RequestError),
    #[error("processing aborted: Abort due to systemic unresponsiveness")]
    Unresponsive,
    #[error(transparent)]
    Process(#[from] process::Error),
    #[error("failed to write the output: {0}")]
    Output(#[from] io::Error),
}

/// The interval between drains of a busy trace: each one visits all CPUs. The first record is not delayed.
const DRAIN_INTERVAL: Duration = Duration::from_millis(10);

/// Runs a trace that has begun until the program, the user or the processes end it. Returns the program's exit status.
pub(crate) fn run(
    kernel: &mut dyn Tracing,
    consumer: &mut Consumer<'_>,
    watch: &mut Watch<'_>,
) -> Result<u8, Error> {
    let mut state = State::new(consumer);
    for process in watch.processes.iter_mut() {
        process.release()?;
        wait_until_mapped(consumer, process);
    }
    loop {
        let busy = state.work(kernel, consumer, watch)?;
        if consumer.exit.is_some() || state.draining {
            break;
        }
        if state.stopped || watch.signalled() || state.serve(kernel, consumer, watch)? {
            consumer.end_of_line();
            break;
        }
        if watch.all_ended() {
            break;
        }
        state.wait(kernel, watch, consumer, busy);
    }
    state.finish(kernel, consumer, watch)?;
    Ok(consumer.exit.unwrap_or(0) as u8)
}

/// The option bufpolicy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Policy {
    /// Records are printed as they arrive.
    Switch,
    /// Tracing ends when a buffer is full; then everything is printed.
    Fill,
    /// New records replace old ones; the remaining ones are printed at the end.
    Ring,
}

/// The interval of checks for exit() and full buffers, with policies under which records do not show them.
const STATUS_INTERVAL: Duration = Duration::from_millis(100);

/// The longest interval between snapshots of aggregations whose keys contain copies of stacks. Such keys are large and
/// rarely equal before they are unwound, and unwinding needs the process to be alive.
const COPIES_INTERVAL: Duration = Duration::from_millis(50);

fn aggregation_period(consumer: &Consumer<'_>) -> Duration {
    let period = consumer.options.period(key::AGGRATE);
    if consumer.layouts.aggregates_copies() { period.min(COPIES_INTERVAL) } else { period }
}

/// Waits until a process has stopped mapping files, or has ended. The command of -c counts as started a moment before
/// its program is in memory; its libraries follow later.
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

/// The timers of a run, and the losses reported so far.
struct State {
    policy: Policy,
    drain: Drain,
    /// Records that were taken from the buffers before tracing ended, to free space for those of END.
    early: Drain,
    drops: Drops,
    next_status: Instant,
    next_aggregations: Instant,
    /// The time of the next drain, with the option switchrate.
    next_switch: Instant,
    /// Whether the kernel has stopped: END has run.
    stopped: bool,
    /// Whether exit() was called, so that STOP is due.
    draining: bool,
    /// Whether the device was readable, and no record has arrived since.
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
            early: Drain::default(),
            drops: Drops::default(),
            next_status: now + consumer.options.period(key::STATUSRATE),
            next_aggregations: now + aggregation_period(consumer),
            next_switch: now,
            stopped: false,
            draining: false,
            woken: false,
        }
    }

    /// Runs one work cycle; returns whether there were records.
    fn work(
        &mut self,
        kernel: &mut dyn Tracing,
        consumer: &mut Consumer<'_>,
        watch: &mut Watch<'_>,
    ) -> Result<bool, Error> {
        let now = Instant::now();
        consumer.clock = Clock::new();
        if now >= self.next_aggregations {
            if !consumer.aggregations.is_empty() {
                self.snapshot(kernel, consumer)?;
                consumer.switch();
            }
            // Even without aggregations: a time in the past would make the wait return at once.
            self.next_aggregations = now + aggregation_period(consumer);
        }
        let due = self.is_prompt(consumer) || (self.policy == Policy::Switch && now >= self.next_switch);
        let busy = due && self.print(kernel, consumer, watch)? && self.is_prompt(consumer);
        self.next_switch = match due {
            true => now + consumer.options.period(key::SWITCHRATE),
            false => self.next_switch,
        };
        self.woken &= !busy;
        if now >= self.next_status {
            self.status(kernel, consumer)?;
            let period = consumer.options.period(key::STATUSRATE);
            self.next_status =
                now + if self.policy == Policy::Switch { period } else { period.min(STATUS_INTERVAL) };
        }
        self.flush(kernel, consumer, watch)?;
        Ok(busy)
    }

    /// Whether records are read as soon as they arrive.
    fn is_prompt(&self, consumer: &Consumer<'_>) -> bool {
        self.policy == Policy::Switch && !consumer.options.is_set(key::SWITCHRATE)
    }

    /// Writes all output. While a reader does not read, the kernel continues and counts the records that do not fit
    /// its buffers. A signal ends tracing; then the rest is written, however long that takes. A second signal ends the
    /// process.
    fn flush(
        &mut self,
        kernel: &mut dyn Tracing,
        consumer: &mut Consumer<'_>,
        watch: &mut Watch<'_>,
    ) -> Result<(), Error> {
        loop {
            match consumer.flush(watch.say)? {
                Flushed::All => return Ok(()),
                // The kernel kills a session that makes no requests.
                Flushed::Slow => drop(kernel.status()?),
                Flushed::Interrupted => {
                    consumer.sink.patience.without_signal();
                    let damaged = kernel.drain(&mut self.early);
                    consumer
                        .messages
                        .extend(damaged.iter().map(|damage| Message::problem(damage.to_string())));
                    self.stop(kernel, consumer, watch)?;
                    (watch.say)(
                        "tracing has ended; output waits for its reader, and a second signal discards it",
                    );
                }
            }
        }
    }

    /// Ends tracing in the kernel, once.
    fn stop(
        &mut self,
        kernel: &mut dyn Tracing,
        consumer: &mut Consumer<'_>,
        watch: &mut Watch<'_>,
    ) -> Result<(), Error> {
        if std::mem::replace(&mut self.stopped, true) {
            return Ok(());
        }
        consumer.end(kinst_os::monotonic());
        let mut stopped = Ok(());
        (watch.stopping)(&mut || stopped = kernel.stop());
        Ok(stopped?)
    }

    /// Handles the requests of signals; returns whether tracing is to end.
    fn serve(
        &mut self,
        kernel: &mut dyn Tracing,
        consumer: &mut Consumer<'_>,
        watch: &mut Watch<'_>,
    ) -> Result<bool, Error> {
        let asked = watch.requests.take();
        if asked.renew {
            consumer.renew_files();
        }
        if asked.show {
            self.snapshot(kernel, consumer)?;
            consumer.show_aggregations();
            self.flush(kernel, consumer, watch)?;
        }
        Ok(asked.end)
    }

    fn print(
        &mut self,
        kernel: &mut dyn Tracing,
        consumer: &mut Consumer<'_>,
        watch: &mut Watch<'_>,
    ) -> Result<bool, Error> {
        self.drain.clear();
        std::mem::swap(&mut self.drain, &mut self.early);
        let damaged = kernel.drain(&mut self.drain);
        consumer.messages.extend(damaged.iter().map(|damage| Message::problem(damage.to_string())));
        self.drain.sort();
        if self.drain.records().any(|record| consumer.needs_aggregations(&record)) {
            self.snapshot(kernel, consumer)?;
        }
        consumer.symbols.look_at_modules();
        let drain = std::mem::take(&mut self.drain);
        for record in drain.records() {
            consumer.record(&record);
            if consumer.is_full() {
                self.flush(kernel, consumer, watch)?;
            }
        }
        self.drain = drain;
        Ok(!self.drain.is_empty())
    }

    fn snapshot(&mut self, kernel: &mut dyn Tracing, consumer: &mut Consumer<'_>) -> Result<(), Error> {
        let tags = consumer.options.flag(key::DROPTAGS);
        let Consumer { aggregations, messages, layouts, symbols, options, places, .. } = consumer;
        let meaning = |address| places.of_key(address, *symbols);
        let naming = text::naming(*symbols, options, &meaning);
        symbols.look_at_modules();
        kernel.aggregations(&mut |cpu, bytes, lost| {
            aggregations.absorb(bytes, layouts, naming);
            messages.extend(self.drops.aggregation(cpu, lost, tags));
        })?;
        Ok(())
    }

    fn status(&mut self, kernel: &mut dyn Tracing, consumer: &mut Consumer<'_>) -> Result<(), Error> {
        let tags = consumer.options.flag(key::DROPTAGS);
        let status = kernel.status()?;
        consumer.messages.extend(self.drops.status(&status, tags));
        consumer.messages.extend(self.drops.missed(kernel.missed(), tags));
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
    fn wait(&mut self, kernel: &dyn Tracing, watch: &Watch<'_>, consumer: &Consumer<'_>, busy: bool) {
        let prompt = self.is_prompt(consumer);
        let mut until = self.next_status.min(self.next_aggregations);
        if self.policy == Policy::Switch && !prompt {
            until = until.min(self.next_switch);
        }
        let mut timeout = until.saturating_duration_since(Instant::now());
        let mut fds = vec![watch.signal, watch.requests.as_fd()];
        fds.extend(watch.processes.iter().map(|process| process.as_fd()));
        if busy {
            timeout = timeout.min(DRAIN_INTERVAL);
        } else if prompt {
            fds.push(kernel.readable());
        }
        let readable = kinst_os::wait(&fds, timeout).pop();
        let readable = !busy && prompt && readable == Some(true);
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
            // Free space for the records of END.
            self.print(kernel, consumer, watch)?;
        }
        self.stop(kernel, consumer, watch)?;
        self.print(kernel, consumer, watch)?;
        self.snapshot(kernel, consumer)?;
        self.status(kernel, consumer)?;
        consumer.end_of_line();
        consumer.finish(watch.notice);
        self.flush(kernel, consumer, watch)?;
        consumer.take_notes(true);
        self.flush(kernel, consumer, watch)
    }
}

impl Watch<'_> {
    fn signalled(&self) -> bool {
        kinst_os::is_readable(self.signal)
    }

    /// Whether all watched processes have ended; false without any.
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
