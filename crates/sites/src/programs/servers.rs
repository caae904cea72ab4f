//! sites/programs/servers.rs: the user's debuginfod servers.

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use kinst_debuginfo::{BuildId, Searched};

/// A callback that reports what the program is waiting for.
pub(super) type Say = dyn Fn(&str) + Send + Sync;

/// The user's debuginfod servers.
pub(super) struct Servers {
    say: Box<Say>,
    /// Whether a query has failed: others would, too, and each may take its time.
    failed: AtomicBool,
}

impl Servers {
    pub(super) fn new(say: Box<Say>) -> Servers {
        Servers { say, failed: AtomicBool::new(false) }
    }

    /// Queries them for a file that was not found.
    pub(super) fn ask(&self, searched: &mut Searched, wanted: Option<&BuildId>, of: &Path) {
        if !self.failed.load(Ordering::Relaxed)
            && !searched.ask(wanted, &of.display().to_string(), &*self.say)
        {
            self.failed.store(true, Ordering::Relaxed);
        }
    }
}
