//! Running cases in guests, as many guests at a time as there are workers.

use std::collections::{BTreeMap, VecDeque};
use std::ffi::OsStr;
use std::path::PathBuf;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Result, bail};

use super::Options;
use super::case::{Case, Ending, Shape};
use super::judge::{Outcome, judge};
use super::plan::groups;
use super::pushed::Pushed;
use crate::kernels::{Arch, Name};
use crate::pace;
use crate::tally::Tally;
use crate::vm::contents::{Contents, STORE};
use crate::vm::machine::{Captured, End, Machine};
use crate::vm::{self, Guest, programs};

/// The number of guests that may run at a time; it may grow during the run.
pub(crate) struct Workers {
    free: Mutex<usize>,
    more: Condvar,
}

impl Workers {
    pub(crate) fn new(number: usize) -> Workers {
        Workers { free: Mutex::new(number), more: Condvar::new() }
    }

    /// One for each processor.
    pub(crate) fn all() -> Workers {
        Workers::new(most())
    }

    /// Permits one more guest.
    pub(crate) fn add(&self) {
        *locked(&self.free) += 1;
        self.more.notify_one();
    }

    fn take(&self) {
        let mut free = locked(&self.free);
        while *free == 0 {
            free = self.more.wait(free).unwrap_or_else(PoisonError::into_inner);
        }
        *free -= 1;
    }
}

fn most() -> usize {
    thread::available_parallelism().map_or(1, Into::into)
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Cases that share a guest, and the guest.
struct Job<'a> {
    cases: Vec<&'a Case>,
    guest: Guest,
    contents: Contents,
}

/// The parts that all guests of a run share.
struct Stock<'a> {
    kernel: Name,
    options: &'a Options,
    built: Contents,
    pushed: Mutex<Pushed>,
}

/// How a case failed.
struct Failed<'a> {
    case: &'a Case,
    guest: Guest,
    contents: Contents,
    seconds: f32,
    faults: Vec<String>,
}

/// Runs cases on one kernel. Those that fail in a sound kernel run once more at the end, one at a time.
pub(super) fn cases(
    all: &[Case],
    kernel: Name,
    options: &Options,
    workers: &Workers,
    tally: &mut Tally,
) -> Result<()> {
    let wanted = all.iter().filter(|case| case.is_for(options.arch, kernel));
    let wanted: Vec<&Case> = wanted.flat_map(|case| std::iter::repeat_n(case, options.repeat)).collect();
    let groups = groups(&wanted);
    let stock = Stock::new(&groups, kernel, options)?;
    let groups = Mutex::new(VecDeque::from(groups));
    let (shared, failed) = (Mutex::new(&mut *tally), Mutex::new(Vec::new()));
    thread::scope(|scope| {
        for _ in 0..most() {
            scope.spawn(|| {
                loop {
                    workers.take();
                    let next = locked(&groups).pop_front();
                    let Some(cases) = next else { return workers.add() };
                    match stock.job(&cases) {
                        Ok(job) => run(job, &shared, &failed),
                        Err(error) => {
                            let faults = [format!("{error:#}")];
                            cases.iter().for_each(|case| {
                                locked(&shared).case(&title(options.arch, kernel, case), 0.0, &faults);
                            });
                        }
                    }
                    workers.add();
                }
            });
        }
    });
    let (boots, time) = pace::boots();
    tally.took(&format!("{boots} boots of guests so far, in the time of the cases"), time.as_secs_f32());
    for first in failed.into_inner().unwrap_or_else(PoisonError::into_inner) {
        once_more(first, tally);
    }
    Ok(())
}

impl<'s> Stock<'s> {
    fn new(groups: &[Vec<&Case>], kernel: Name, options: &'s Options) -> Result<Stock<'s>> {
        let no_module = !groups.iter().any(|group| group[0].guest.module);
        let &Options { arch, release, tested, .. } = options;
        let built = vm::built(&Guest { arch, kernel, release, tested, no_module, ..Guest::default() })?;
        let pushed = Mutex::new(Pushed::new(vm::kernel(arch, kernel)?, programs::stripped(release)?));
        Ok(Stock { kernel, options, built, pushed })
    }

    /// The guest of these cases, and its contents.
    fn job<'a>(&self, cases: &[&'a Case]) -> Result<Job<'a>> {
        let shape = &cases[0].guest;
        let (mut stored, mut runs) = (BTreeMap::new(), Vec::new());
        for case in cases {
            let files = case.push.iter().map(|file| locked(&self.pushed).get(file));
            let files = files.collect::<Result<Vec<PathBuf>>>()?;
            runs.push(begin(&files) + &case.script);
            for file in files {
                let name = file.file_name().map(OsStr::to_owned);
                if let Some(other) = stored.insert(name, file.clone()).filter(|other| *other != file) {
                    bail!(
                        "two files have one name in the guests: {} and {}",
                        other.display(),
                        file.display()
                    );
                }
            }
        }
        let contents = Contents {
            programs: self.built.programs.clone(),
            module: self.built.module.clone().filter(|_| shape.module),
            index: if shape.index { self.built.index.clone() } else { Vec::new() },
            stored: stored.into_values().collect(),
            runs,
            ..Contents::default()
        };
        Ok(Job { guest: guest(shape, self.kernel, self.options), contents, cases: cases.to_vec() })
    }
}

/// The first lines of a case's script: they remove the files of earlier cases, and copy the case's pushed files.
fn begin(pushed: &[PathBuf]) -> String {
    let names = pushed.iter().filter_map(|file| file.file_name());
    let stored: Vec<String> = names.map(|name| format!("/{STORE}/{}", name.display())).collect();
    match &*stored {
        [] => format!("{CLEAR}\n"),
        _ => format!("{CLEAR}; cp -al {} /root/\n", stored.join(" ")),
    }
}

/// The removal of earlier cases' files. A filesystem that is still mounted there is emptied, and stays.
const CLEAR: &str = "rm -rf /root/* /tmp/* 2>/dev/null";

fn guest(shape: &Shape, kernel: Name, options: &Options) -> Guest {
    Guest {
        arch: options.arch,
        accel: if shape.thread.as_deref() == Some("icount") { "icount" } else { "tcg" }.into(),
        kernel,
        smp: shape.smp,
        mem: shape.mem,
        append: shape.append.clone(),
        cpu: shape.cpu.clone(),
        thread: shape.thread.clone().filter(|thread| thread != "icount"),
        no_module: !shape.module,
        release: options.release,
        ..Guest::default()
    }
}

/// Runs a job's cases one after the other in one guest; a broken guest is replaced.
fn run<'a>(job: Job<'a>, tally: &Mutex<&mut Tally>, failed: &Mutex<Vec<Failed<'a>>>) {
    let mut machine: Option<Machine> = None;
    for (id, case) in job.cases.iter().enumerate() {
        let ended = one(&mut machine, &job.guest, &job.contents, id, case);
        let title = title(job.guest.arch, job.guest.kernel, case);
        if ended.faults.is_empty() || ended.in_trouble {
            locked(tally).case(&title, ended.seconds, &ended.faults);
        } else {
            Tally::again(&title, ended.seconds, &ended.faults);
            let contents = Contents { runs: vec![job.contents.runs[id].clone()], ..job.contents.clone() };
            let (guest, seconds, faults) = (job.guest.clone(), ended.seconds, ended.faults);
            locked(failed).push(Failed { case, guest, contents, seconds, faults });
        }
    }
}

/// Runs a failed case again, in a separate guest and with nothing else running.
fn once_more(first: Failed, tally: &mut Tally) {
    let title = title(first.guest.arch, first.guest.kernel, first.case);
    let ended = one(&mut None, &first.guest, &first.contents, 0, first.case);
    if ended.faults.is_empty() {
        let log = ended.log.map(|log| {
            format!("it passed when run by itself; the kernel's log of that run is in {}", log.display())
        });
        let faults: Vec<String> = first.faults.into_iter().chain(log).collect();
        tally.flaky(&title, first.seconds, &faults);
    } else {
        tally.case(&title, ended.seconds, &ended.faults);
    }
}

fn title(arch: Arch, kernel: Name, case: &Case) -> String {
    let arch = if arch == Arch::default() { String::new() } else { format!("{} ", arch.as_str()) };
    format!("{arch}{kernel} {}: {}", case.file, case.name)
}

/// How a case ended.
struct Ended {
    seconds: f32,
    faults: Vec<String>,
    /// Whether the kernel has reported something that it should not have.
    in_trouble: bool,
    /// The kernel's log, if the guest booted.
    log: Option<PathBuf>,
}

/// Runs a case in the existing guest, or in a new one. A guest that remains is fit for another case.
fn one(machine: &mut Option<Machine>, guest: &Guest, contents: &Contents, id: usize, case: &Case) -> Ended {
    let begin = Instant::now();
    let slowness = guest.kernel.slowness() * guest.arch.slowness();
    let running = machine.take().map_or_else(|| vm::boot(guest, contents), Ok);
    let result = running.and_then(|mut running| {
        let outcome = run_case(&mut running, id, case, case.timeout * slowness)?;
        Ok((running, outcome))
    });
    let seconds = begin.elapsed().as_secs_f32();
    match result {
        Ok((mut running, outcome)) => {
            let mut faults = judge(case, &outcome);
            let in_trouble = outcome.trouble.is_some() && case.ending != Ending::Panic;
            let log = Some(running.log.path().to_owned());
            if !faults.is_empty() {
                faults.push(evidence(&mut running, &outcome));
            }
            // After a crash or a time-out, and after any trouble, the guest's results prove nothing.
            let healthy = matches!(outcome.end, End::Exit(_)) && outcome.trouble.is_none();
            *machine = healthy.then_some(running);
            Ended { seconds, faults, in_trouble, log }
        }
        Err(error) => Ended { seconds, faults: vec![format!("{error:#}")], in_trouble: false, log: None },
    }
}

fn run_case(machine: &mut Machine, id: usize, case: &Case, limit: Duration) -> Result<Outcome> {
    let from = machine.log.position();
    machine.log.allow(&case.allowed_log);
    let mut output = Captured::default();
    let end = machine.run(id, pace::limit(limit), &mut output)?;
    let trouble = machine.log.first_trouble(from).map(Into::into);
    let log = machine.log.since(from).to_vec();
    Ok(Outcome { end, stdout: output.out, stderr: output.err, log, trouble })
}

/// The output and log that help to understand a failure.
fn evidence(machine: &mut Machine, outcome: &Outcome) -> String {
    let mut text = String::new();
    for (name, bytes) in [("stdout", &outcome.stdout), ("stderr", &outcome.stderr)] {
        let lines = String::from_utf8_lossy(bytes);
        let lines: Vec<_> = lines.lines().collect();
        let shown = &lines[lines.len().saturating_sub(40)..];
        let cut = if shown.len() < lines.len() { ", its end" } else { "" };
        text += &format!("{name}{cut}:\n");
        shown.iter().for_each(|line| text += &format!("    {line}\n"));
    }
    text += &format!("the kernel's log:\n{}", machine.log.excerpt(machine.run_start, 80));
    if outcome.end == End::Hang {
        text += &format!("\nthe CPUs:\n{}", machine.registers());
    }
    text
}
