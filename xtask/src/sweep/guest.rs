//! One boot of a guest that sweeps: its requests, and the observations.

use std::time::{Duration, Instant};

use anyhow::Result;

use super::lines::{Batch, Begun, Line};
use super::{Load, Options};
use crate::kernels::Kernel;
use crate::setup::peers;
use crate::vm::contents::Contents;
use crate::vm::klog::KernelLog;
use crate::vm::machine::{End, Machine, Sink};
use crate::vm::{self, Guest, modules, programs};
use crate::workspace;

/// A guest that is silent for so long is lost. It writes something every two seconds, unless it is very busy.
const SILENCE: Duration = Duration::from_secs(150);
/// The seconds after which a batch is too hot, with a load of one second.
const TOO_HOT: f64 = 60.0;
/// The longest that a boot may last.
const LIMIT: Duration = Duration::from_secs(12 * 3600);

/// Modules that a sweep over modules loads, if the kernel has them and they find their devices: checksums (which
/// others request by another name), file systems, networks, crypto.
const MODULES: [&str; 35] = [
    "crc32c_generic",
    "crc32c_intel",
    "xxhash_generic",
    "sha256_generic",
    "blake2b_generic",
    "ext4",
    "vfat",
    "nls_cp437",
    "nls_ascii",
    "xfs",
    "btrfs",
    "fuse",
    "overlay",
    "nfsd",
    "loop",
    "dm_mod",
    "nf_tables",
    "nft_ct",
    "nf_conntrack_netlink",
    "bridge",
    "veth",
    "tun",
    "vxlan",
    "wireguard",
    "ip6_tables",
    "iptable_nat",
    "sch_htb",
    "kvm_intel",
    "kvm_amd",
    "crc32_pclmul",
    "aesni_intel",
    "sctp",
    "tls",
    "vsock",
    "drm",
];

/// The parts that all guests of a sweep share.
pub(super) struct Bench {
    pub options: Options,
    pub kernel: Kernel,
    guest: Guest,
    contents: Contents,
    /// The beginning of each script, which loads the modules in a sweep over modules.
    load_modules: String,
}

/// The part of the kernel that a guest sweeps.
#[derive(Clone, Debug, Default)]
pub(super) struct Request {
    pub from: u64,
    /// The end, not included; 0: no end.
    pub to: u64,
    pub skip: Vec<(u64, u64)>,
    /// The offsets of the instructions to arm in each function.
    pub offsets: Option<(u64, u64)>,
    pub batches: Option<usize>,
    pub size: u32,
    pub sample: u32,
    pub modules: bool,
    pub count: bool,
    pub nojump: bool,
    pub once: bool,
    /// The load, and the seconds after which a batch is too hot.
    pub load: String,
    pub patience: f64,
}

impl Request {
    /// Everything that the options select.
    pub(super) fn of(options: &Options) -> Request {
        Request {
            size: options.size,
            sample: options.sample,
            modules: options.modules,
            count: !options.no_count,
            nojump: options.nojump,
            once: options.once,
            load: load(options),
            patience: TOO_HOT.max(12.0 * options.load),
            ..Request::default()
        }
    }

    /// Everything in the range at once.
    pub(super) fn in_one_batch(self) -> Request {
        Request { size: self.size.max(30_000), batches: Some(1), ..self }
    }

    fn script(&self) -> String {
        let mut words = vec!["./sweep".to_owned()];
        words.push(format!("--from={:#x} --size={} --sample={}", self.from, self.size, self.sample));
        words.push(format!("--patience={}", self.patience));
        if self.to > 0 {
            words.push(format!("--to={:#x}", self.to));
        }
        words.extend(self.skip.iter().map(|(from, to)| format!("--skip={from:#x}:{to:#x}")));
        words.extend(self.offsets.map(|(from, to)| format!("--offsets={from:#x}:{to:#x}")));
        words.extend(self.batches.map(|n| format!("--batches={n}")));
        if self.count {
            words.push("--count".into());
        }
        if self.nojump {
            words.push("--nojump".into());
        }
        if self.once {
            words.push("--once".into());
        }
        if self.modules {
            words.push("--modules".into());
        }
        // A consumer that cannot run for half a minute is not dead here.
        let prepare = "echo 0 >/sys/module/kinst/parameters/deadman";
        format!("{prepare}\nexec {} -- {}\n", words.join(" "), self.load)
    }
}

/// The command that makes the guest work and checks the results.
fn load(options: &Options) -> String {
    let program = match options.with {
        Load::Workload if options.modules => "/bin/sh ./modules.sh",
        Load::Workload => "./workload",
        Load::StressNg => "/bin/sh ./stress.sh stress-ng",
        Load::Trinity => "/bin/sh ./stress.sh trinity",
    };
    format!("{program} {}", options.load)
}

/// The end of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Ended {
    Whole,
    Fault(String),
}

/// The observations of a run.
pub(super) struct Run {
    pub ended: Ended,
    /// The batch that was being swept, or the last one.
    pub begun: Option<Begun>,
    pub phase: String,
    /// The number of batches that were swept completely and correctly.
    pub batches: usize,
    /// The kernel's log around the fault, and the state of the CPUs if nothing else shows it.
    pub console: String,
}

impl Bench {
    pub(super) fn new(options: &Options) -> Result<Bench> {
        let guest = Guest {
            arch: options.arch,
            kernel: options.kernel,
            smp: options.cpus,
            // Other projects' programs are unpacked in memory.
            mem: if options.with == Load::Workload { options.mem } else { options.mem.max(8192) },
            // Without address randomisation, an address means the same in every boot and in vmlinux.
            // If every instruction is a trap, an emulated processor takes minutes without being stalled.
            append: "nokaslr rcupdate.rcu_cpu_stall_timeout=150 watchdog_thresh=60".into(),
            no_tools: true,
            ..Guest::default()
        };
        let built = vm::built(&guest)?;
        let sources = workspace::root().join("kmod/tests/vm");
        let programs = ["sweep.c", "workload.c", "points.c"].map(|f| sources.join(f));
        let mut pushed: Vec<_> = programs
            .iter()
            .map(|f| programs::from_source_for(options.arch, f, &["-static"]))
            .collect::<Result<_>>()?;
        if options.with != Load::Workload {
            let nobody = workspace::root().join("tests/vm/files/nobody.c");
            pushed.push(programs::from_source(&nobody, &["-static"])?);
            let tree = workspace::root().join("tests/vm/files/tree.sh");
            pushed.extend([sources.join("stress.sh"), tree, peers::stressors()?]);
        }
        let kernel = vm::kernel(guest.arch, guest.kernel)?;
        let mut load_modules = String::new();
        if options.modules {
            pushed.push(sources.join("modules.sh"));
            for file in modules::with_needs(&kernel, &MODULES)? {
                load_modules += &format!("insmod {}\n", file.file_name().unwrap_or_default().display());
                pushed.push(file);
            }
        }
        let contents = Contents { pushed, ..built };
        Ok(Bench { options: options.clone(), kernel, guest, contents, load_modules })
    }

    /// Boots a guest with these scripts.
    pub(super) fn boot(&self, runs: Vec<String>, module: bool) -> Result<Machine> {
        let contents = Contents {
            programs: Vec::new(),
            pushed: self.contents.pushed.clone(),
            module: self.contents.module.clone().filter(|_| module),
            runs: runs.iter().map(|run| format!("{}{run}", self.load_modules)).collect(),
            ..Contents::default()
        };
        vm::boot(&self.guest, &contents)
    }

    /// Boots a guest and sweeps. `each` receives the correct batches, as they finish, and the number of functions.
    pub(super) fn run(
        &self,
        request: &Request,
        each: &mut dyn FnMut(Batch, u64) -> Result<()>,
    ) -> Result<Run> {
        let mut machine = self.boot(vec![request.script()], true)?;
        watch(&mut machine, 0, self.slowness(), each)
    }

    /// Sweeps for several requests in one guest, while it is healthy; requests that are not reached have no result.
    pub(super) fn run_each(&self, requests: &[Request]) -> Result<Vec<Run>> {
        let mut machine = self.boot(requests.iter().map(Request::script).collect(), true)?;
        let mut runs = Vec::new();
        for id in 0..requests.len() {
            let run = watch(&mut machine, id, self.slowness(), &mut |_, _| Ok(()))?;
            let well = run.ended == Ended::Whole;
            runs.push(run);
            if !well {
                break;
            }
        }
        Ok(runs)
    }

    /// The factor for all time limits: the load of another project has a hundred threads.
    fn slowness(&self) -> u32 {
        let machine = self.kernel.name.slowness() * self.kernel.arch.slowness();
        machine * if self.options.with == Load::Workload { 1 } else { 4 }
    }

    /// Runs only the load in a guest without the module: kinst does not cause its failures there. Returns the number
    /// of successes.
    pub(super) fn control(&self, times: usize) -> Result<usize> {
        let script = format!("exec {}\n", load(&self.options));
        let mut machine = self.boot(vec![script; times], false)?;
        let mut right = 0;
        for id in 0..times {
            let from = machine.log.position();
            let end = machine.run(id, Duration::from_secs(120) * self.slowness(), &mut Nobody)?;
            if end != End::Exit(0) || machine.log.worst(from).is_some() {
                break;
            }
            right += 1;
        }
        Ok(right)
    }
}

/// Runs one of the guest's scripts and listens.
fn watch(
    machine: &mut Machine,
    id: usize,
    slowness: u32,
    each: &mut dyn FnMut(Batch, u64) -> Result<()>,
) -> Result<Run> {
    let from = machine.log.position();
    let mut ear = Ear {
        each,
        from,
        part: Vec::new(),
        err: String::new(),
        heard: Instant::now(),
        begun: None,
        phase: "read".into(),
        total: 0,
        batches: 0,
        whole: false,
        fault: None,
        broken: None,
        silence: SILENCE * slowness,
    };
    let end = machine.run(id, LIMIT, &mut ear)?;
    if let Some(error) = ear.broken {
        return Err(error);
    }
    let trouble = machine.log.first_trouble(from).map(str::to_owned);
    let said = ear.err.trim_end().to_owned();
    let ended = match (ear.fault, trouble, &end) {
        (_, Some(line), _) => Ended::Fault(line),
        (Some(fault), None, _) => Ended::Fault(fault),
        (None, None, End::Exit(0)) if ear.whole => Ended::Whole,
        (None, None, End::Exit(status)) => Ended::Fault(format!("the sweep ended with {status}: {said}")),
        (None, None, End::Crash) => Ended::Fault("the guest ended".into()),
        (None, None, End::TimeOut) => Ended::Fault("the guest's sweep said nothing for too long".into()),
        (None, None, End::Hang) => Ended::Fault("the guest no longer answers".into()),
    };
    let mut console = String::new();
    if ended != Ended::Whole {
        console = machine.log.excerpt(from, 160);
        if matches!(end, End::Hang | End::TimeOut) {
            console += &format!("\n  the CPUs:\n{}", machine.registers());
        }
    }
    Ok(Run { ended, begun: ear.begun, phase: ear.phase, batches: ear.batches, console })
}

/// Listens to a sweep.
struct Ear<'a> {
    each: &'a mut dyn FnMut(Batch, u64) -> Result<()>,
    /// The line of the kernel's log at which the run begins.
    from: usize,
    part: Vec<u8>,
    err: String,
    heard: Instant,
    begun: Option<Begun>,
    phase: String,
    total: u64,
    batches: usize,
    whole: bool,
    fault: Option<String>,
    /// The caller's error in handling a batch.
    broken: Option<anyhow::Error>,
    silence: Duration,
}

impl Ear<'_> {
    fn hear(&mut self, text: &str) -> Result<()> {
        match Line::parse(text)? {
            Line::Begun(begun) => {
                self.phase = "arm".into();
                self.begun = Some(begun);
            }
            Line::Phase { phase } => self.phase = phase,
            Line::Beat { beat, hits } => self.phase = format!("run, {beat} s, {hits} hits"),
            Line::Total { total } => self.total = total,
            Line::End { end } => self.whole = end,
            Line::Batch(batch) => {
                self.fault = self.fault.take().or(batch.fault());
                self.phase = "read".into();
                if self.fault.is_none() {
                    self.batches += usize::from(!batch.slow);
                    (self.each)(*batch, self.total)?;
                }
            }
        }
        Ok(())
    }
}

impl Sink for Ear<'_> {
    fn out(&mut self, bytes: &[u8]) {
        self.heard = Instant::now();
        for &byte in bytes {
            if byte != b'\n' {
                self.part.push(byte);
                continue;
            }
            let text = String::from_utf8_lossy(&std::mem::take(&mut self.part)).into_owned();
            if self.broken.is_none()
                && let Err(error) = self.hear(&text)
            {
                self.broken = Some(error);
            }
        }
    }

    fn err(&mut self, bytes: &[u8]) {
        self.err += &String::from_utf8_lossy(bytes);
    }

    /// After any trouble, the guest's results prove nothing.
    fn gives_up(&mut self, log: &KernelLog) -> bool {
        self.fault.is_some()
            || self.broken.is_some()
            || log.worst(self.from).is_some()
            || self.heard.elapsed() > self.silence
    }
}

struct Nobody;

impl Sink for Nobody {
    fn out(&mut self, _: &[u8]) {}
    fn err(&mut self, _: &[u8]) {}
}
