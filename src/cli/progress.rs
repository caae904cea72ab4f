//! cli/progress.rs: the progress of long work, on a terminal.

use std::io::IsTerminal;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use super::output::eprint;
use kinst_sites::Watch;

/// One line on standard error, if that is a terminal. It appears once the work has taken [`SHOWN_AFTER`].
pub(crate) struct Progress {
    bar: ProgressBar,
    /// The description of the current work.
    what: Mutex<String>,
    /// Whether another program has the terminal: debuginfod-find shows its own progress.
    lent: AtomicBool,
    terminal: bool,
}

const SHOWN_AFTER: Duration = Duration::from_millis(500);
const TICK: Duration = Duration::from_millis(100);

impl Default for Progress {
    fn default() -> Progress {
        Progress {
            bar: ProgressBar::hidden(),
            what: Mutex::default(),
            lent: AtomicBool::new(false),
            terminal: std::io::stderr().is_terminal(),
        }
    }
}

impl Progress {
    /// Does the work; `what` describes it, and is shown if the work takes long.
    pub(crate) fn during<T>(&self, what: &str, work: impl FnOnce() -> T) -> T {
        if !self.terminal {
            return work();
        }
        self.bar.reset();
        what.clone_into(&mut self.what());
        self.lent.store(false, Ordering::Relaxed);
        self.show_time();
        let (end, ended) = channel::<()>();
        let done = thread::scope(|scope| {
            scope.spawn(move || {
                if ended.recv_timeout(SHOWN_AFTER) == Err(RecvTimeoutError::Timeout) {
                    self.bar.set_draw_target(ProgressDrawTarget::stderr());
                    while ended.recv_timeout(TICK) == Err(RecvTimeoutError::Timeout) {
                        if !self.lent.load(Ordering::Relaxed) {
                            self.bar.tick();
                        }
                    }
                }
            });
            // Dropped after the work, even if it panics.
            let _end = end;
            work()
        });
        self.clear();
        done
    }

    /// Prints a line, and leaves the terminal to the program that it announces, until the next work.
    pub(crate) fn lend(&self, text: &str) {
        self.lent.store(true, Ordering::Relaxed);
        self.bar.suspend(|| eprint(text));
    }

    /// Removes the line from the screen.
    pub(crate) fn clear(&self) {
        if !self.bar.is_hidden() {
            self.bar.finish_and_clear();
            self.bar.set_draw_target(ProgressDrawTarget::hidden());
        }
    }

    fn what(&self) -> MutexGuard<'_, String> {
        self.what.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Shows the elapsed time, for work of unknown length.
    fn show_time(&self) {
        let what = self.what().clone();
        self.in_style("{spinner} {msg} {elapsed}", what);
    }

    fn in_style(&self, template: &str, message: String) {
        if let Ok(style) = ProgressStyle::with_template(template) {
            self.bar.set_style(style);
        }
        self.bar.set_message(message);
    }
}

/// Shows the progress of indexing, as a part of other work.
pub(super) struct Indexing {
    progress: Arc<Progress>,
}

impl Indexing {
    pub(super) fn new(progress: Arc<Progress>) -> Indexing {
        Indexing { progress }
    }
}

impl Watch for Indexing {
    fn start(&self, bytes: u64) {
        let Progress { bar, lent, .. } = &*self.progress;
        lent.store(false, Ordering::Relaxed);
        bar.set_length(bytes);
        bar.set_position(0);
        self.progress.in_style("{msg} {bar:30} {percent}% {eta}", "indexing debug information".to_owned());
    }

    fn advance(&self, bytes: u64) {
        self.progress.bar.inc(bytes);
    }

    fn done(&self) {
        self.progress.show_time();
    }
}
