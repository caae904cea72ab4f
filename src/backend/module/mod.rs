//! backend/module/: a session of the kernel module: its requests, its rings, and its view of the kernel's text.

mod buffer;
mod error;
mod ioctl;
mod live;
mod session;

pub(crate) use error::Error;
pub(crate) use ioctl::Device;
pub(crate) use live::Live;
pub(crate) use session::Session;
