//! backend/module/: a session of the kernel module: its requests, its rings, and its view of the kernel's text.

mod buffer;
mod error;
mod ioctl;
mod live;
mod session;

pub use error::Error;
pub use ioctl::Device;
pub use live::Live;
pub use session::Session;
