//! backend/bpf/sweep.rs: removal of events in a separate process, however the session ends.
//! It takes seconds for a thousand places.

use super::events::{Tracefs, Whose};
use kinst_os::bpf::Attached;
use kinst_os::signals;
use std::io::{self, Read as _};
use std::os::unix::process::CommandExt as _;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// The first argument of the sweeper's command; the second is the session's PID.
pub(crate) const WORD: &str = "--remove-events-of";

/// The time that an event may stay in use after its session: the kernel closes the session's descriptors
/// one by one.
const PATIENCE: Duration = Duration::from_secs(60);

/// A process that waits for the end of this one, whatever ends it, and then removes its events. Dropping it
/// starts the removal.
#[derive(Debug)]
pub(crate) struct Sweeper(#[allow(dead_code, reason = "its input ends with it")] Child);

impl Sweeper {
    pub(crate) fn start() -> io::Result<Sweeper> {
        command(std::process::id()).stdin(Stdio::piped()).spawn().map(Sweeper)
    }
}

/// The command that sweeps after a session, in a separate process group, as Ctrl-C must not reach it.
fn command(session: u32) -> Command {
    let mut command = Command::new("/proc/self/exe");
    command.arg0("dtrace").arg(WORD).arg(session.to_string()).current_dir("/");
    command.stdout(Stdio::null()).stderr(Stdio::null()).process_group(0);
    command
}

/// Detaches programs from functions in a separate process: for each, the kernel waits until no thread is in
/// the code that ran it, a seventh of a second in 6.1 and 6.12. If no process can be started, this one
/// waits.
pub(crate) fn let_go(attached: Vec<Attached>) {
    if attached.is_empty() {
        return;
    }
    // The child inherits the descriptors and exits: the kernel closes them.
    let inherited = attached.iter().all(|attached| kinst_os::inherit(attached).is_ok());
    if inherited {
        let _ = command(0).stdin(Stdio::null()).spawn();
    }
}

/// Runs the sweeper. Errors have no reader: the next session removes any event that is left.
pub(crate) fn sweep(session: u32) {
    // A signal to all processes named dtrace is meant for the session.
    signals::disregard();
    let Ok(tracefs) = Tracefs::find() else { return };
    tracefs.remove_all(Whose::Gone);
    let _ = io::stdin().read_to_end(&mut Vec::new());
    let begun = Instant::now();
    while !tracefs.remove_all(Whose::Process(session)) && begun.elapsed() < PATIENCE {
        std::thread::sleep(Duration::from_millis(50));
    }
}
