//! os/bpf/uprobe.rs: attaches programs to instructions of files (uprobes), in all processes that map them or in one.

use super::attached::Attached;
use super::program::Program;
use super::syscall::{PERF_EVENT, UPROBE_MULTI, bpf, command, owned};
use crate::perf::Attribute;
use rustix::io::Errno;
use std::ffi::CString;
use std::os::fd::AsRawFd as _;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

/// The beginning of `link_create`, with the fields of uprobe.multi.
#[repr(C)]
struct Multi {
    program: u32,
    target: u32,
    attach: u32,
    flags: u32,
    path: u64,
    offsets: u64,
    counters: u64,
    cookies: u64,
    count: u32,
    uprobe_flags: u32,
    process: u32,
    pad: u32,
}

/// A place in a file at which a program runs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct InFile {
    /// Position of the instruction in the file.
    pub offset: u64,
    /// Position of a counter of 16 bits that the kernel increments in each process while the program is attached; 0:
    /// none.
    pub semaphore: u64,
    /// The number that the program gets at a hit.
    pub cookie: u64,
}

/// The same, with the field of a perf event.
#[repr(C)]
struct OfEvent {
    program: u32,
    target: u32,
    attach: u32,
    flags: u32,
    cookie: u64,
}

impl Program {
    /// Runs the program at each of the places in a file (uprobe.multi), in all processes or in one, see
    /// [`Program::tells_processes`]. The kernel refuses all if it refuses one; it takes a million at a time.
    pub fn at_file(
        &self,
        path: &Path,
        process: Option<u32>,
        places: impl Iterator<Item = InFile>,
    ) -> Result<Attached, Errno> {
        let (mut offsets, mut semaphores, mut cookies) = (Vec::new(), Vec::new(), Vec::new());
        for place in places {
            offsets.push(place.offset);
            semaphores.push(place.semaphore);
            cookies.push(place.cookie);
        }
        let count = u32::try_from(offsets.len()).map_err(|_| Errno::TOOBIG)?;
        let has_semaphores = semaphores.iter().any(|semaphore| *semaphore != 0);
        let path = CString::new(path.as_os_str().as_bytes()).map_err(|_| Errno::INVAL)?;
        let mut link = Multi {
            program: self.0.as_raw_fd() as u32,
            target: 0,
            attach: UPROBE_MULTI,
            flags: 0,
            path: path.as_ptr() as u64,
            offsets: offsets.as_ptr() as u64,
            counters: if has_semaphores { semaphores.as_ptr() as u64 } else { 0 },
            cookies: cookies.as_ptr() as u64,
            count,
            uprobe_flags: 0,
            process: process.unwrap_or(0),
            pad: 0,
        };
        // SAFETY: the kernel reads the path, and as many offsets, semaphores and cookies as the count says. All live
        // until the call returns.
        let fd = unsafe { bpf(command::LINK_CREATE, &mut link)? };
        Ok(Attached(owned(fd)))
    }

    /// Passes a directory: a kernel with uprobe.multi reports that it is not a file.
    pub fn at_no_file(&self) -> Result<(), Errno> {
        self.at_file(Path::new("/"), None, std::iter::once(InFile::default())).map(drop)
    }

    /// Whether a program of uprobe.multi that is for one process runs in all of its threads. Before Linux 6.10 it
    /// ran in one thread, and the kernel accepted the number of any thread. No probe is set: the offset is in no
    /// file.
    pub fn tells_processes(&self) -> bool {
        const NOWHERE: u64 = 1 << 62;
        let thread = std::thread::scope(|scope| {
            let of_thread = || {
                let thread = rustix::thread::gettid().as_raw_nonzero().get().cast_unsigned();
                let nowhere = InFile { offset: NOWHERE, ..InFile::default() };
                let places = std::iter::once(nowhere);
                self.at_file(Path::new("/proc/self/exe"), Some(thread), places).map(drop)
            };
            scope.spawn(of_thread).join().ok()
        });
        thread == Some(Err(Errno::SRCH))
    }

    /// Runs the program at one place in a file, by a perf event, in all processes or in one. `kind` is
    /// [`uprobe_events`].
    pub fn at_instruction(
        &self,
        kind: u32,
        path: &Path,
        process: Option<u32>,
        place: InFile,
    ) -> Result<Attached, Errno> {
        // The event has 32 bits for the semaphore.
        const SEMAPHORE: u32 = 32;
        let semaphore = u32::try_from(place.semaphore).map_err(|_| Errno::RANGE)?;
        let path = CString::new(path.as_os_str().as_bytes()).map_err(|_| Errno::INVAL)?;
        let event = Attribute::new(kind, u64::from(semaphore) << SEMAPHORE, 1);
        let event = event.with(path.as_ptr() as u64, place.offset);
        let event = match process {
            Some(process) => event.open_in(process)?,
            None => event.open(0)?,
        };
        let mut link = OfEvent {
            program: self.0.as_raw_fd() as u32,
            target: event.as_raw_fd() as u32,
            attach: PERF_EVENT,
            flags: 0,
            cookie: place.cookie,
        };
        // SAFETY: it has no addresses.
        let fd = unsafe { bpf(command::LINK_CREATE, &mut link)? };
        // The link keeps the event open.
        Ok(Attached(owned(fd)))
    }
}

/// Returns the type of perf events at instructions of files; `None` if the kernel has none.
pub fn uprobe_events() -> Option<u32> {
    let text = std::fs::read_to_string("/sys/bus/event_source/devices/uprobe/type").ok()?;
    text.trim().parse().ok()
}
