//! Starting QEMU with a guest, and connecting the streams between the two sides.

use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixListener, UnixStream};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};

use crate::kernels::Arch;
use crate::setup::tools::Qemu;
use crate::{exec, pace};

/// The parameters of a guest.
pub(crate) struct Config<'a> {
    pub arch: Arch,
    pub qemu: &'a Qemu,
    pub vmlinuz: PathBuf,
    pub initramfs: Vec<u8>,
    /// A disk, on nvme0n1.
    pub disk: Option<PathBuf>,
    /// Whether the guest may write to it: changes are lost with the guest.
    pub writes: bool,
    /// The code of UEFI, and the file of its variables, which it changes; without them the guest has a BIOS.
    pub uefi: Option<[PathBuf; 2]>,
    pub smp: u32,
    pub memory_mb: u32,
    pub multi_threaded: bool,
    pub accel: &'a str,
    /// The CPU model.
    pub cpu: &'a str,
    /// More words for the kernel's command line.
    pub append: &'a str,
    /// The file that the kernel's log is copied to.
    pub log: PathBuf,
    /// The mark that ends each run on the two output streams.
    pub mark: String,
    /// The factor for all time limits.
    pub slowness: u32,
}

/// A stream between this process and the guest, or QEMU itself.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Stream {
    /// The kernel's console, on the serial port: it works from the first line to the last.
    Log,
    Out,
    Err,
    Pulse,
    Control,
    /// QEMU's own command line.
    Monitor,
}

impl Stream {
    pub(super) const ALL: [Stream; 6] =
        [Stream::Log, Stream::Out, Stream::Err, Stream::Pulse, Stream::Control, Stream::Monitor];
    /// The streams with virtio ports, numbered by their variants.
    const PORTS: [Stream; 4] = [Stream::Out, Stream::Err, Stream::Pulse, Stream::Control];

    fn name(self) -> &'static str {
        ["log", "out", "err", "pulse", "control", "monitor"][self as usize]
    }
}

/// Bytes that arrived on a stream.
pub(super) struct Event {
    pub stream: Stream,
    pub bytes: Vec<u8>,
}

/// A started QEMU.
pub(super) struct Started {
    pub child: Child,
    pub events: Receiver<Event>,
    /// The streams for writing, in the order of [`Stream::ALL`].
    pub streams: Vec<UnixStream>,
    pub initramfs: File,
}

/// Starts QEMU and accepts its connection for every stream.
pub(super) fn start(config: &Config) -> Result<Started> {
    let initramfs = memory_file(&config.initramfs)?;
    let base = format!("kinst-vm-{}-{}", std::process::id(), config.mark);
    let mut listeners = Vec::new();
    for stream in Stream::ALL {
        // An abstract name leaves no file, however this process ends.
        let address = SocketAddr::from_abstract_name(format!("{base}-{}", stream.name()))?;
        listeners.push(UnixListener::bind_addr(&address)?);
    }
    let mut command = command_line(config, &initramfs, &base);
    let mut child = command.spawn().with_context(|| format!("cannot run {}", exec::shown(&command)))?;
    let (sender, events) = channel();
    let mut streams = Vec::new();
    for (stream, listener) in Stream::ALL.into_iter().zip(listeners) {
        let connection = accept(&listener, &mut child)?;
        forward(connection.try_clone()?, stream, sender.clone());
        streams.push(connection);
    }
    Ok(Started { child, events, streams, initramfs })
}

/// The differences of the architectures: QEMU's machine, and words for the kernel, the first of which names the port
/// of its log.
fn board(arch: Arch) -> (&'static str, &'static str) {
    match arch {
        Arch::Amd64 => ("pc", "console=ttyS0 tsc=reliable"),
        Arch::Arm64 => ("virt", "console=ttyAMA0"),
    }
}

fn command_line(config: &Config, initramfs: &File, base: &str) -> Command {
    let mut command = config.qemu.command();
    let thread = if config.multi_threaded { "multi" } else { "single" };
    let accel = match config.accel {
        "tcg" => format!("tcg,thread={thread}"),
        "icount" => "tcg,thread=single".into(),
        other => other.into(),
    };
    command.args(["-nodefaults", "-no-user-config", "-display", "none", "-no-reboot"]);
    let (machine, words) = board(config.arch);
    command.args([
        "-machine",
        machine,
        "-cpu",
        config.cpu,
        "-name",
        "guest,debug-threads=on",
        "-accel",
        &accel,
    ]);
    if config.accel == "icount" {
        // 4 ns an instruction.
        command.args(["-icount", "shift=2"]);
    }
    command.args(["-smp", &config.smp.to_string(), "-m", &config.memory_mb.to_string()]);
    for stream in Stream::ALL.map(Stream::name) {
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
    for stream in Stream::PORTS {
        let (port, name) = (stream as usize, stream.name());
        command.args(["-device", &format!("virtserialport,nr={port},chardev={name},name={name}")]);
    }
    command.args(drives(config));
    command.arg("-kernel").arg(&config.vmlinuz);
    command.args(["-initrd", &format!("/proc/{}/fd/{}", std::process::id(), initramfs.as_raw_fd())]);
    command.arg("-append").arg(format!("{words} {} {}", patience(config.slowness), config.append).trim_end());
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

/// Kernel parameters for the log, and for the delay before it reports a stall.
fn patience(slowness: u32) -> String {
    // Stalls and lockups are reported late: a busy host can keep a virtual CPU waiting for many seconds.
    let factor = f64::from(slowness) * pace::pace();
    let seconds = |least: f64, most: f64| (least * factor).min(most) as u32;
    let (stall, lockup, hung) = (seconds(40.0, 300.0), seconds(20.0, 60.0), seconds(120.0, 3600.0));
    // Lockdep announces that it turns itself off in messages of the lowest level.
    let loglevel = if slowness > 1 { 8 } else { 7 };
    format!(
        "loglevel={loglevel} printk.time=1 panic=-1 printk.devkmsg=on rcupdate.rcu_cpu_stall_timeout={stall} \
         watchdog_thresh={lockup} sysctl.kernel.hung_task_timeout_secs={hung}"
    )
}

/// The disk and the flash memory of the firmware, as arguments.
fn drives(config: &Config) -> Vec<String> {
    let mut arguments = Vec::new();
    let mut drive = |options: &str, file: &Path| {
        let file = file.display().to_string().replace(',', ",,");
        arguments.extend(["-drive".into(), format!("{options},format=raw,file={file}")]);
    };
    if let Some([code, variables]) = &config.uefi {
        drive("if=pflash,readonly=on", code);
        drive("if=pflash", variables);
    }
    if let Some(disk) = &config.disk {
        let access = if config.writes { "snapshot=on" } else { "readonly=on" };
        drive(&format!("if=none,id=disk,{access},cache=unsafe"), disk);
        arguments.extend(["-device".into(), "nvme,serial=kinst,drive=disk".into()]);
    }
    arguments
}

fn memory_file(bytes: &[u8]) -> Result<File> {
    // A file without a name disappears with this process, however that ends.
    let fd: OwnedFd = rustix::fs::memfd_create("initramfs", rustix::fs::MemfdFlags::CLOEXEC)?;
    let mut file = File::from(fd);
    file.write_all(bytes)?;
    Ok(file)
}

/// Waits for QEMU to open a stream, or to end.
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

fn forward(mut from: UnixStream, stream: Stream, sender: Sender<Event>) {
    std::thread::spawn(move || {
        let mut buffer = vec![0; 1 << 16];
        while let Ok(length @ 1..) = from.read(&mut buffer) {
            let bytes = buffer[..length].to_vec();
            if sender.send(Event { stream, bytes }).is_err() {
                return;
            }
        }
    });
}
