//! os/output.rs: writing to descriptors whose reader may be slow, or gone.

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::FileType;
use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// How a descriptor takes what is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pace {
    /// A file: at once, or there is an error.
    File,
    /// A pipe, socket or terminal: as its reader reads. So many bytes do not block once it is writable.
    Reader {
        /// Bytes that never block then.
        most: usize,
    },
}

/// How a descriptor takes what is written, by the kind of its file.
pub fn pace(fd: BorrowedFd<'_>) -> Pace {
    // A pipe is writable if it has room for a page; a terminal may have less.
    const PIPE: usize = 4096;
    const TERMINAL: usize = 256;
    let kind = rustix::fs::fstat(fd).map(|stat| FileType::from_raw_mode(stat.st_mode));
    match kind {
        Ok(FileType::Fifo | FileType::Socket) => Pace::Reader { most: PIPE },
        Ok(FileType::CharacterDevice) if rustix::termios::isatty(fd) => Pace::Reader { most: TERMINAL },
        _ => Pace::File,
    }
}

/// The result of a wait for a reader.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ready {
    /// It takes more, or has gone.
    Writable,
    /// A signal came first.
    Signal,
    /// Neither yet: the time is over, or a handler of a signal has run.
    TimedOut,
}

/// Waits until the descriptor can be written, or `signal` becomes readable.
pub fn wait(fd: BorrowedFd<'_>, signal: Option<BorrowedFd<'_>>, timeout: Duration) -> Ready {
    let mut polled = vec![PollFd::from_borrowed_fd(fd, PollFlags::OUT)];
    polled.extend(signal.map(|signal| PollFd::from_borrowed_fd(signal, PollFlags::IN)));
    let timeout = Timespec::try_from(timeout).ok();
    // A signal handler that runs ends the wait early: then nothing is ready, and the caller waits again.
    let _ = poll(&mut polled, timeout.as_ref());
    let is_ready = |at: usize| polled.get(at).is_some_and(|fd: &PollFd<'_>| !fd.revents().is_empty());
    match (is_ready(0), is_ready(1)) {
        (true, _) => Ready::Writable,
        (false, true) => Ready::Signal,
        (false, false) => Ready::TimedOut,
    }
}

/// Standard output. Rust's own takes what is written to a closed descriptor as written.
pub struct Stdout;

impl io::Write for Stdout {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        write(&io::stdout(), bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Whether standard output was closed when the process began. Rust's start then opens /dev/null in its place, so this is
/// found out before: the C library runs the functions of this section first.
static CLOSED: AtomicBool = AtomicBool::new(false);

// SAFETY: the section holds pointers to functions, and this is one that needs nothing of Rust's start.
#[used]
#[unsafe(link_section = ".init_array")]
static BEFORE_START: extern "C" fn() = look;

extern "C" fn look() {
    // SAFETY: F_GETFD has no further argument and changes nothing.
    let flags = unsafe { libc::fcntl(libc::STDOUT_FILENO, libc::F_GETFD) };
    CLOSED.store(flags == -1, Ordering::Relaxed);
}

/// Makes writes to a standard output that was closed fail, instead of going to /dev/null.
pub fn keep_closed() {
    if CLOSED.load(Ordering::Relaxed)
        && let Ok(unwritable) = std::fs::File::open("/dev/null")
    {
        let _ = rustix::stdio::dup2_stdout(unwritable);
    }
}

/// Writes some of the bytes; returns how many.
pub fn write(fd: &impl AsFd, bytes: &[u8]) -> io::Result<usize> {
    Ok(rustix::io::retry_on_intr(|| rustix::io::write(fd, bytes))?)
}
