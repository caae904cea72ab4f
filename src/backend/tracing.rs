//! backend/tracing.rs: the consumer's interface to an armed program, for both back ends.

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
    /// The hits at which no program ran because another one was running, as of the last status. The module
    /// loses none for this reason.
    fn missed(&self) -> u64 {
        0
    }
    /// The means by which function probes fire, if the kernel has several.
    fn by(&self) -> Option<&str> {
        None
    }
    /// Moves the records in the rings to `into`; a damaged ring is reported and emptied.
    fn drain(&mut self, into: &mut Drain) -> Vec<Damaged>;
    /// Returns the records lost so far, by CPU.
    fn drops(&self) -> Vec<(u32, u64)>;
    /// Calls `each` with every CPU's number, the snapshot of its aggregations, and its losses so far.
    fn aggregations(&mut self, each: &mut dyn FnMut(u32, &[u8], u64)) -> Result<(), RequestError>;
    /// Returns a descriptor that becomes readable when records are available.
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
    /// It was removed earlier: its module was unloaded, or its branch took other edges too often.
    Left,
}

/// A request that the kernel refused while a program was armed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{to}: {request}: {errno}")]
pub struct RequestError {
    /// The module's device, or the system call.
    pub to: &'static str,
    /// The request: `GO`, `mmap`, `BPF_MAP_LOOKUP_ELEM`.
    pub request: &'static str,
    /// The kernel's error message.
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
