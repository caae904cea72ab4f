//! Running a command in a guest.

pub(crate) mod contents;
pub(crate) mod klog;
mod launch;
mod libraries;
pub(crate) mod machine;
pub(crate) mod modules;
mod newc;
pub(crate) mod programs;
mod stream;

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use anyhow::{Context, Result, bail};
use regex_lite::Regex;

use crate::kernels::{Arch, Kernel, Name};
use crate::setup::{
    self, Part, arm64,
    tools::{self, Tools},
};
use crate::{kmod, workspace};
use contents::Contents;
use launch::Config;
use machine::{Captured, End, Machine, Sink};

/// The exit status if the command has none to pass on.
const KERNEL_TROUBLE: u8 = 99;
const TIME_OUT: u8 = 124;
const NO_GUEST: u8 = 125;

/// Kernel parameters to accept only the distribution's modules, as under Secure Boot.
pub(crate) const LOCKED: &str = " lockdown=integrity module.sig_enforce=1";
/// The default kernel of arm64.
const OF_ARM64: &str = Name::OF_ARM64.as_str();
/// The line of a script after which dtrace traces without the module.
pub(crate) const BY_BPF: &str = "export DTRACE_OPT_BACKEND=bpf\n";

/// The guest's options on the command line.
#[derive(clap::Args, Clone)]
pub(crate) struct Guest {
    /// The machine
    #[arg(long, default_value = "amd64")]
    pub arch: Arch,
    /// The kernel to boot
    #[arg(long, default_value_t, default_value_if("arch", "arm64", OF_ARM64))]
    pub kernel: Name,
    /// The number of CPUs
    #[arg(long, default_value_t = 2)]
    pub smp: u32,
    /// Memory in megabytes
    #[arg(long, value_name = "MB", default_value_t = 2048)]
    pub mem: u32,
    /// Run each CPU on a separate thread, or all on one [default: multi with QEMU 10 or newer]
    #[arg(long, value_name = "single|multi", value_parser = ["single", "multi"])]
    pub thread: Option<String>,
    /// QEMU's accelerator; icount is tcg with a clock that counts the executed instructions
    #[arg(long, default_value = "tcg", value_parser = ["tcg", "kvm", "icount"])]
    pub accel: String,
    /// Words to add to the kernel's command line
    #[arg(long, value_name = "WORDS", default_value = "", allow_hyphen_values = true)]
    pub append: String,
    /// QEMU's CPU model
    #[arg(long, value_name = "MODEL", default_value = "max")]
    pub cpu: String,
    /// Do not load the kernel module
    #[arg(long)]
    pub no_module: bool,
    /// Boot by UEFI, with its variables in this file, which is created if missing
    #[arg(long, value_name = "FILE")]
    pub uefi: Option<PathBuf>,
    /// Leave out dtrace and inlinecall, and do not build them
    #[arg(long)]
    pub no_tools: bool,
    /// Use dtrace and inlinecall as built for the packages, which takes minutes longer
    #[arg(long)]
    pub release: bool,
    /// Whether they have been built already, with the tests
    #[arg(skip)]
    pub tested: bool,
}

impl Default for Guest {
    /// The guest of a command line without options.
    fn default() -> Guest {
        Guest {
            arch: Arch::Amd64,
            kernel: Name::default(),
            smp: 2,
            mem: 2048,
            thread: None,
            accel: "tcg".into(),
            append: String::new(),
            cpu: "max".into(),
            no_module: false,
            uefi: None,
            no_tools: false,
            release: false,
            tested: false,
        }
    }
}

#[derive(clap::Args)]
pub(crate) struct Options {
    #[command(flatten)]
    pub guest: Guest,
    /// Put a file of this machine, or a folder with its files, into the guest's working directory, /root
    #[arg(long, value_name = "FILE")]
    pub push: Vec<PathBuf>,
    /// Mount this image of an ext4 filesystem on /sysroot instead of the kernel's modules and debug files
    #[arg(long, value_name = "FILE")]
    pub disk: Option<PathBuf>,
    /// End the guest after this many seconds
    #[arg(long, value_name = "SECS", default_value_t = 120)]
    pub timeout: u64,
    /// A line of the kernel's log that matches this is not a failure
    #[arg(long, value_name = "REGEX")]
    pub allow_log: Vec<Regex>,
    /// The command; a single word with blanks in it is a line for the shell
    #[arg(last = true, required = true, value_name = "COMMAND")]
    pub command: Vec<String>,
}

pub(crate) fn main(options: &Options) -> Result<ExitCode> {
    let built = built(&options.guest)?;
    let contents = Contents {
        pushed: [built.pushed.clone(), options.push.clone()].concat(),
        disk: options.disk.clone(),
        runs: vec![script(&options.command)],
        ..built
    };
    let mut machine = match boot(&options.guest, &contents) {
        Ok(machine) => machine,
        Err(error) => {
            eprintln!("vm: {error:#}");
            return Ok(ExitCode::from(NO_GUEST));
        }
    };
    machine.log.allow(&options.allow_log);
    let limit = Duration::from_secs(options.timeout);
    let end = machine.run(0, limit, &mut Through)?;
    Ok(ExitCode::from(verdict(&mut machine, end, options.timeout)))
}

/// Reports a failure, if any, and returns the exit status.
fn verdict(machine: &mut Machine, end: End, timeout: u64) -> u8 {
    let failed = |what: &str, log: String| eprintln!("vm: {what}; the kernel's log:\n{log}");
    let trouble = machine.log.first_trouble(0).map(str::to_owned);
    // Trouble before the run explains more than the run.
    let from = if trouble.is_some() { 0 } else { machine.run_start };
    let log = machine.log.excerpt(from, 120);
    match (end, trouble) {
        (End::Exit(status), None) => status as u8,
        (End::Exit(status), Some(line)) => {
            let what =
                format!("the command ended with {status}, but the guest's kernel is in trouble: {line}");
            failed(&what, log);
            KERNEL_TROUBLE
        }
        (End::Crash, Some(line)) => {
            failed(&format!("the guest's kernel died: {line}"), log);
            KERNEL_TROUBLE
        }
        (End::Crash, None) => {
            failed("the guest ended before the command did", log);
            KERNEL_TROUBLE
        }
        (End::TimeOut, _) => {
            let what = format!("the command was still running after {timeout} s (--timeout)");
            failed(&what, log);
            TIME_OUT
        }
        (End::Hang, _) => {
            failed("the guest no longer answers", log);
            eprintln!("  its CPUs:\n{}", machine.registers());
            TIME_OUT
        }
    }
}

/// Our programs and the module, built for this guest.
pub(crate) fn built(guest: &Guest) -> Result<Contents> {
    // The compiler often leaves a processor idle, and setup needs little of one.
    thread::scope(|scope| {
        let programs = scope.spawn(|| built_programs(guest));
        let prepared = prepare(guest);
        let programs = programs.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        // If setup failed, indexing would fail too: its error comes first.
        let (kernel, module) = prepared?;
        let Programs { own, programs } = programs?;
        let index = index(&kernel, &own)?;
        Ok(Contents { programs, index, module, ..Contents::default() })
    })
}

/// dtrace and inlinecall, unless the guest is without them.
#[derive(Default)]
struct Programs {
    /// For this machine, which indexes the kernel.
    own: Vec<PathBuf>,
    /// For the guest.
    programs: Vec<PathBuf>,
}

fn built_programs(guest: &Guest) -> Result<Programs> {
    if guest.no_tools {
        return Ok(Programs::default());
    }
    let own = if guest.tested { programs::stripped(false)? } else { programs::build(guest.release)? };
    let programs = match guest.arch {
        Arch::Amd64 => own.clone(),
        Arch::Arm64 => programs::build_for_arm64(guest.release)?,
    };
    Ok(Programs { own, programs })
}

/// The index of the guest's kernel, if it has debug information.
fn index(kernel: &Kernel, own: &[PathBuf]) -> Result<Vec<PathBuf>> {
    match own.first() {
        Some(dtrace) if kernel.sysroot.is_some() && kernel.vmlinux.is_some() => {
            programs::indexed(kernel, dtrace)
        }
        _ => Ok(Vec::new()),
    }
}

/// Fetches the guest's parts, and builds the module. Some kernels of arm64 lack what it needs.
fn prepare(guest: &Guest) -> Result<(Kernel, Option<PathBuf>)> {
    let kernel = fetched(guest.arch, guest.kernel)?;
    let without = guest.no_module || (guest.arch == Arch::Arm64 && kernel.headers.is_none());
    let module = if without { None } else { kmod::build(&kernel, kmod::Warnings::Shown)? };
    Ok((kernel, module))
}

/// The kernel of guests, with everything that one of them needs; fetched if missing.
pub(crate) fn fetched(arch: Arch, name: Name) -> Result<Kernel> {
    match arch {
        Arch::Amd64 => {
            setup::ensure(&[Part::Guests, Part::Kernel(name), Part::Disk(name)], false)?;
            Kernel::need(name)
        }
        Arch::Arm64 => arm64::ensure_for_guests(arm64::Name::of(name)?),
    }
}

/// The guest's kernel, which must exist.
pub(crate) fn kernel(arch: Arch, name: Name) -> Result<Kernel> {
    match arch {
        Arch::Amd64 => Kernel::need(name),
        Arch::Arm64 => arm64::need(name),
    }
}

/// The code of UEFI, and a file of its variables.
fn uefi(variables: &Path) -> Result<[PathBuf; 2]> {
    let firmware = tools::firmware()?;
    if !variables.exists() {
        fs::copy(firmware.variables, variables)
            .with_context(|| format!("cannot make {}", variables.display()))?;
    }
    Ok([firmware.code, variables.to_owned()])
}

/// Boots a guest with these contents.
pub(crate) fn boot(guest: &Guest, contents: &Contents) -> Result<Machine> {
    let kernel = kernel(guest.arch, guest.kernel)?;
    let tools = Tools::need(guest.arch)?;
    let multi_threaded = match guest.thread.as_deref() {
        Some(choice) => choice == "multi",
        None => tools.qemu.is_good(),
    };
    if !tools.qemu.is_good() {
        eprintln!(
            "vm: QEMU {} is old and can fail where the kernel does not: `cargo xtask setup`",
            tools.qemu.major
        );
    }
    let image = contents.disk.clone().map_or_else(|| kernel.image(), Ok)?;
    let disk = image.is_file().then_some(image);
    let mark = unique();
    let disk_name = disk.is_some().then_some("nvme0n1");
    let initramfs = contents::initramfs(contents, &kernel, &tools.busybox, disk_name, &mark)?;
    // A failure names a log, which a later guest must not overwrite.
    static BOOTS: AtomicU32 = AtomicU32::new(1);
    let boot = BOOTS.fetch_add(1, Ordering::Relaxed);
    let logs = workspace::target().join("vm");
    fs::create_dir_all(&logs).with_context(|| format!("cannot make {}", logs.display()))?;
    Machine::boot(&Config {
        arch: guest.arch,
        qemu: &tools.qemu,
        vmlinuz: kernel.vmlinuz.clone(),
        initramfs,
        disk,
        writes: contents.writes,
        uefi: guest.uefi.as_deref().map(uefi).transpose()?,
        smp: guest.smp,
        memory_mb: guest.mem,
        multi_threaded,
        accel: &guest.accel,
        append: &guest.append,
        cpu: cpu(guest),
        log: logs.join(format!("{}-{}-{boot}.log", guest.kernel, std::process::id())),
        mark,
        slowness: guest.kernel.slowness() * guest.arch.slowness(),
    })
}

/// Runs a script to its end, and returns its output.
pub(crate) fn text(machine: &mut Machine, id: usize, limit: Duration) -> Result<String> {
    let mut captured = Captured::default();
    let end = machine.run(id, limit, &mut captured)?;
    let errors = String::from_utf8_lossy(&captured.err);
    if end != End::Exit(0) {
        bail!("the script failed in the guest: {errors}\n{}", machine.log.excerpt(machine.run_start, 60));
    }
    eprint!("{errors}");
    Ok(String::from_utf8_lossy(&captured.out).into_owned())
}

/// The model of CPU. Arm's standard algorithm for signing addresses would take most of the emulator's time.
fn cpu(guest: &Guest) -> &str {
    match (guest.arch, &*guest.cpu) {
        (Arch::Arm64, "max") => "max,pauth-impdef=on",
        (_, model) => model,
    }
}

/// A word that no command prints by chance.
fn unique() -> String {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_nanos();
    format!("kinst-vm-end-{now:x}-{:x}", std::process::id())
}

/// One word is a line for the shell, several are a program and its arguments.
fn script(command: &[String]) -> String {
    match command {
        [line] => format!("{line}\n"),
        words => {
            let quoted: Vec<_> = words.iter().map(|w| format!("'{}'", w.replace('\'', r"'\''"))).collect();
            format!("exec {}\n", quoted.join(" "))
        }
    }
}

/// Passes a run's output on to our own.
struct Through;

impl Sink for Through {
    fn out(&mut self, bytes: &[u8]) {
        pass(&mut std::io::stdout().lock(), bytes);
    }

    fn err(&mut self, bytes: &[u8]) {
        pass(&mut std::io::stderr().lock(), bytes);
    }
}

/// Writes to a reader; if it has closed its end, the guest is judged all the same.
fn pass(to: &mut dyn Write, bytes: &[u8]) {
    let _ = to.write_all(bytes).and_then(|()| to.flush());
}
