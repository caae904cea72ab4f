//! driver/ioctl.rs: the device: open, ioctl, mmap.

use super::buffer::Ring;
use super::{Error, errno_text};
use crate::uapi;
use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;
use rustix::ioctl::{Getter, NoArg, Updater, ioctl};
use rustix::mm::{MapFlags, ProtFlags};
use std::ptr::NonNull;
use std::sync::atomic::AtomicU64;

/// An open session of /dev/dtrace/kinst. Closing it disarms what it armed.
#[derive(Debug)]
pub struct Device {
    fd: OwnedFd,
    pub info: uapi::Info,
}

impl Device {
    pub fn open() -> Result<Device, Error> {
        let fd = rustix::fs::open(uapi::DEVICE, OFlags::RDWR | OFlags::CLOEXEC, Mode::empty())
            .map_err(open_error)?;
        let info = {
            // SAFETY: IOC_INFO writes one struct kinst_info, whose layout uapi.rs asserts.
            let get = unsafe { Getter::<{ uapi::IOC_INFO }, uapi::Info>::new() };
            // SAFETY: as above; the descriptor is open.
            unsafe { ioctl(&fd, get) }
        };
        let info = info.map_err(|errno| Error::Request { request: "INFO", errno: errno_text(errno) })?;
        if info.abi != uapi::ABI_VERSION {
            return Err(Error::Abi { ours: uapi::ABI_VERSION, theirs: info.abi });
        }
        Ok(Device { fd, info })
    }

    /// Verifies the image and arms its probes; returns one result per probe.
    pub fn load(&self, image: &[u8], probes: usize) -> Result<Vec<uapi::Result>, Error> {
        let mut results = vec![uapi::Result::default(); probes];
        let too_large = Error::Request { request: "LOAD", errno: "the image is too large".to_owned() };
        let (Ok(image_len), Ok(nresults)) = (u32::try_from(image.len()), u32::try_from(probes)) else {
            return Err(too_large);
        };
        let mut load = uapi::Load {
            image: image.as_ptr() as u64,
            results: results.as_mut_ptr() as u64,
            image_len,
            nresults,
            error: uapi::Error::default(),
        };
        let done = {
            // SAFETY: IOC_LOAD reads image_len bytes at image, writes nresults results at results, and the struct
            // itself; all three live until the call returns.
            let update = unsafe { Updater::<{ uapi::IOC_LOAD }, uapi::Load>::new(&mut load) };
            // SAFETY: as above.
            unsafe { ioctl(&self.fd, update) }
        };
        match done {
            Ok(()) => Ok(results),
            Err(_) if load.error.code != 0 => Err(refusal(load.error)),
            Err(errno) => Err(load_error(errno)),
        }
    }

    pub fn go(&self) -> Result<(), Error> {
        self.plain::<{ uapi::IOC_GO }>("GO")
    }

    pub fn stop(&self) -> Result<(), Error> {
        self.plain::<{ uapi::IOC_STOP }>("STOP")
    }

    pub fn status(&self) -> Result<uapi::Status, Error> {
        // SAFETY: IOC_STATUS writes one struct kinst_status.
        let get = unsafe { Getter::<{ uapi::IOC_STATUS }, uapi::Status>::new() };
        // SAFETY: as above.
        let status = unsafe { ioctl(&self.fd, get) };
        status.map_err(|errno| Error::Request { request: "STATUS", errno: errno_text(errno) })
    }

    /// Copies one CPU's aggregations to `buffer`; returns the bytes used, and drops since LOAD.
    pub fn aggregations(&self, cpu: u32, buffer: &mut [u8]) -> Result<(usize, u64), Error> {
        let mut snap = uapi::Aggsnap {
            buf: buffer.as_mut_ptr() as u64,
            size: u32::try_from(buffer.len()).unwrap_or(u32::MAX),
            cpu,
            ..uapi::Aggsnap::default()
        };
        let done = {
            // SAFETY: IOC_AGGSNAP writes at most `size` bytes at `buf`, and the struct itself.
            let update = unsafe { Updater::<{ uapi::IOC_AGGSNAP }, uapi::Aggsnap>::new(&mut snap) };
            // SAFETY: as above.
            unsafe { ioctl(&self.fd, update) }
        };
        done.map_err(|errno| Error::Request { request: "AGGSNAP", errno: errno_text(errno) })?;
        Ok(((snap.used as usize).min(buffer.len()), snap.drops))
    }

    /// Returns the instructions in memory of the function whose symbol is at `func`, or why they are not available.
    pub fn instructions(&self, func: u64) -> Result<Result<Vec<uapi::Insn>, uapi::Reason>, Error> {
        let mut room = 256;
        loop {
            let mut buffer = vec![uapi::Insn::default(); room];
            let mut insns = uapi::Insns {
                func,
                buf: buffer.as_mut_ptr() as u64,
                count: room as u32,
                ..uapi::Insns::default()
            };
            let done = {
                // SAFETY: IOC_INSNS writes at most `count` instructions at `buf`, and the struct itself.
                let update = unsafe { Updater::<{ uapi::IOC_INSNS }, uapi::Insns>::new(&mut insns) };
                // SAFETY: as above.
                unsafe { ioctl(&self.fd, update) }
            };
            done.map_err(|errno| Error::Request { request: "INSNS", errno: errno_text(errno) })?;
            if insns.reason != uapi::Reason::OK.0 {
                return Ok(Err(uapi::Reason(insns.reason)));
            }
            let count = insns.count as usize;
            // The count is known now: the second try has room, unless the kernel misbehaves.
            if count > room && room < 1 << 20 {
                room = count;
                continue;
            }
            buffer.truncate(count);
            return Ok(Ok(buffer));
        }
    }

    /// Returns, by number, the run-time address of the function of each system call; 0 where there is none.
    pub fn syscalls(&self) -> Result<Vec<u64>, Error> {
        let mut table = vec![0u64; uapi::MAX_SYSCALLS as usize];
        let mut calls = uapi::Syscalls {
            buf: table.as_mut_ptr() as u64,
            count: uapi::MAX_SYSCALLS,
            ..uapi::Syscalls::default()
        };
        let done = {
            // SAFETY: IOC_SYSCALLS writes at most `count` numbers at `buf`, and the struct itself.
            let update = unsafe { Updater::<{ uapi::IOC_SYSCALLS }, uapi::Syscalls>::new(&mut calls) };
            // SAFETY: as above.
            unsafe { ioctl(&self.fd, update) }
        };
        done.map_err(|errno| Error::Request { request: "SYSCALLS", errno: errno_text(errno) })?;
        table.truncate(calls.count as usize);
        Ok(table)
    }

    fn plain<const REQUEST: rustix::ioctl::Opcode>(&self, request: &'static str) -> Result<(), Error> {
        // SAFETY: GO and STOP take no argument.
        let call = unsafe { NoArg::<REQUEST>::new() };
        // SAFETY: as above.
        let done = unsafe { ioctl(&self.fd, call) };
        done.map_err(|errno| Error::Request { request, errno: errno_text(errno) })
    }

    /// Maps the ring of one CPU.
    pub fn ring(&self, cpu: u32) -> Result<MappedRing, Error> {
        let page = rustix::param::page_size();
        let base = u64::from(cpu) * u64::from(uapi::RING_PAGES) * page as u64;
        let consumer = self.map(page, base, ProtFlags::READ | ProtFlags::WRITE)?;
        let producer = self.map(page, base + page as u64, ProtFlags::READ)?;
        let [_, size, ..] = producer.words() else { return Err(bad_ring(cpu)) };
        let size = size.load(std::sync::atomic::Ordering::Relaxed);
        let bytes = usize::try_from(size).ok().filter(|bytes| bytes.is_power_of_two() && *bytes >= page);
        let data = self.map(bytes.ok_or_else(|| bad_ring(cpu))?, base + 2 * page as u64, ProtFlags::READ)?;
        Ok(MappedRing { consumer, producer, data })
    }

    fn map(&self, length: usize, offset: u64, protection: ProtFlags) -> Result<Mapping, Error> {
        // SAFETY: a new mapping at an address of the kernel's choice touches no other memory.
        let address = unsafe {
            rustix::mm::mmap(std::ptr::null_mut(), length, protection, MapFlags::SHARED, &self.fd, offset)
        };
        let address =
            address.map_err(|errno| Error::Request { request: "mmap", errno: errno_text(errno) })?;
        let address = NonNull::new(address.cast())
            .ok_or_else(|| Error::Request { request: "mmap", errno: "no address".to_owned() })?;
        Ok(Mapping { address, length })
    }
}

impl AsFd for Device {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

/// The three parts of a ring, mapped.
#[derive(Debug)]
pub struct MappedRing {
    consumer: Mapping,
    producer: Mapping,
    data: Mapping,
}

impl MappedRing {
    /// Returns the ring; `None` if the pages were too small, which map() excludes.
    pub fn ring(&self) -> Option<Ring<'_>> {
        let consumed = self.consumer.words().first()?;
        // Overwritten records count as consumed.
        let tail = self.producer.words().get(4)?.load(std::sync::atomic::Ordering::Acquire);
        consumed.fetch_max(tail, std::sync::atomic::Ordering::Relaxed);
        Some(Ring { consumed, produced: self.producer.words().first()?, data: self.data.words() })
    }

    /// Returns the number of records that found no room since LOAD.
    pub fn drops(&self) -> u64 {
        self.producer.words().get(2).map_or(0, |drops| drops.load(std::sync::atomic::Ordering::Relaxed))
    }
}

#[derive(Debug)]
struct Mapping {
    address: NonNull<AtomicU64>,
    length: usize,
}

impl Mapping {
    /// Returns the words, which the kernel may write at any time, hence atomic. Read-only mappings are only ever
    /// loaded.
    fn words(&self) -> &[AtomicU64] {
        // SAFETY: the mapping is page-aligned, `length` bytes long, and lives as long as `self`; the kernel's
        // writes to it are seen as atomic writes of 64 bits.
        unsafe { std::slice::from_raw_parts(self.address.as_ptr(), self.length / 8) }
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: the range is the one that mmap returned, and no reference into it outlives `self`.
        let _ = unsafe { rustix::mm::munmap(self.address.as_ptr().cast(), self.length) };
    }
}

fn bad_ring(cpu: u32) -> Error {
    Error::Request { request: "mmap", errno: format!("the ring of CPU {cpu} has no sensible size") }
}

fn open_error(errno: Errno) -> Error {
    let root = rustix::process::geteuid().is_root();
    match errno {
        Errno::NOENT | Errno::NXIO | Errno::NODEV if root => Error::NotLoaded,
        Errno::NOENT | Errno::NXIO | Errno::NODEV | Errno::ACCESS | Errno::PERM if !root => Error::NotRoot,
        Errno::ACCESS | Errno::PERM => Error::Forbidden,
        Errno::BUSY | Errno::USERS => Error::Busy,
        _ => Error::Open { errno: errno_text(errno) },
    }
}

/// Converts a refusal. A program that is too large is not a compiler bug; if no part of it is named, its
/// buffers are too large.
fn refusal(error: uapi::Error) -> Error {
    match (uapi::Verify(error.code), error.difo, error.index) {
        (uapi::Verify::LIMIT, uapi::NONE, uapi::NONE) => Error::Buffers,
        (uapi::Verify::LIMIT, ..) => Error::Limit,
        _ => Error::Verify(error),
    }
}

fn load_error(errno: Errno) -> Error {
    match errno {
        Errno::BUSY => Error::Busy,
        Errno::NOMEM => Error::Memory,
        Errno::PERM => Error::Forbidden,
        Errno::ACCESS => Error::Lockdown,
        Errno::DQUOT => Error::Together,
        Errno::TOOBIG | Errno::NOSPC | Errno::OVERFLOW => Error::Limit,
        _ => Error::Request { request: "LOAD", errno: errno_text(errno) },
    }
}
