//! os/signals.rs: Ctrl-C: the first ends tracing cleanly, the second at once.

use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::{flag, low_level};
use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// SIGINT and SIGTERM as a descriptor to poll.
#[derive(Debug)]
pub struct Signals {
    pipe: UnixStream,
}

impl Signals {
    /// Installs the handlers. A signal that was ignored when the process started stays ignored, as under nohup.
    pub fn install() -> io::Result<Signals> {
        let (pipe, write) = UnixStream::pair()?;
        let again = Arc::new(AtomicBool::new(false));
        let ignored = ignored();
        for signal in [SIGINT, SIGTERM].into_iter().filter(|signal| ignored >> (signal - 1) & 1 == 0) {
            // The order matters: on the first signal the flag is still clear, and is then set.
            flag::register_conditional_shutdown(signal, 0, Arc::clone(&again))?;
            flag::register(signal, Arc::clone(&again))?;
            low_level::pipe::register(signal, write.try_clone()?)?;
        }
        Ok(Signals { pipe })
    }
}

impl AsFd for Signals {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.pipe.as_fd()
    }
}

/// Returns a bit for each ignored signal, from SigIgn in /proc.
fn ignored() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or(0)
}
