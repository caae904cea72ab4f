//! os/device.rs: a character device: open, ioctl, mmap.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::ptr::NonNull;
use std::sync::atomic::AtomicU64;

use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;
use rustix::ioctl::{Getter, NoArg, Opcode, Updater, ioctl};
use rustix::mm::{MapFlags, ProtFlags};

/// An open device.
#[derive(Debug)]
pub struct Device(OwnedFd);

impl Device {
    /// Opens a device for reading and writing; the descriptor is closed on exec.
    pub fn open(path: &str) -> Result<Device, Errno> {
        rustix::fs::open(path, OFlags::RDWR | OFlags::CLOEXEC, Mode::empty()).map(Device)
    }

    /// Makes a request without an argument.
    ///
    /// # Safety
    ///
    /// The request must take no argument.
    pub unsafe fn call<const REQUEST: Opcode>(&self) -> Result<(), Errno> {
        // SAFETY: guaranteed by the caller.
        let call = unsafe { NoArg::<REQUEST>::new() };
        // SAFETY: as above; the descriptor is open.
        unsafe { ioctl(&self.0, call) }
    }

    /// Makes a request that fills a structure.
    ///
    /// # Safety
    ///
    /// The request must write a valid `T` and nothing else.
    pub unsafe fn get<const REQUEST: Opcode, T>(&self) -> Result<T, Errno> {
        // SAFETY: guaranteed by the caller.
        let get = unsafe { Getter::<REQUEST, T>::new() };
        // SAFETY: as above; the descriptor is open.
        unsafe { ioctl(&self.0, get) }
    }

    /// Makes a request that reads a structure and may change it.
    ///
    /// # Safety
    ///
    /// The request must take a `T`, leave a valid one, and access no other memory except through addresses in
    /// it that are valid until the call returns.
    pub unsafe fn update<const REQUEST: Opcode, T>(&self, argument: &mut T) -> Result<(), Errno> {
        // SAFETY: guaranteed by the caller.
        let update = unsafe { Updater::<REQUEST, T>::new(argument) };
        // SAFETY: as above; the descriptor is open.
        unsafe { ioctl(&self.0, update) }
    }

    /// Maps `length` bytes, shared with the kernel.
    pub fn map(&self, length: usize, offset: u64, access: Access) -> Result<Mapping, Errno> {
        Mapping::new(self.as_fd(), length, offset, access)
    }
}

impl AsFd for Device {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

/// The size of a page in bytes.
pub fn page_size() -> usize {
    rustix::param::page_size()
}

/// The access that a mapping allows.
#[derive(Clone, Copy, Debug)]
pub enum Access {
    /// PROT_READ.
    Read,
    /// PROT_READ and PROT_WRITE.
    ReadWrite,
}

/// Memory shared with the kernel. If it is mapped only for reading, its words must not be written.
#[derive(Debug)]
pub struct Mapping {
    address: NonNull<AtomicU64>,
    length: usize,
}

// SAFETY: the memory belongs to the process, not to a thread, and is accessed only as atomic words.
unsafe impl Send for Mapping {}

impl Mapping {
    /// Maps `length` bytes of the file that the descriptor refers to.
    pub fn new(of: BorrowedFd<'_>, length: usize, offset: u64, access: Access) -> Result<Mapping, Errno> {
        let protection = match access {
            Access::Read => ProtFlags::READ,
            Access::ReadWrite => ProtFlags::READ | ProtFlags::WRITE,
        };
        // SAFETY: a new mapping at an address that the kernel chooses touches no other memory.
        let address = unsafe {
            rustix::mm::mmap(std::ptr::null_mut(), length, protection, MapFlags::SHARED, of, offset)?
        };
        Ok(Mapping { address: NonNull::new(address.cast()).ok_or(Errno::FAULT)?, length })
    }

    /// Returns the words, which the kernel may write at any time, hence atomic.
    pub fn words(&self) -> &[AtomicU64] {
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
