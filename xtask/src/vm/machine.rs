//! One QEMU with a guest: starting it, running scripts in it, watching it, ending it.

use std::collections::BTreeSet;
use std::fs::File;
use std::io::Write;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::Child;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};

use crate::pace;
use crate::vm::klog::{KernelLog, Trouble};
use crate::vm::launch::{self, Config, Event, Stream};
use crate::vm::stream::Marked;

/// The time from power-on to the guest's first line. A loaded host is slow.
const BOOT_LIMIT: Duration = Duration::from_secs(90);
/// How often a guest that runs something must give a sign of life, and how late that may be.
const PULSE: Duration = Duration::from_secs(10);
const PULSE_LIMIT: Duration = Duration::from_secs(60);
/// The time limit for the rest of a dying kernel's log.
const LAST_WORDS: Duration = Duration::from_secs(3);
/// The time limit for the mark of a run's end in the log, after the run's status.
const LAST_MARK: Duration = Duration::from_secs(10);

/// How a run ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum End {
    /// The command ended with this status.
    Exit(i32),
    /// The time was up, and the guest was still alive.
    TimeOut,
    /// The guest no longer answers.
    Hang,
    /// The kernel died, or QEMU ended.
    Crash,
}

/// The receiver of a run's output.
pub(crate) trait Sink {
    fn out(&mut self, bytes: &[u8]);
    fn err(&mut self, bytes: &[u8]);

    /// Whether the run should end now, as if its time were up: called repeatedly, with or without output.
    fn gives_up(&mut self, _log: &KernelLog) -> bool {
        false
    }
}

/// All of the output.
#[derive(Default)]
pub(crate) struct Captured {
    pub out: Vec<u8>,
    pub err: Vec<u8>,
}

impl Sink for Captured {
    fn out(&mut self, bytes: &[u8]) {
        self.out.extend_from_slice(bytes);
    }

    fn err(&mut self, bytes: &[u8]) {
        self.err.extend_from_slice(bytes);
    }
}

pub(crate) struct Machine {
    child: Child,
    events: Receiver<Event>,
    pulse: UnixStream,
    control: UnixStream,
    monitor: UnixStream,
    control_text: String,
    pub log: KernelLog,
    /// The position in the log at which the latest run began.
    pub run_start: usize,
    mark: String,
    slowness: u32,
    /// The initramfs, which must live as long as QEMU may read it.
    _initramfs: File,
}

impl Machine {
    /// Starts a guest and waits until it accepts commands.
    pub(crate) fn boot(config: &Config) -> Result<Machine> {
        let mut machine = Machine::start(config)?;
        let begin = Instant::now();
        let limit = pace::limit(BOOT_LIMIT * config.slowness);
        let deadline = begin + limit;
        loop {
            if let Some(line) = machine.control_line() {
                if line == "ready" {
                    pace::booted(begin.elapsed() / config.slowness);
                    return Ok(machine);
                }
                machine.drain_log(Duration::from_millis(200));
                let what = line.strip_prefix("failed ").unwrap_or(&line);
                bail!("the guest cannot start: {what}\n{}", machine.log.excerpt(0, 80));
            }
            machine.take_until(Instant::now() + Duration::from_millis(200), &mut Discard);
            let ended = machine.child.try_wait()?;
            if ended.is_some() || machine.log.worst(0) == Some(Trouble::Fatal) || Instant::now() > deadline {
                machine.drain_log(LAST_WORDS);
                let why = match ended {
                    Some(status) => format!("QEMU ended with {status} before the guest was up"),
                    None if machine.log.worst(0) == Some(Trouble::Fatal) => "the kernel died at boot".into(),
                    None => format!("the guest was not up after {} s", limit.as_secs()),
                };
                bail!("{why}\n{}", machine.log.excerpt(0, 80));
            }
        }
    }

    fn start(config: &Config) -> Result<Machine> {
        let log = KernelLog::new(&config.log)?;
        let started = launch::start(config)?;
        let connections = started.streams;
        let take = |stream: Stream| connections[stream as usize].try_clone();
        Ok(Machine {
            child: started.child,
            events: started.events,
            pulse: take(Stream::Pulse)?,
            control: take(Stream::Control)?,
            monitor: take(Stream::Monitor)?,
            control_text: String::new(),
            log,
            run_start: 0,
            mark: config.mark.clone(),
            slowness: config.slowness,
            _initramfs: started.initramfs,
        })
    }

    /// Runs script number `id` of the guest, passing its output on.
    pub(crate) fn run(&mut self, id: usize, limit: Duration, sink: &mut dyn Sink) -> Result<End> {
        let from = self.log.position();
        self.run_start = from;
        let mut run = Run::new(&self.mark, sink);
        let deadline = Instant::now() + limit;
        let (mut next_pulse, mut last_sign) = (Instant::now() + PULSE, Instant::now());
        let mut ended = None;
        writeln!(self.control, "run {id}")?;
        loop {
            if self.take_until(deadline.min(next_pulse), &mut run) {
                last_sign = Instant::now();
            }
            while let Some(line) = self.control_line() {
                if let Some(status) = line.strip_prefix(&format!("exit {id} ")) {
                    run.status = Some(
                        status
                            .trim()
                            .parse()
                            .with_context(|| format!("unexpected status of the guest: {line:?}"))?,
                    );
                }
            }
            if let (Some(status), true) = (run.status, run.is_drained()) {
                // The mark in the kernel's log shows that all earlier lines have arrived. The serial port may lose
                // a byte of it.
                let since = *ended.get_or_insert_with(Instant::now);
                let logged = self.log.has(from, &format!("kinst-vm: end {id}"));
                if logged || since.elapsed() > pace::limit(LAST_MARK) {
                    return Ok(End::Exit(status));
                }
            }
            let gone = self.child.try_wait()?.is_some();
            if gone || self.log.worst(from) == Some(Trouble::Fatal) {
                self.take_all(LAST_WORDS, &mut run);
                run.flush();
                return Ok(End::Crash);
            }
            let now = Instant::now();
            if now >= deadline || run.sink.gives_up(&self.log) {
                run.flush();
                let alive = self.ask_for_stacks();
                return Ok(if alive { End::TimeOut } else { End::Hang });
            }
            if now >= last_sign + pace::limit(PULSE_LIMIT * self.slowness) {
                run.flush();
                return Ok(End::Hang);
            }
            if now >= next_pulse {
                next_pulse = now + PULSE;
                let _ = writeln!(self.pulse, "ping {id}");
            }
        }
    }

    /// Takes events until `deadline`, or until one has arrived. Returns whether one was a sign of life.
    fn take_until(&mut self, deadline: Instant, taker: &mut dyn Taker) -> bool {
        let wait = deadline.saturating_duration_since(Instant::now()).min(Duration::from_millis(500));
        match self.events.recv_timeout(wait) {
            Ok(event) => self.take(event, taker),
            Err(RecvTimeoutError::Timeout) => false,
            Err(RecvTimeoutError::Disconnected) => {
                // QEMU has closed every stream; its exit status comes next.
                std::thread::sleep(Duration::from_millis(20));
                false
            }
        }
    }

    fn take(&mut self, event: Event, taker: &mut dyn Taker) -> bool {
        let bytes = &event.bytes;
        match event.stream {
            Stream::Log => self.log.push(bytes),
            Stream::Out => taker.out(bytes),
            Stream::Err => taker.err(bytes),
            Stream::Pulse => {}
            Stream::Control => self.control_text.push_str(&String::from_utf8_lossy(bytes)),
            Stream::Monitor => taker.monitor(bytes),
        }
        // QEMU's own output says nothing about the guest.
        event.stream != Stream::Monitor
    }

    /// Takes events until none has arrived for a while.
    fn take_all(&mut self, limit: Duration, taker: &mut dyn Taker) {
        let deadline = Instant::now() + limit;
        while let Some(left) = deadline.checked_duration_since(Instant::now()) {
            match self.events.recv_timeout(left) {
                Ok(event) => self.take(event, taker),
                Err(_) => break,
            };
        }
    }

    fn drain_log(&mut self, limit: Duration) {
        self.take_all(limit, &mut Discard);
    }

    fn control_line(&mut self) -> Option<String> {
        let end = self.control_text.find('\n')?;
        let rest = self.control_text.split_off(end + 1);
        let line = std::mem::replace(&mut self.control_text, rest);
        Some(line.trim_end().to_owned())
    }

    /// Makes a live guest log the stacks of its CPUs and blocked tasks. False if it does not answer.
    fn ask_for_stacks(&mut self) -> bool {
        let from = self.log.position();
        let _ = writeln!(self.pulse, "stacks 0");
        let deadline = Instant::now() + pace::limit(Duration::from_secs(5) * self.slowness);
        while Instant::now() < deadline {
            self.take_until(deadline, &mut Discard);
            if self.log.has(from, "sysrq: ") {
                self.drain_log(Duration::from_secs(1));
                return true;
            }
        }
        false
    }

    /// Makes QEMU log the address of each instruction that the guest executes for this time, in QEMU's own format.
    pub(crate) fn executed(&mut self, log: &Path, time: Duration) -> Result<()> {
        self.begin_log(log)?;
        std::thread::sleep(time);
        self.end_log()
    }

    /// Runs a script like [`Machine::run`], with the log of [`Machine::executed`].
    pub(crate) fn run_logged(
        &mut self,
        id: usize,
        limit: Duration,
        sink: &mut dyn Sink,
        log: &Path,
    ) -> Result<End> {
        self.begin_log(log)?;
        let end = self.run(id, limit, sink)?;
        self.end_log()?;
        Ok(end)
    }

    fn begin_log(&mut self, log: &Path) -> Result<()> {
        writeln!(self.monitor, "logfile {}", log.display())?;
        writeln!(self.monitor, "one-insn-per-tb on")?;
        writeln!(self.monitor, "log exec,nochain")?;
        // The answer arrives after the earlier commands are done.
        self.ask("info status");
        Ok(())
    }

    fn end_log(&mut self) -> Result<()> {
        writeln!(self.monitor, "log none")?;
        writeln!(self.monitor, "one-insn-per-tb off")?;
        self.ask("info status");
        self.drain_log(Duration::from_secs(1));
        Ok(())
    }

    /// The state of the virtual CPUs from QEMU, for a silent guest: their addresses, three times (to tell a CPU that
    /// stays at one address from one in a loop), and their stacks.
    pub(crate) fn registers(&mut self) -> String {
        let before = self.threads();
        let states: Vec<_> = (0..3).map(|_| self.ask("info registers -a")).collect();
        let mut text = String::new();
        for (round, state) in states.iter().enumerate() {
            let wanted: &[&str] = match round {
                0 => &["CPU#", "R", "CR", " PC=", "X0", "X1", "X2", "X3"],
                _ => &["CPU#", "RIP=", " PC="],
            };
            let shown = state.lines().filter(|l| wanted.iter().any(|w| l.starts_with(w)));
            shown.for_each(|line| text += &format!("    {line}\n"));
        }
        let stacks = states[2].lines().filter_map(|l| l.split_once("RSP=")?.1.get(..16));
        for (cpu, top) in stacks.enumerate() {
            self.ask(&format!("cpu {cpu}"));
            text += &format!("    the stack of CPU#{cpu}\n");
            let stack = self.ask(&format!("x /96gx 0x{top}"));
            stack.lines().filter(|l| l.contains(": 0x")).for_each(|line| text += &format!("    {line}\n"));
        }
        let places = states.iter().flat_map(|s| s.lines()).filter_map(|l| l.strip_prefix("RIP=")?.get(..16));
        let mut places: BTreeSet<_> =
            places.filter_map(|place| u64::from_str_radix(place, 16).ok()).collect();
        places.extend(interrupted(&text));
        text += "    what is in memory where they were, and before the addresses that they return to\n";
        for place in places {
            let bytes = self.ask(&format!("x /8xb {place:#x}"));
            bytes.lines().filter(|l| l.contains(": 0x")).for_each(|line| text += &format!("    {line}\n"));
        }
        text + "    QEMU's threads, twice\n" + &before + &self.threads()
    }

    /// QEMU's own threads: whether a virtual CPU runs, or QEMU itself is blocked.
    fn threads(&self) -> String {
        let mut text = String::new();
        let tasks = std::fs::read_dir(format!("/proc/{}/task", self.child.id()));
        for task in tasks.into_iter().flatten().flatten() {
            let read = |name: &str| std::fs::read_to_string(task.path().join(name)).unwrap_or_default();
            let (stat, wchan) = (read("stat"), read("wchan"));
            // "TID (COMM) STATE … UTIME STIME": fields 3, 14 and 15 of proc(5).
            let Some((_, fields)) = stat.rsplit_once(") ") else { continue };
            let fields: Vec<_> = fields.split(' ').collect();
            if let [state, .., utime, stime] = fields[..fields.len().min(13)] {
                let comm = read("comm");
                text += &format!("    {:<16} {state} user {utime} system {stime} {wchan}\n", comm.trim_end());
            }
        }
        text
    }

    /// Sends a command to QEMU's monitor; returns the answer.
    fn ask(&mut self, command: &str) -> String {
        let mut answer = Monitor(Vec::new());
        let _ = writeln!(self.monitor, "{command}");
        self.take_all(Duration::from_secs(1), &mut answer);
        String::from_utf8_lossy(&answer.0).replace('\r', "")
    }
}

/// The addresses of breakpoints in QEMU's dump of a stack: one less than each address that the kernel's code segment
/// follows.
fn interrupted(stack: &str) -> Vec<u64> {
    const CODE_SEGMENT: u64 = 0x10;
    let word = |word: &str| u64::from_str_radix(word.strip_prefix("0x")?, 16).ok();
    let words: Vec<_> = stack.split_whitespace().filter_map(word).collect();
    words.windows(2).filter(|pair| pair[1] == CODE_SEGMENT).map(|pair| pair[0].wrapping_sub(1)).collect()
}

impl Drop for Machine {
    fn drop(&mut self) {
        // The guest has no state that needs a clean shutdown.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A receiver of the bytes of the streams.
trait Taker {
    fn out(&mut self, _: &[u8]) {}
    fn err(&mut self, _: &[u8]) {}
    fn monitor(&mut self, _: &[u8]) {}
}

struct Discard;
impl Taker for Discard {}

struct Monitor(Vec<u8>);
impl Taker for Monitor {
    fn monitor(&mut self, bytes: &[u8]) {
        self.0.extend_from_slice(bytes);
    }
}

/// A run in progress.
struct Run<'a> {
    sink: &'a mut dyn Sink,
    out: Marked,
    err: Marked,
    status: Option<i32>,
}

impl<'a> Run<'a> {
    fn new(mark: &str, sink: &'a mut dyn Sink) -> Self {
        Run { sink, out: Marked::new(mark), err: Marked::new(mark), status: None }
    }

    fn is_drained(&self) -> bool {
        self.out.is_ended() && self.err.is_ended()
    }

    /// Passes on the bytes that were held back as the possible start of a mark.
    fn flush(&mut self) {
        self.sink.out(&self.out.rest());
        self.sink.err(&self.err.rest());
    }
}

impl Taker for Run<'_> {
    fn out(&mut self, bytes: &[u8]) {
        self.sink.out(&self.out.push(bytes));
    }

    fn err(&mut self, bytes: &[u8]) {
        self.sink.err(&self.err.push(bytes));
    }
}
