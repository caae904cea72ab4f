//! os/poll.rs: poll(2).

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::os::fd::BorrowedFd;
use std::time::Duration;

/// Waits until a descriptor is readable, the timeout expires, or a signal arrives; returns which are
/// readable.
pub fn wait(fds: &[BorrowedFd<'_>], timeout: Duration) -> Vec<bool> {
    let mut polled: Vec<PollFd<'_>> =
        fds.iter().map(|fd| PollFd::from_borrowed_fd(*fd, PollFlags::IN)).collect();
    let timeout = Timespec::try_from(timeout).ok();
    // A signal ends the wait early; nothing else can go wrong here.
    let _ = poll(&mut polled, timeout.as_ref());
    polled.iter().map(|fd| !fd.revents().is_empty()).collect()
}

/// Whether a descriptor is readable now.
pub fn is_readable(fd: BorrowedFd<'_>) -> bool {
    wait(&[fd], Duration::ZERO) == [true]
}
