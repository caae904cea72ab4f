//! backend/module/ioctl.rs: the requests of the module's device, and its rings.

use super::buffer::Ring;
use super::error::Error;
use crate::backend::tracing::{Fired, RequestError};
use kinst_base::uapi;
use kinst_host::distribution::Family;
use kinst_host::module;
use kinst_os::device::{self, Access, Mapping, page_size};
use kinst_os::{Errno, errno_text};
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::atomic::Ordering;

/// An open session of /dev/dtrace/kinst. Closing it disarms its probes.
#[derive(Debug)]
pub(crate) struct Device {
    file: device::Device,
    pub info: uapi::Info,
}

impl Device {
    pub(crate) fn open() -> Result<Device, Error> {
        let file = device::Device::open(uapi::DEVICE).map_err(open_error)?;
        // SAFETY: IOC_INFO writes one struct kinst_info, whose layout uapi.rs asserts.
        let info = unsafe { file.get::<{ uapi::IOC_INFO }, uapi::Info>() };
        let info = info.map_err(|errno| match errno {
            Errno::NOTTY => Error::Interface,
            errno => RequestError::of_module("INFO")(errno).into(),
        })?;
        if info.abi != uapi::ABI_VERSION {
            return Err(Error::Abi { ours: uapi::ABI_VERSION, theirs: info.abi });
        }
        Ok(Device { file, info })
    }

    /// Opens the device, and loads the module first if necessary; returns whether it was loaded.
    pub(crate) fn open_or_load() -> Result<(Device, bool), Error> {
        match Device::open() {
            Err(Error::NotLoaded) => {}
            opened => return Ok((opened?, false)),
        }
        if module::is_loaded() {
            return Err(Error::NoNode);
        }
        module::load().map_err(|refusal| {
            Error::Unloadable(module::explain(&refusal, &kinst_os::release(), Family::running()))
        })?;
        Device::open().map(|device| (device, true))
    }

    /// Verifies the image and arms its probes; returns one result per probe.
    pub(crate) fn load(&self, image: &[u8], probes: usize) -> Result<Vec<uapi::Result>, Error> {
        let mut results = vec![uapi::Result::default(); probes];
        let too_large =
            RequestError { to: uapi::DEVICE, request: "LOAD", errno: "the image is too large".to_owned() };
        let (Ok(image_len), Ok(nresults)) = (u32::try_from(image.len()), u32::try_from(probes)) else {
            return Err(too_large.into());
        };
        let mut load = uapi::Load {
            image: image.as_ptr() as u64,
            results: results.as_mut_ptr() as u64,
            image_len,
            nresults,
            error: uapi::Error::default(),
        };
        // Loading may take seconds, and a signal's handler runs in the main thread, which therefore must
        // not be in the kernel for so long.
        let done = std::thread::scope(|scope| {
            // SAFETY: IOC_LOAD reads image_len bytes at image, writes nresults results at results, and the struct
            // itself; all three live until the call returns.
            let load = scope.spawn(|| unsafe { self.file.update::<{ uapi::IOC_LOAD }, _>(&mut load) });
            load.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        });
        match done {
            Ok(()) => Ok(results),
            Err(_) if load.error.code != 0 => Err(refusal(load.error)),
            Err(errno) => Err(load_error(errno)),
        }
    }

    pub(crate) fn go(&self) -> Result<(), RequestError> {
        // SAFETY: GO takes no argument.
        let done = unsafe { self.file.call::<{ uapi::IOC_GO }>() };
        done.map_err(RequestError::of_module("GO"))
    }

    pub(crate) fn stop(&self) -> Result<(), RequestError> {
        // SAFETY: STOP takes no argument.
        let done = unsafe { self.file.call::<{ uapi::IOC_STOP }>() };
        done.map_err(RequestError::of_module("STOP"))
    }

    pub(crate) fn status(&self) -> Result<uapi::Status, RequestError> {
        // SAFETY: IOC_STATUS writes one struct kinst_status.
        let status = unsafe { self.file.get::<{ uapi::IOC_STATUS }, uapi::Status>() };
        status.map_err(RequestError::of_module("STATUS"))
    }

    /// Copies one CPU's aggregations to `buffer`; returns the bytes used, and drops since LOAD.
    pub(crate) fn aggregations(&self, cpu: u32, buffer: &mut [u8]) -> Result<(usize, u64), RequestError> {
        let mut snap = uapi::Aggsnap {
            buf: buffer.as_mut_ptr() as u64,
            size: u32::try_from(buffer.len()).unwrap_or(u32::MAX),
            cpu,
            ..uapi::Aggsnap::default()
        };
        // SAFETY: IOC_AGGSNAP writes at most `size` bytes at `buf`, and the struct itself.
        let done = unsafe { self.file.update::<{ uapi::IOC_AGGSNAP }, _>(&mut snap) };
        done.map_err(RequestError::of_module("AGGSNAP"))?;
        Ok(((snap.used as usize).min(buffer.len()), snap.drops))
    }

    /// Returns, for each of the image's probes, whether it has fired since LOAD.
    pub(crate) fn fired(&self, probes: usize) -> Result<Vec<Fired>, RequestError> {
        let mut buffer = vec![0u8; probes];
        let mut fired = uapi::Fired {
            buf: buffer.as_mut_ptr() as u64,
            count: u32::try_from(probes).unwrap_or(u32::MAX),
            ..uapi::Fired::default()
        };
        // SAFETY: IOC_FIRED writes `count` bytes at `buf`, or nothing.
        let done = unsafe { self.file.update::<{ uapi::IOC_FIRED }, _>(&mut fired) };
        done.map_err(RequestError::of_module("FIRED"))?;
        Ok(buffer.into_iter().map(fired_of).collect())
    }

    /// Returns the instructions in memory of the function whose symbol is at `func`, or why they are not available.
    pub(crate) fn instructions(
        &self,
        func: u64,
    ) -> Result<Result<Vec<uapi::Insn>, uapi::Reason>, RequestError> {
        let mut room = 256;
        loop {
            let mut buffer = vec![uapi::Insn::default(); room];
            let mut insns = uapi::Insns {
                func,
                buf: buffer.as_mut_ptr() as u64,
                count: room as u32,
                ..uapi::Insns::default()
            };
            // SAFETY: IOC_INSNS writes at most `count` instructions at `buf`, and the struct itself.
            let done = unsafe { self.file.update::<{ uapi::IOC_INSNS }, _>(&mut insns) };
            done.map_err(RequestError::of_module("INSNS"))?;
            if insns.reason != uapi::Reason::OK.0 {
                return Ok(Err(uapi::Reason(insns.reason)));
            }
            let count = insns.count as usize;
            // The count is known now: the second try fits, unless the kernel misbehaves.
            if count > room && room < 1 << 20 {
                room = count;
                continue;
            }
            buffer.truncate(count);
            return Ok(Ok(buffer));
        }
    }

    /// Maps the ring of one CPU.
    pub(crate) fn ring(&self, cpu: u32) -> Result<MappedRing, RequestError> {
        let page = page_size();
        let base = u64::from(cpu) * u64::from(uapi::RING_PAGES) * page as u64;
        let consumer = self.map(page, base, Access::ReadWrite)?;
        let producer = self.map(page, base + page as u64, Access::Read)?;
        let [_, size, ..] = producer.words() else { return Err(bad_ring(cpu)) };
        let size = size.load(Ordering::Relaxed);
        let bytes = usize::try_from(size).ok().filter(|bytes| bytes.is_power_of_two() && *bytes >= page);
        let data = self.map(bytes.ok_or_else(|| bad_ring(cpu))?, base + 2 * page as u64, Access::Read)?;
        Ok(MappedRing { consumer, producer, data })
    }

    fn map(&self, length: usize, offset: u64, access: Access) -> Result<Mapping, RequestError> {
        let mapped = self.file.map(length, offset, access);
        mapped.map_err(RequestError::of_module("mmap"))
    }
}

impl AsFd for Device {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.file.as_fd()
    }
}

/// The three parts of a ring, mapped.
#[derive(Debug)]
pub(crate) struct MappedRing {
    consumer: Mapping,
    producer: Mapping,
    data: Mapping,
}

impl MappedRing {
    /// Returns the ring; `None` if the pages were too small, which map() excludes.
    pub(crate) fn ring(&self) -> Option<Ring<'_>> {
        let consumed = self.consumer.words().first()?;
        // Overwritten records count as consumed.
        let tail = self.producer.words().get(4)?.load(Ordering::Acquire);
        consumed.fetch_max(tail, Ordering::Relaxed);
        Some(Ring { consumed, produced: self.producer.words().first()?, data: self.data.words() })
    }

    /// Returns the number of records that did not fit since LOAD.
    pub(crate) fn drops(&self) -> u64 {
        self.producer.words().get(2).map_or(0, |drops| drops.load(Ordering::Relaxed))
    }
}

fn fired_of(state: u8) -> Fired {
    match u32::from(state) {
        uapi::FIRED_NO => Fired::No,
        uapi::FIRED_LEFT => Fired::Left,
        _ => Fired::Yes,
    }
}

fn bad_ring(cpu: u32) -> RequestError {
    RequestError {
        to: uapi::DEVICE,
        request: "mmap",
        errno: format!("the ring of CPU {cpu} has no sensible size"),
    }
}

fn open_error(errno: Errno) -> Error {
    let root = kinst_os::identity().euid == 0;
    match errno {
        Errno::NOENT | Errno::NXIO | Errno::NODEV if root => Error::NotLoaded,
        Errno::NOENT | Errno::NXIO | Errno::NODEV | Errno::ACCESS | Errno::PERM if !root => Error::NotRoot,
        Errno::ACCESS | Errno::PERM => Error::Forbidden,
        Errno::BUSY | Errno::USERS => Error::Busy,
        _ => Error::Open { errno: errno_text(errno) },
    }
}

/// Converts a refusal. A program that is too large is not a compiler bug; if the error names no part of it,
/// its buffers are too large.
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
        errno => RequestError::of_module("LOAD")(errno).into(),
    }
}
