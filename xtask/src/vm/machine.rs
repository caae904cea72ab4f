//! One QEMU with a guest in it: started, asked to run things, watched, ended.

use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixListener, UnixStream};
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};

use crate::exec;
use crate::setup::tools::Qemu;
use crate::vm::klog::{KernelLog, Trouble};
use crate::vm::stream::Marked;

/// From power-on to the agent's first word. A loaded host is slow.
const BOOT_LIMIT: Duration = Duration::from_secs(90);
/// How often a guest that runs something is asked for a sign of life, and how long it may owe one.
const PULSE: Duration = Duration::from_secs(10);
const PULSE_LIMIT: Duration = Duration::from_secs(60);
/// What the rest of a dying kernel's log may take to arrive.
const LAST_WORDS: Duration = Duration::from_secs(3);

/// What it takes to start a guest.
pub struct Config<'a> {
    pub qemu: &'a Qemu,
    pub vmlinuz: PathBuf,
    pub initramfs: Vec<u8>,
    /// A read-only disk, on nvme0n1.
    pub disk: Option<PathBuf>,
    pub smp: u32,
    pub memory_mb: u32,
    pub multi_threaded: bool,
    pub accel: &'a str,
    /// More words for the kernel's command line.
    pub append: &'a str,
    /// Where the kernel's log is copied to.
    pub log: PathBuf,
    /// Ends each run on the two output streams.
    pub mark: String,
}

/// How a run ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum End {
    /// With this status of the command.
    Exit(i32),
    /// The time was up, and the guest was still alive.
    TimeOut,
    /// The guest no longer answers.
    Hang,
    /// The kernel died, or QEMU ended.
    Crash,
}

/// Where a run's output goes, as it comes.
pub trait Sink {
    fn out(&mut self, bytes: &[u8]);
    fn err(&mut self, bytes: &[u8]);
}

enum Event {
    Log(Vec<u8>),
    Out(Vec<u8>),
    Err(Vec<u8>),
    Pulse(Vec<u8>),
    Control(Vec<u8>),
    Monitor(Vec<u8>),
}

/// The names of the streams between host and guest; the last one is QEMU's own.
const STREAMS: [&str; 6] = ["log", "out", "err", "pulse", "control", "monitor"];

pub struct Machine {
    child: Child,
    events: Receiver<Event>,
    pulse: UnixStream,
    control: UnixStream,
    monitor: UnixStream,
    control_text: String,
    pub log: KernelLog,
    mark: String,
    /// The initramfs lives as long as QEMU may read it.
    _initramfs: File,
}

impl Machine {
    /// Starts a guest and waits until it takes orders.
    pub fn boot(config: &Config) -> Result<Machine> {
        let mut machine = Machine::start(config)?;
        let deadline = Instant::now() + BOOT_LIMIT;
        loop {
            while let Some(line) = machine.control_line() {
                match line.split_once(' ') {
                    _ if line == "ready" => return Ok(machine),
                    Some(("failed", what)) => {
                        machine.drain_log(Duration::from_millis(200));
                        bail!("the guest cannot start: {what}\n{}", machine.log.excerpt(0, 60));
                    }
                    _ => bail!("the guest said {line:?} instead of `ready`"),
                }
            }
            machine.take_until(Instant::now() + Duration::from_millis(200), &mut Discard);
            let ended = machine.child.try_wait()?;
            if ended.is_some() || machine.log.worst(0) == Some(Trouble::Fatal) || Instant::now() > deadline {
                machine.drain_log(LAST_WORDS);
                let why = match ended {
                    Some(status) => format!("QEMU ended with {status} before the guest was up"),
                    None if machine.log.worst(0) == Some(Trouble::Fatal) => "the kernel died at boot".into(),
                    None => format!("the guest was not up after {} s", BOOT_LIMIT.as_secs()),
                };
                bail!("{why}\n{}", machine.log.excerpt(0, 60));
            }
        }
    }

    fn start(config: &Config) -> Result<Machine> {
        let log = KernelLog::new(&config.log)?;
        let initramfs = memory_file(&config.initramfs)?;
        let base = format!("kinst-vm-{}-{}", std::process::id(), config.mark);
        let mut listeners = Vec::new();
        for stream in STREAMS {
            // An abstract name leaves no file behind, however this process ends.
            let address = SocketAddr::from_abstract_name(format!("{base}-{stream}"))?;
            listeners.push(UnixListener::bind_addr(&address)?);
        }
        let mut command = command_line(config, &initramfs, &base);
        let child = command.spawn().with_context(|| format!("cannot run {}", exec::shown(&command)))?;
        let (sender, events) = channel();
        let mut streams = Vec::new();
        let mut machine_child = child;
        for (index, listener) in listeners.into_iter().enumerate() {
            let stream = accept(&listener, &mut machine_child)?;
            forward(stream.try_clone()?, index, sender.clone());
            streams.push(stream);
        }
        let [_, _, _, pulse, control, monitor] =
            <[UnixStream; 6]>::try_from(streams).expect("one for each name");
        Ok(Machine {
            child: machine_child,
            events,
            pulse,
            control,
            monitor,
            control_text: String::new(),
            log,
            mark: config.mark.clone(),
            _initramfs: initramfs,
        })
    }

    /// Runs script number `id` of the guest, passing its output on as it comes.
    pub fn run(&mut self, id: usize, limit: Duration, sink: &mut dyn Sink) -> Result<End> {
        let from = self.log.position();
        let mut run = Run::new(&self.mark, sink);
        let deadline = Instant::now() + limit;
        let (mut next_pulse, mut last_sign) = (Instant::now() + PULSE, Instant::now());
        writeln!(self.control, "run {id}")?;
        loop {
            if self.take_until(deadline.min(next_pulse), &mut run) {
                last_sign = Instant::now();
            }
            while let Some(line) = self.control_line() {
                if let Some(status) = line.strip_prefix(&format!("exit {id} ")) {
                    run.status =
                        Some(status.trim().parse().with_context(|| format!("the guest said {line:?}"))?);
                }
            }
            // The mark in the kernel's log says that everything before it has arrived.
            let logged = self.log.has(from, &format!("kinst-vm: end {id}"));
            if let (Some(status), true, true) = (run.status, run.is_drained(), logged) {
                return Ok(End::Exit(status));
            }
            let gone = self.child.try_wait()?.is_some();
            if gone || self.log.worst(from) == Some(Trouble::Fatal) {
                self.take_all(LAST_WORDS, &mut run);
                run.flush();
                return Ok(End::Crash);
            }
            let now = Instant::now();
            if now >= deadline {
                run.flush();
                let alive = self.ask_for_stacks();
                return Ok(if alive { End::TimeOut } else { End::Hang });
            }
            if now >= last_sign + PULSE_LIMIT {
                run.flush();
                return Ok(End::Hang);
            }
            if now >= next_pulse {
                next_pulse = now + PULSE;
                let _ = writeln!(self.pulse, "ping {id}");
            }
        }
    }

    /// Takes events until `deadline`, or until one has come. Returns whether one that shows life has come.
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
        match event {
            Event::Log(bytes) => self.log.push(&bytes),
            Event::Out(bytes) => taker.out(&bytes),
            Event::Err(bytes) => taker.err(&bytes),
            Event::Control(bytes) => self.control_text.push_str(&String::from_utf8_lossy(&bytes)),
            Event::Pulse(_) => {}
            Event::Monitor(bytes) => {
                taker.monitor(&bytes);
                return false;
            }
        }
        true
    }

    /// Takes what still comes until nothing has come for a while.
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

    /// Has a live guest write where its CPUs and blocked tasks are into its log. False if it does not answer.
    fn ask_for_stacks(&mut self) -> bool {
        let from = self.log.position();
        let _ = writeln!(self.pulse, "stacks 0");
        let deadline = Instant::now() + Duration::from_secs(5);
        while Instant::now() < deadline {
            self.take_until(deadline, &mut Discard);
            if self.log.has(from, "sysrq: ") {
                self.drain_log(Duration::from_secs(1));
                return true;
            }
        }
        false
    }

    /// Where the virtual CPUs are, by QEMU's account: for a guest that no longer says anything.
    pub fn registers(&mut self) -> String {
        let mut text = Monitor(Vec::new());
        let _ = writeln!(self.monitor, "info registers -a");
        self.take_all(Duration::from_secs(1), &mut text);
        let text = String::from_utf8_lossy(&text.0).replace('\r', "");
        let wanted = |line: &&str| ["CPU#", "RIP="].iter().any(|w| line.starts_with(w));
        text.lines().filter(wanted).map(|l| format!("    {l}\n")).collect()
    }
}

impl Drop for Machine {
    fn drop(&mut self) {
        // The guest has no state worth a tidy shutdown.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn command_line(config: &Config, initramfs: &File, base: &str) -> Command {
    let mut command = config.qemu.command();
    let thread = if config.multi_threaded { "multi" } else { "single" };
    let accel = if config.accel == "tcg" { format!("tcg,thread={thread}") } else { config.accel.into() };
    command.args(["-nodefaults", "-no-user-config", "-display", "none", "-no-reboot"]);
    command.args(["-machine", "pc", "-cpu", "max", "-accel", &accel]);
    command.args(["-smp", &config.smp.to_string(), "-m", &config.memory_mb.to_string()]);
    for stream in STREAMS {
        let options = format!("socket,id={stream},path={base}-{stream},abstract=on");
        command.args(["-chardev", &options]);
    }
    command.args([
        "-serial",
        "chardev:log",
        "-mon",
        "chardev=monitor,mode=readline",
        "-device",
        "virtio-serial-pci",
    ]);
    for (port, stream) in STREAMS[1..5].iter().enumerate() {
        let port = port + 1;
        command.args(["-device", &format!("virtserialport,nr={port},chardev={stream},name={stream}")]);
    }
    if let Some(disk) = &config.disk {
        let file = disk.display().to_string().replace(',', ",,");
        command.args(["-drive", &format!("if=none,id=disk,format=raw,readonly=on,cache=unsafe,file={file}")]);
        command.args(["-device", "nvme,serial=kinst,drive=disk"]);
    }
    command.arg("-kernel").arg(&config.vmlinuz);
    command.args(["-initrd", &format!("/proc/{}/fd/{}", std::process::id(), initramfs.as_raw_fd())]);
    // Stalls and lockups are judged late: a busy host can keep a virtual CPU waiting for many seconds.
    let quiet = "console=ttyS0 loglevel=7 panic=-1 printk.devkmsg=on rcupdate.rcu_cpu_stall_timeout=40 \
                 watchdog_thresh=20";
    command.arg("-append").arg(format!("{quiet} {}", config.append).trim_end());
    command.stdin(Stdio::null()).stdout(Stdio::null());
    // SAFETY: the closure makes one system call and touches no memory of the parent.
    unsafe {
        command.pre_exec(|| {
            rustix::process::set_parent_process_death_signal(Some(rustix::process::Signal::KILL))?;
            Ok(())
        });
    }
    command
}

fn memory_file(bytes: &[u8]) -> Result<File> {
    // A file without a name: it goes when this process goes, however that happens.
    let fd: OwnedFd = rustix::fs::memfd_create("initramfs", rustix::fs::MemfdFlags::CLOEXEC)?;
    let mut file = File::from(fd);
    file.write_all(bytes)?;
    Ok(file)
}

/// Waits for QEMU to open a stream, or to give up.
fn accept(listener: &UnixListener, child: &mut Child) -> Result<UnixStream> {
    listener.set_nonblocking(true)?;
    let deadline = Instant::now() + Duration::from_secs(30);
    loop {
        match listener.accept() {
            Ok((stream, _)) => {
                stream.set_nonblocking(false)?;
                return Ok(stream);
            }
            Err(e) if e.kind() == std::io::ErrorKind::WouldBlock => {}
            Err(e) => return Err(e).context("cannot talk to QEMU"),
        }
        if let Some(status) = child.try_wait()? {
            bail!("QEMU ended with {status} as soon as it was started");
        }
        if Instant::now() > deadline {
            let _ = child.kill();
            bail!("QEMU does not open its streams");
        }
        std::thread::sleep(Duration::from_millis(2));
    }
}

fn forward(mut stream: UnixStream, index: usize, sender: Sender<Event>) {
    let wrap = [Event::Log, Event::Out, Event::Err, Event::Pulse, Event::Control, Event::Monitor][index];
    std::thread::spawn(move || {
        let mut buffer = vec![0; 1 << 16];
        while let Ok(length @ 1..) = stream.read(&mut buffer) {
            if sender.send(wrap(buffer[..length].to_vec())).is_err() {
                return;
            }
        }
    });
}

/// Who gets the bytes of the streams.
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

    /// Passes on what was held back in the hope of a mark.
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
