//! os/signals.rs: Ctrl-C and SIGTERM, which end tracing cleanly, or at once; SIGHUP and SIGUSR1, which are requests.

use rustix::event::{PollFd, PollFlags, poll};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM, SIGUSR1};
use signal_hook::{flag, low_level};
use std::cell::RefCell;
use std::io;
use std::net::Shutdown;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread::JoinHandle;

/// SIGINT and SIGTERM. Until [`Signals::take_over`] the first one ends the process with status 130 or 143,
/// whatever its threads are doing; afterwards they are a descriptor to poll. The second one always ends it,
/// with that status.
#[derive(Debug)]
pub struct Signals {
    pipe: UnixStream,
    guard: RefCell<Option<Guard>>,
}

/// The thread that waits for the first signal, and the socket that dismisses it.
#[derive(Debug)]
struct Guard {
    dismissal: UnixStream,
    thread: JoinHandle<()>,
}

/// Ignores SIGINT, SIGTERM and SIGHUP from now on.
pub fn disregard() {
    for signal in [SIGINT, SIGTERM, SIGHUP] {
        // Without a handler the signal ends the process, as other signals do.
        let _ = flag::register(signal, Arc::default());
    }
}

impl Signals {
    /// Installs the handlers. `before_end` runs before a signal ends the preparations; other threads still run then.
    /// A signal that was ignored when the process started stays ignored, as under nohup.
    pub fn install(before_end: impl FnOnce() + Send + 'static) -> io::Result<Signals> {
        let (pipe, write) = UnixStream::pair()?;
        let again = Arc::new(AtomicBool::new(false));
        let last = Arc::new(AtomicUsize::new(0));
        let ignored = ignored();
        for signal in [SIGINT, SIGTERM].into_iter().filter(|signal| ignored >> (signal - 1) & 1 == 0) {
            // The order matters: on the first signal the flag is still clear, and is then set; a byte in the
            // pipe means that the number is recorded.
            flag::register_conditional_shutdown(signal, 128 + signal, Arc::clone(&again))?;
            flag::register(signal, Arc::clone(&again))?;
            flag::register_usize(signal, Arc::clone(&last), signal as usize)?;
            low_level::pipe::register(signal, write.try_clone()?)?;
        }
        let (dismissal, dismissed) = UnixStream::pair()?;
        let watched = pipe.try_clone()?;
        let thread = std::thread::Builder::new().spawn(move || {
            if wait(&watched, &dismissed) {
                before_end();
                low_level::exit(128 + last.load(Ordering::SeqCst) as i32);
            }
        })?;
        Ok(Signals { pipe, guard: RefCell::new(Some(Guard { dismissal, thread })) })
    }

    /// Ends the preparations: from now on the caller polls. A signal is either handled before this returns,
    /// and ends the process, or is still in the descriptor.
    pub fn take_over(&self) {
        let Some(Guard { dismissal, thread }) = self.guard.take() else { return };
        // Closing it would not be enough: a command held before its exec has it, too.
        let _ = dismissal.shutdown(Shutdown::Both);
        let _ = thread.join();
    }
}

/// SIGHUP and SIGUSR1 while tracing. The descriptor is readable when one has come.
#[derive(Debug)]
pub struct Requests {
    pipe: UnixStream,
    /// The handlers' end, which stays open even without a handler.
    _write: UnixStream,
    renew: Arc<AtomicBool>,
    show: Arc<AtomicBool>,
    /// Whether the process had a controlling terminal.
    terminal: bool,
}

/// The pending requests.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Asked {
    /// SIGHUP: reopen the output files.
    pub renew: bool,
    /// SIGUSR1: show the aggregations.
    pub show: bool,
    /// SIGHUP after the terminal was closed: end.
    pub end: bool,
}

impl Requests {
    /// Installs the handlers. Without files, SIGHUP ends the process as before, and stays ignored if it was.
    pub fn install(files: bool) -> io::Result<Requests> {
        let (pipe, write) = UnixStream::pair()?;
        pipe.set_nonblocking(true)?;
        let (renew, show) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicBool::new(false)));
        let ignored = ignored();
        for (signal, flag, wanted) in [(SIGUSR1, &show, true), (SIGHUP, &renew, files)] {
            if wanted && ignored >> (signal - 1) & 1 == 0 {
                flag::register(signal, Arc::clone(flag))?;
                low_level::pipe::register(signal, write.try_clone()?)?;
            }
        }
        Ok(Requests { pipe, _write: write, renew, show, terminal: has_terminal() })
    }

    /// Takes the requests since the last call.
    pub fn take(&self) -> Asked {
        // The bytes first: a later signal is in the flags, or in the next call.
        let _ = io::copy(&mut &self.pipe, &mut io::sink());
        let renew = self.renew.swap(false, Ordering::SeqCst);
        let end = renew && self.terminal && !has_terminal();
        Asked { renew, show: self.show.swap(false, Ordering::SeqCst), end }
    }
}

impl AsFd for Requests {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.pipe.as_fd()
    }
}

/// Whether the process has a controlling terminal that still exists.
fn has_terminal() -> bool {
    std::fs::File::open("/dev/tty").is_ok()
}

impl AsFd for Signals {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.pipe.as_fd()
    }
}

/// Waits for a signal; returns false if it is dismissed first.
fn wait(signals: &UnixStream, dismissed: &UnixStream) -> bool {
    loop {
        let mut both = [PollFd::new(signals, PollFlags::IN), PollFd::new(dismissed, PollFlags::IN)];
        if poll(&mut both, None).is_ok() {
            return !both[0].revents().is_empty();
        }
    }
}

/// Returns a bit for each ignored signal, from SigIgn in /proc.
fn ignored() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_are_taken_once() {
        let requests = Requests::install(true).unwrap();
        assert_eq!(requests.take(), Asked::default());
        low_level::raise(SIGUSR1).unwrap();
        assert!(crate::poll::is_readable(requests.as_fd()));
        assert_eq!(requests.take(), Asked { show: true, ..Asked::default() });
        low_level::raise(SIGHUP).unwrap();
        low_level::raise(SIGHUP).unwrap();
        assert_eq!(requests.take(), Asked { renew: true, ..Asked::default() });
        assert_eq!(requests.take(), Asked::default());
        assert!(!crate::poll::is_readable(requests.as_fd()));
    }
}
