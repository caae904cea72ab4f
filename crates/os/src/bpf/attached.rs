//! os/bpf/attached.rs: attaches programs to perf events, tracepoints, and kernel functions.

use super::program::Program;
use super::syscall::{KPROBE_MULTI, bpf, command, last_word, owned, result};
use crate::perf::{self, Attribute};
use rustix::io::Errno;
use std::ffi::CString;
use std::os::fd::{AsFd, AsRawFd as _, BorrowedFd, OwnedFd};

#[repr(C)]
struct RawTracepoint {
    name: u64,
    program: u32,
    pad: u32,
}

/// The beginning of `link_create`, with the fields of kprobe.multi.
#[repr(C)]
struct Link {
    program: u32,
    target: u32,
    attach: u32,
    flags: u32,
    kprobe_flags: u32,
    count: u32,
    symbols: u64,
    addresses: u64,
    cookies: u64,
}

/// The quantity that a perf event counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Counted {
    /// A tracefs event, by id.
    Tracepoint(u64),
    /// A CPU's clock, by its period in nanoseconds.
    Clock(u64),
}

/// A descriptor that attaches a program. Closing it detaches the program.
#[derive(Debug)]
pub struct Attached(pub(super) OwnedFd);

impl Attached {
    /// Starts a clock.
    pub fn enable(&self) -> Result<(), Errno> {
        const ENABLE: i32 = 0x2400;
        perf_request(&self.0, ENABLE, 0)
    }

    /// Hits of kprobe.multi that were missed before the program was called. Kernels before 6.7 do not report
    /// them.
    pub fn missed(&self) -> u64 {
        last_word::<5>(&self.0)
    }
}

impl AsFd for Attached {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

impl Program {
    /// Runs the program at each hit of the tracepoint with this name.
    pub fn at_tracepoint(&self, name: &str) -> Result<Attached, Errno> {
        let name = CString::new(name).map_err(|_| Errno::INVAL)?;
        // SAFETY: the kernel reads the name, which lives until the call returns.
        unsafe { self.open(name.as_ptr() as u64) }
    }

    /// Runs the program at the function that it was loaded for.
    pub fn at_function(&self) -> Result<Attached, Errno> {
        // SAFETY: 0 means that no name is given.
        unsafe { self.open(0) }
    }

    /// # Safety
    ///
    /// The name must be 0, or the address of a string that ends with a zero.
    unsafe fn open(&self, name: u64) -> Result<Attached, Errno> {
        let mut open = RawTracepoint { name, program: self.0.as_raw_fd() as u32, pad: 0 };
        // SAFETY: guaranteed by the caller.
        let fd = unsafe { bpf(command::RAW_TRACEPOINT_OPEN, &mut open)? };
        Ok(Attached(owned(fd)))
    }

    /// Runs the program at the entries, or returns, of the functions at these addresses (kprobe.multi).
    pub fn at_functions(&self, addresses: &[u64], returns: bool) -> Result<Attached, Errno> {
        let count = u32::try_from(addresses.len()).map_err(|_| Errno::TOOBIG)?;
        let mut link = self.link(count, addresses.as_ptr() as u64, returns);
        // SAFETY: the kernel reads as many addresses as the count says, which live until the call returns.
        let fd = unsafe { bpf(command::LINK_CREATE, &mut link)? };
        Ok(Attached(owned(fd)))
    }

    /// Passes addresses that cannot be read: a kernel with kprobe.multi reports that fault.
    pub fn at_no_functions(&self) -> Result<(), Errno> {
        const NOWHERE: u64 = 8;
        let mut link = self.link(1, NOWHERE, false);
        // SAFETY: the kernel checks whether it may read the address.
        unsafe { bpf(command::LINK_CREATE, &mut link).map(|fd| drop(owned(fd))) }
    }

    fn link(&self, count: u32, addresses: u64, returns: bool) -> Link {
        Link {
            program: self.0.as_raw_fd() as u32,
            target: 0,
            attach: KPROBE_MULTI,
            flags: 0,
            kprobe_flags: u32::from(returns),
            count,
            symbols: 0,
            addresses,
            cookies: 0,
        }
    }
}

/// Runs the program at each of the events: for a tracepoint on any CPU, for a clock once it is enabled.
pub fn attach(program: &Program, counted: Counted, cpu: u32) -> Result<Attached, Errno> {
    const SET_BPF: i32 = 0x4004_2408;
    let attribute = match counted {
        Counted::Tracepoint(number) => Attribute::new(perf::TRACEPOINT, number, 1),
        Counted::Clock(interval) => Attribute::new(perf::SOFTWARE, perf::CPU_CLOCK, interval).disabled(),
    };
    let event = attribute.open(cpu)?;
    perf_request(&event, SET_BPF, program.0.as_raw_fd())?;
    Ok(Attached(event))
}

fn perf_request(event: &OwnedFd, request: i32, argument: i32) -> Result<(), Errno> {
    // SAFETY: each of these requests takes an integer.
    result(unsafe { libc::ioctl(event.as_raw_fd(), request as libc::c_ulong, argument) }.into()).map(drop)
}
