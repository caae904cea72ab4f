//! backend/bpf/sweep.rs: the removal of events, by a process of its own: it takes seconds for a thousand places, and has to
//! be done however the session ends.

use super::events::{Tracefs, Whose};
use kinst_os::bpf::Attached;
use kinst_os::signals;
use std::io::{self, Read as _};
use std::os::unix::process::CommandExt as _;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// The first argument of the command that is the sweeper; the session's process is the second one.
pub(crate) const WORD: &str = "--remove-events-of";

/// How long an event may be in use after its session has ended: the kernel closes its descriptors one after the other.
const PATIENCE: Duration = Duration::from_secs(60);

/// A process that waits for the end of this one, whatever ends it, and then removes its events. Dropped, it begins.
#[derive(Debug)]
pub(crate) struct Sweeper(#[allow(dead_code, reason = "its input ends with it")] Child);

impl Sweeper {
    pub(crate) fn start() -> io::Result<Sweeper> {
        command(std::process::id()).stdin(Stdio::piped()).spawn().map(Sweeper)
    }
}

/// The command that sweeps after a session, in a group of its own: Ctrl-C is not for it.
fn command(session: u32) -> Command {
    let mut command = Command::new("/proc/self/exe");
    command.arg0("dtrace").arg(WORD).arg(session.to_string()).current_dir("/");
    command.stdout(Stdio::null()).stderr(Stdio::null()).process_group(0);
    command
}

/// Leaves it to a process of its own to take programs away from functions: the kernel waits for each of them until no
/// thread is in what ran it, a seventh of a second in 6.1 and 6.12. Where there can be no process, this one waits.
pub(crate) fn let_go(attached: Vec<Attached>) {
    if attached.is_empty() {
        return;
    }
    // It inherits the descriptors, and ends: the kernel closes them.
    let inherited = attached.iter().all(|attached| kinst_os::inherit(attached).is_ok());
    if inherited {
        let _ = command(0).stdin(Stdio::null()).spawn();
    }
}

/// What the process does. Errors have no one to read them: what stays is removed by the next session.
pub(crate) fn sweep(session: u32) {
    // Who signals all that is called dtrace means the session.
    signals::disregard();
    let Ok(tracefs) = Tracefs::find() else { return };
    tracefs.remove_all(Whose::Gone);
    let _ = io::stdin().read_to_end(&mut Vec::new());
    let begun = Instant::now();
    while !tracefs.remove_all(Whose::Process(session)) && begun.elapsed() < PATIENCE {
        std::thread::sleep(Duration::from_millis(50));
    }
}
