//! os/output.rs: writing to descriptors whose reader may be slow, or closed.

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::FileType;
use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// How fast a descriptor accepts writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pace {
    /// A file: at once, or with an error.
    File,
    /// A pipe, socket or terminal: as fast as its reader reads. Up to `most` bytes do not block once it is
    /// writable.
    Reader {
        /// Bytes that never block then.
        most: usize,
    },
}

/// Returns how fast a descriptor accepts writes, by the kind of its file.
pub fn pace(fd: BorrowedFd<'_>) -> Pace {
    // A pipe is writable if a page fits; a terminal may accept less.
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
    /// The reader accepts more, or has closed its end.
    Writable,
    /// A signal came first.
    Signal,
    /// Neither yet: the timeout expired, or a signal handler ran.
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

/// Standard output. The one of Rust treats writes to a closed descriptor as successful.
pub struct Stdout;

impl io::Write for Stdout {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        write(&io::stdout(), bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Whether standard output was closed when the process began. Rust's startup then opens /dev/null in its
/// place, so the check runs earlier: the C library first calls the functions in this section.
static CLOSED: AtomicBool = AtomicBool::new(false);

// SAFETY: the section holds pointers to functions, and this one needs nothing from Rust's startup.
#[used]
#[unsafe(link_section = ".init_array")]
static BEFORE_START: extern "C" fn() = look;

extern "C" fn look() {
    // SAFETY: F_GETFD has no further argument and changes nothing.
    let flags = unsafe { libc::fcntl(libc::STDOUT_FILENO, libc::F_GETFD) };
    CLOSED.store(flags == -1, Ordering::Relaxed);
}

/// Makes writes to a closed standard output fail, instead of going to /dev/null.
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
