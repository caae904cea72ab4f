//! tests/oracle/uprobes/events.rs: uprobe events of tracefs.

use crate::needs;
use std::fs::OpenOptions;
use std::io::Write as _;
use std::path::{Path, PathBuf};

const TRACEFS: &str = "/sys/kernel/tracing";

/// Whether programs can be probed here.
#[track_caller]
pub(super) fn can_probe() -> bool {
    let there = Path::new(TRACEFS).join("uprobe_events").exists();
    let may = kinst::os::identity().euid == 0 && cfg!(target_arch = "x86_64");
    if !there || !may {
        needs::missing("uprobes", "run as root on x86-64, on a kernel with CONFIG_UPROBE_EVENTS");
    }
    there && may
}

/// Enabled events, each with one or more probes in a file. Dropping it removes them.
pub(super) struct Events {
    group: String,
    file: PathBuf,
    count: usize,
}

impl Events {
    /// Defines and enables events at the offsets of a file, so many probes in each.
    pub(super) fn new(test: &str, file: &Path, offsets: &[usize], together: usize) -> Events {
        let group = format!("oracle_{test}_{}", std::process::id());
        let mut events = Events { group, file: file.to_owned(), count: 0 };
        for chunk in offsets.chunks(together) {
            let name = events.name(events.count);
            events.count += 1;
            let line = |offset: &usize| format!("p:{name} {}:{offset:#x}\n", file.display());
            command(&chunk.iter().map(line).collect::<String>()).expect("the events");
            std::fs::write(enable(&name), "1").expect("enabled events");
        }
        events
    }

    fn name(&self, number: usize) -> String {
        format!("{}/e{number}", self.group)
    }

    /// Returns the number of hits of each event.
    pub(super) fn hits(&self) -> Vec<u64> {
        let profile = std::fs::read_to_string(Path::new(TRACEFS).join("uprobe_profile")).expect("the hits");
        let hits = |number| {
            // `PATH EVENT HITS`
            let of = |line: &str| {
                let mut words = line.split_ascii_whitespace().rev();
                let (hits, name, path) = (words.next()?, words.next()?, words.next()?);
                let is_it = name == format!("e{number}") && Path::new(path) == self.file;
                is_it.then(|| hits.parse::<u64>().ok())?
            };
            profile.lines().filter_map(of).sum()
        };
        (0..self.count).map(hits).collect()
    }
}

impl Drop for Events {
    fn drop(&mut self) {
        for name in (0..self.count).map(|number| self.name(number)) {
            let _ = std::fs::write(enable(&name), "0");
            let _ = command(&format!("-:{name}\n"));
        }
    }
}

fn enable(name: &str) -> PathBuf {
    Path::new(TRACEFS).join("events").join(name).join("enable")
}

fn command(text: &str) -> std::io::Result<()> {
    let path = Path::new(TRACEFS).join("uprobe_events");
    OpenOptions::new().append(true).open(path)?.write_all(text.as_bytes())
}
