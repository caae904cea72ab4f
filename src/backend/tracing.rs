//! backend/tracing.rs: what the consumer asks of an armed program, whichever way it went into the kernel.

use super::records::{Damaged, Drain};
use kinst_base::uapi;
use kinst_os::{Errno, errno_text};
use std::os::fd::BorrowedFd;

/// The kernel's services for the consumer while it traces.
pub trait Tracing {
    /// Fires BEGIN and turns tracing on.
    fn go(&mut self) -> Result<(), RequestError>;
    /// Fires END and turns tracing off.
    fn stop(&mut self) -> Result<(), RequestError>;
    /// Returns the state, the status of exit(), and the losses so far.
    fn status(&mut self) -> Result<uapi::Status, RequestError>;
    /// The hits at which no program ran because another one did, as of the last status. The module loses none so.
    fn missed(&self) -> u64 {
        0
    }
    /// The ways in which the probes of functions are made to fire, where the kernel has several ways.
    fn by(&self) -> Option<&str> {
        None
    }
    /// Moves the records in the rings to `into`; a damaged ring is reported and emptied.
    fn drain(&mut self, into: &mut Drain) -> Vec<Damaged>;
    /// Returns the records lost so far, by CPU.
    fn drops(&self) -> Vec<(u32, u64)>;
    /// Calls `each` with every CPU's number, the snapshot of its aggregations, and its losses so far.
    fn aggregations(&mut self, each: &mut dyn FnMut(u32, &[u8], u64)) -> Result<(), RequestError>;
    /// Returns a descriptor that is readable as soon as there is something to drain.
    fn readable(&self) -> BorrowedFd<'_>;
    /// Returns, for each of the program's probes, whether it has fired.
    fn fired(&self, probes: usize) -> Result<Vec<Fired>, RequestError>;
}

/// Whether a probe has fired.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fired {
    /// It has not been hit since it was armed.
    No,
    /// It has been hit at least once.
    Yes,
    /// It was taken away before: its module is gone, or its branch has gone other ways too often.
    Left,
}

/// A request that the kernel has refused while a program was armed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{to}: {request}: {errno}")]
pub struct RequestError {
    /// The module's device, or the system call.
    pub to: &'static str,
    /// The request: `GO`, `mmap`, `BPF_MAP_LOOKUP_ELEM`.
    pub request: &'static str,
    /// The kernel's error in words.
    pub errno: String,
}

impl RequestError {
    /// Converts the error of a request to the module.
    pub fn of_module(request: &'static str) -> impl Fn(Errno) -> RequestError {
        move |errno| RequestError { to: uapi::DEVICE, request, errno: errno_text(errno) }
    }

    /// Converts the error of a request to the kernel itself.
    pub fn of_kernel(request: &'static str) -> impl Fn(Errno) -> RequestError {
        move |errno| RequestError { to: "the kernel", request, errno: errno_text(errno) }
    }
}
