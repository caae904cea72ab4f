//! backend/bpf/events.rs: kprobe events of tracefs: one event per program, with all its places.

use super::error::{EnableError, Request};
use std::collections::{BTreeMap, HashSet};
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

/// The name of our event groups is this prefix and the process's PID; outside the initial PID namespace,
/// the namespace's number follows, as in `dtrace_7_4026532201`.
const GROUP: &str = "dtrace_";

/// The mount point of tracefs.
const ROOT: &str = "/sys/kernel/tracing";

/// The kernel's interface to its events.
#[derive(Debug)]
pub(super) struct Tracefs {
    root: PathBuf,
}

/// An event that this session defined. Its owner removes it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Event {
    /// `group/name`
    name: String,
}

/// The index of a place that the kernel refuses, and the error.
pub(super) type Refused = (usize, io::Error);

/// The number of hits at the places of events.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Hits {
    pub hits: u64,
    /// Hits while another probe was being handled.
    pub missed: u64,
}

impl Tracefs {
    /// Finds tracefs, or mounts it if it is not mounted and the process may.
    pub(super) fn find_or_mount() -> Result<Tracefs, EnableError> {
        match Tracefs::find() {
            Err(EnableError::Tracefs) if kinst_os::mount("tracefs", ROOT).is_ok() => Tracefs::find(),
            found => found,
        }
    }

    /// Finds tracefs at its usual mount points.
    pub(super) fn find() -> Result<Tracefs, EnableError> {
        let roots = [ROOT, "/sys/kernel/debug/tracing"].map(Path::new);
        if let Some(root) = roots.into_iter().find(|root| root.join("kprobe_events").exists()) {
            return Ok(Tracefs { root: root.to_owned() });
        }
        // A directory that others may not list contains nothing for them.
        let closed =
            |root: &Path| fs::read_dir(root).is_err_and(|e| e.kind() == io::ErrorKind::PermissionDenied);
        Err(match roots {
            roots if roots.into_iter().any(|root| root.join("trace").exists()) => EnableError::KprobeEvents,
            roots if roots.into_iter().any(closed) => EnableError::Rights(Request::Tracefs),
            _ => EnableError::Tracefs,
        })
    }

    /// Defines an event at all places that the kernel accepts; returns the others with their errors.
    pub(super) fn define(&self, number: usize, places: &[u64]) -> io::Result<(Option<Event>, Vec<Refused>)> {
        let session = session(std::process::id());
        // The names in kprobe_profile have no group.
        let event = Event { name: format!("{GROUP}{session}/p{session}_{number}") };
        let mut file = self.open()?;
        let mut refused = Vec::new();
        for (index, place) in places.iter().enumerate() {
            // One write per line, as an error does not identify the line. The kernel takes places that are given
            // only by address for duplicates; an argument with a distinct number distinguishes them.
            if let Err(error) =
                file.write_all(format!("p:{} {place:#x} n=\\{index}\n", event.name).as_bytes())
            {
                refused.push((index, error));
            }
        }
        let there = refused.len() < places.len();
        Ok((there.then_some(event), refused))
    }

    /// The places of ftrace's calls in functions, in order; available since 6.5.
    pub(super) fn ftraced(&self) -> io::Result<Vec<u64>> {
        let text = fs::read_to_string(self.root.join("available_filter_functions_addrs"))?;
        let address = |line: &str| u64::from_str_radix(line.split(' ').next()?, 16).ok();
        let mut places: Vec<u64> = text.lines().filter_map(address).collect();
        places.sort_unstable();
        Ok(places)
    }

    fn open(&self) -> io::Result<File> {
        OpenOptions::new().append(true).open(self.root.join("kprobe_events"))
    }

    /// Returns the id of an event, which perf uses.
    pub(super) fn number(&self, event: &Event) -> io::Result<u64> {
        let text = fs::read_to_string(self.root.join("events").join(&event.name).join("id"))?;
        text.trim().parse().map_err(io::Error::other)
    }

    /// Removes an event that is not in use any more.
    pub(super) fn remove(&self, event: &Event) -> io::Result<()> {
        self.open()?.write_all(format!("-:{}\n", event.name).as_bytes())
    }

    /// Returns the hit counts of all events of the system.
    pub(super) fn profile(&self) -> io::Result<Profile> {
        fs::read_to_string(self.root.join("kprobe_profile")).map(Profile)
    }

    /// Removes the events of some processes. Returns whether none is left.
    pub(super) fn remove_all(&self, whose: Whose) -> bool {
        // Another session may be removing the same events; the next session removes any that are left.
        let stay = self.events(whose).iter().filter(|event| self.remove(event).is_err()).count();
        stay == 0
    }

    /// The events of some processes, each with the number of its places.
    pub(super) fn counted(&self, whose: Whose) -> BTreeMap<String, usize> {
        let text = fs::read_to_string(self.root.join("kprobe_events")).unwrap_or_default();
        let mut events = BTreeMap::new();
        for name in text.lines().filter_map(event_of) {
            *events.entry(name.to_owned()).or_default() += 1;
        }
        events.retain(|name, _| is_of(name, whose));
        events
    }

    fn events(&self, whose: Whose) -> Vec<Event> {
        self.counted(whose).into_keys().map(|name| Event { name }).collect()
    }
}

/// Whether a PID namespace may still have a process; a process's namespace is unknown if we may not read it.
fn has_processes(namespace: u64) -> bool {
    let Ok(processes) = fs::read_dir("/proc") else { return true };
    processes.flatten().any(|process| match fs::metadata(process.path().join("ns/pid")) {
        Ok(found) => found.ino() == namespace,
        Err(error) => error.kind() == io::ErrorKind::PermissionDenied,
    })
}

/// The processes whose events are selected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Whose {
    Process(u32),
    /// Processes that have ended.
    Gone,
}

/// The contents of kprobe_profile.
#[derive(Debug)]
pub(super) struct Profile(String);

impl Profile {
    /// Returns the total hits of the events.
    pub(super) fn of(&self, events: &[Event]) -> Hits {
        let names: HashSet<&str> = events.iter().filter_map(|event| event.name.rsplit('/').next()).collect();
        let mut all = Hits::default();
        for hits in self.0.lines().filter_map(|line| profile(line, |name| names.contains(name))) {
            all.hits += hits.hits;
            all.missed += hits.missed;
        }
        all
    }
}

/// Parses a line of kprobe_profile: the event's name, its hits and its misses.
fn profile(line: &str, is_meant: impl Fn(&str) -> bool) -> Option<Hits> {
    let mut words = line.split_ascii_whitespace();
    words.next().filter(|name| is_meant(name))?;
    let mut number = || words.next()?.parse().ok();
    Some(Hits { hits: number()?, missed: number()? })
}

/// Returns the part of a session's event names that identifies it.
fn session(process: u32) -> String {
    match kinst_os::pid_namespace() {
        Some(namespace) => format!("{process}_{namespace}"),
        None => process.to_string(),
    }
}

/// Returns the name of one of our events from a line of kprobe_events, `p:group/name place`, or `None` for
/// other events.
fn event_of(line: &str) -> Option<&str> {
    let name = line.split_once(':')?.1.split_ascii_whitespace().next()?;
    parts(name).map(|_| name)
}

/// The PID and the namespace in an event's name.
fn parts(name: &str) -> Option<(u32, Option<u64>)> {
    let group = name.strip_prefix(GROUP)?.split_once('/')?.0;
    match group.split_once('_') {
        Some((process, namespace)) => Some((process.parse().ok()?, Some(namespace.parse().ok()?))),
        None => Some((group.parse().ok()?, None)),
    }
}

fn is_of(name: &str, whose: Whose) -> bool {
    let Some((process, namespace)) = parts(name) else { return false };
    let own = kinst_os::pid_namespace();
    match whose {
        Whose::Process(wanted) => wanted == process && namespace == own,
        Whose::Gone if namespace == own => !Path::new("/proc").join(process.to_string()).exists(),
        // The initial PID namespace sees the processes of all others.
        Whose::Gone => own.is_none() && namespace.is_some_and(|namespace| !has_processes(namespace)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_tracefs() {
        assert_eq!(
            profile("  p0      1000        3", |name| name == "p0"),
            Some(Hits { hits: 1000, missed: 3 })
        );
        assert_eq!(profile("  p1      1000        3", |name| name == "p0"), None);
        let event = |process| format!("dtrace_{}/p0", session(process));
        let gone = event(u32::MAX);
        assert_eq!(event_of(&format!("p:{gone} 0xffffffff81000000")), Some(&*gone));
        assert!(is_of(&gone, Whose::Gone) && !is_of(&gone, Whose::Process(7)));
        assert!(!is_of("dtrace_1_7/p0", Whose::Process(1)));
        let own = event(std::process::id());
        assert_eq!(event_of(&format!("p:{own} vfs_read+4")), Some(&*own));
        assert!(!is_of(&own, Whose::Gone) && is_of(&own, Whose::Process(std::process::id())));
        assert_eq!(event_of("p:kprobes/mine vfs_read"), None);
    }
}
