//! Steps: long work, each with one line at its end, and progress while it runs.

use std::fmt::Write as _;
use std::io::IsTerminal;
use std::sync::{Arc, LazyLock, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::Result;
use indicatif::{MultiProgress, ProgressBar, ProgressStyle};

/// The longest time without a line while a step runs.
const SILENCE: Duration = Duration::from_secs(8);
/// A shorter step that fetches nothing prints no line.
const SHORT: Duration = Duration::from_secs(1);

/// A running step.
pub struct Step {
    shared: Arc<Shared>,
}

struct Shared {
    name: String,
    begin: Instant,
    state: Mutex<State>,
    /// The step's line on a terminal.
    bar: Option<ProgressBar>,
}

#[derive(Default)]
struct State {
    far: String,
    /// The bytes that the step has fetched.
    bytes: u64,
}

/// All running steps, and the time of the last line.
struct Board {
    running: Vec<Arc<Shared>>,
    last: Instant,
    /// Whether the thread that reports progress runs.
    watched: bool,
}

static BOARD: LazyLock<Mutex<Board>> =
    LazyLock::new(|| Mutex::new(Board { running: Vec::new(), last: Instant::now(), watched: false }));
static BARS: LazyLock<Option<MultiProgress>> =
    LazyLock::new(|| std::io::stderr().is_terminal().then(MultiProgress::new));

/// Runs a step. Its line at the end has its name, the fetched bytes, and its time; a failed step has no line, as the
/// error follows.
pub fn step<T>(name: impl Into<String>, run: impl FnOnce(&Step) -> Result<T>) -> Result<T> {
    let step = Step::begin(name.into());
    let result = run(&step);
    step.end(result.is_ok());
    result
}

/// Writes a line in between the lines of the steps.
pub fn say(line: &str) {
    locked(&BOARD).last = Instant::now();
    match &*BARS {
        // A closed terminal does not matter.
        Some(bars) => drop(bars.println(line)),
        None => eprintln!("{line}"),
    }
}

impl Step {
    fn begin(name: String) -> Step {
        let bar = BARS.as_ref().map(|bars| {
            let bar = bars.add(ProgressBar::new_spinner());
            if let Ok(style) = ProgressStyle::with_template("  {spinner} {prefix} {wide_msg} {elapsed}") {
                bar.set_style(style);
            }
            bar.set_prefix(name.clone());
            bar.enable_steady_tick(Duration::from_millis(200));
            bar
        });
        let shared = Arc::new(Shared { name, begin: Instant::now(), state: Mutex::default(), bar });
        let mut board = locked(&BOARD);
        if board.running.is_empty() {
            board.last = Instant::now();
        }
        board.running.push(shared.clone());
        if !std::mem::replace(&mut board.watched, true) {
            thread::spawn(watch);
        }
        Step { shared }
    }

    /// Records the progress of the step, to be shown.
    pub fn at(&self, far: impl Into<String>) {
        let far = far.into();
        if let Some(bar) = &self.shared.bar {
            bar.set_message(far.clone());
        }
        locked(&self.shared.state).far = far;
    }

    /// Adds to the bytes that the step has fetched.
    pub fn brings(&self, bytes: u64) {
        locked(&self.shared.state).bytes += bytes;
    }

    fn end(self, good: bool) {
        locked(&BOARD).running.retain(|running| !Arc::ptr_eq(running, &self.shared));
        if let Some(bar) = &self.shared.bar {
            bar.finish_and_clear();
        }
        let bytes = locked(&self.shared.state).bytes;
        let time = self.shared.begin.elapsed();
        if good && (bytes > 0 || time >= SHORT) {
            let size = if bytes > 0 { format!("{}, ", megabytes(bytes)) } else { String::new() };
            say(&format!("  {:<58} {:>16}", self.shared.name, format!("{size}{:.0} s", time.as_secs_f32())));
        }
    }
}

/// Without a terminal, reports the running steps and their progress whenever no line was written for a while.
fn watch() {
    loop {
        thread::sleep(Duration::from_millis(500));
        let mut board = locked(&BOARD);
        if BARS.is_some() || board.running.is_empty() || board.last.elapsed() < SILENCE {
            continue;
        }
        board.last = Instant::now();
        let mut line = String::new();
        for step in &board.running {
            let far = locked(&step.state).far.clone();
            let far = if far.is_empty() { String::new() } else { format!(": {far}") };
            let _ = write!(line, "  … {}{far} ({} s)", step.name, step.begin.elapsed().as_secs());
        }
        drop(board);
        eprintln!("{line}");
    }
}

/// Bytes in megabytes of a million.
pub fn megabytes(bytes: u64) -> String {
    format!("{} MB", bytes.div_ceil(1_000_000))
}

/// Locks a mutex, even one that a panicking thread held: its text can still be printed.
fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
