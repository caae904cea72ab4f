//! os/system.rs: the running system, and the identity of this process.

use rustix::io::Errno;
use std::collections::BTreeSet;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;
use std::sync::OnceLock;

/// The ids of the user and group that this process belongs to.
#[derive(Clone, Copy, Debug)]
pub struct Identity {
    /// Real user.
    pub uid: u32,
    /// Effective user; 0 for root.
    pub euid: u32,
    /// Real group.
    pub gid: u32,
    /// Effective group.
    pub egid: u32,
}

/// Reads the ids of this process.
pub fn identity() -> Identity {
    use rustix::process::{getegid, geteuid, getgid, getuid};
    Identity {
        uid: getuid().as_raw(),
        euid: geteuid().as_raw(),
        gid: getgid().as_raw(),
        egid: getegid().as_raw(),
    }
}

/// The PID namespace of this process, unless it is the initial one: in another, processes have different ids
/// than those that the kernel traces by.
pub fn pid_namespace() -> Option<u64> {
    /// `PROC_PID_INIT_INO` of the kernel.
    const FIRST: u64 = 0xefff_fffc;
    static NAMESPACE: OnceLock<Option<u64>> = OnceLock::new();
    let number = || std::fs::metadata("/proc/self/ns/pid").ok().map(|namespace| namespace.ino());
    *NAMESPACE.get_or_init(|| number().filter(|number| *number != FIRST))
}

/// The release of the running kernel, as `uname -r` prints it.
pub fn release() -> String {
    rustix::system::uname().release().to_string_lossy().into_owned()
}

/// The version and patch level of the running kernel.
pub fn release_number() -> Option<(u32, u32)> {
    numbers_of(&release())
}

fn numbers_of(release: &str) -> Option<(u32, u32)> {
    let mut parts = release.split(|c: char| !c.is_ascii_digit());
    Some((parts.next()?.parse().ok()?, parts.next()?.parse().ok()?))
}

/// Whether the running kernel is a realtime kernel, according to `uname -v`.
pub fn is_realtime() -> bool {
    rustix::system::uname().version().to_string_lossy().contains("PREEMPT_RT")
}

/// The machine's name, as `uname -n` prints it.
pub fn hostname() -> String {
    rustix::system::uname().nodename().to_string_lossy().into_owned()
}

/// This process's command line, quoted for a shell.
pub fn command_line() -> String {
    let word = |word: std::ffi::OsString| {
        let word = word.to_string_lossy().into_owned();
        let plain = |c: char| c.is_alphanumeric() || "-_./:=,+@%".contains(c);
        match !word.is_empty() && word.chars().all(plain) {
            true => word,
            false => format!("'{}'", word.replace('\'', r"'\''")),
        }
    };
    std::env::args_os().map(word).collect::<Vec<_>>().join(" ")
}

/// Bytes of memory that the kernel could provide without swapping.
pub fn free_memory() -> Option<u64> {
    let text = std::fs::read_to_string("/proc/meminfo").ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
    line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()?.checked_mul(1024)
}

/// The CPUs that are `online`, or `possible`.
pub fn cpus(which: &str) -> std::io::Result<BTreeSet<u32>> {
    let text = std::fs::read_to_string(format!("/sys/devices/system/cpu/{which}"))?;
    numbers(&text).ok_or_else(|| std::io::Error::other("not a list of CPUs"))
}

/// Reads a list such as `0-2,5`.
pub(super) fn numbers(text: &str) -> Option<BTreeSet<u32>> {
    let ranges = text.trim().split(',').map(|range| {
        let (first, last) = range.split_once('-').unwrap_or((range, range));
        Some(first.parse().ok()?..=last.parse().ok()?)
    });
    Some(ranges.collect::<Option<Vec<_>>>()?.into_iter().flatten().collect())
}

/// Nanoseconds of the monotonic clock, as in the records.
pub fn monotonic() -> i64 {
    nanoseconds(rustix::time::ClockId::Monotonic)
}

/// Nanoseconds since 1970.
pub fn time_of_day() -> i64 {
    nanoseconds(rustix::time::ClockId::Realtime)
}

pub(super) fn nanoseconds(clock: rustix::time::ClockId) -> i64 {
    let now = rustix::time::clock_gettime(clock);
    now.tv_sec.saturating_mul(1_000_000_000).saturating_add(now.tv_nsec)
}

/// Whether this process may write in a directory.
pub fn may_write(directory: &Path) -> bool {
    rustix::fs::access(directory, rustix::fs::Access::WRITE_OK).is_ok()
}

/// Bytes that this process may still write to a directory's file system; `None` if that has no limit.
pub fn free_bytes(directory: &Path) -> Option<u64> {
    let stat = rustix::fs::statvfs(directory).ok()?;
    if stat.f_blocks == 0 {
        return None;
    }
    Some(stat.f_bavail.saturating_mul(stat.f_frsize))
}

/// Returns the columns of a terminal; `None` if the descriptor is not a terminal or the width is unknown.
pub fn columns(fd: BorrowedFd<'_>) -> Option<usize> {
    let size = rustix::termios::tcgetwinsize(fd).ok()?;
    Some(usize::from(size.ws_col)).filter(|columns| *columns > 0)
}

/// Mounts one of the kernel's own filesystems.
pub fn mount(kind: &str, at: &str) -> Result<(), Errno> {
    use rustix::mount::MountFlags;
    rustix::mount::mount(kind, at, kind, MountFlags::NOSUID | MountFlags::NODEV | MountFlags::NOEXEC, None)
}

/// Lets processes started from now on inherit a descriptor.
pub fn inherit(descriptor: impl AsFd) -> Result<(), Errno> {
    rustix::io::fcntl_setfd(descriptor, rustix::io::FdFlags::empty())
}

#[cfg(test)]
mod tests {
    use super::{numbers, numbers_of};

    #[test]
    fn releases_have_a_version_and_a_patch_level() {
        for (release, wanted) in [
            ("6.1.0-57-cloud-amd64", Some((6, 1))),
            ("7.0-rc3", Some((7, 0))),
            ("5.14.0-427.el9.x86_64", Some((5, 14))),
            ("6.12+deb13-amd64", Some((6, 12))),
            ("next", None),
            ("6", None),
        ] {
            assert_eq!(numbers_of(release), wanted, "{release}");
        }
    }

    #[test]
    fn lists_of_cpus_are_read() {
        assert_eq!(numbers("0-2,5\n"), Some([0, 1, 2, 5].into()));
        assert_eq!(numbers("3\n"), Some([3].into()));
        for wrong in ["", "x-1,\n", "0,x"] {
            assert_eq!(numbers(wrong), None, "{wrong:?}");
        }
    }
}
