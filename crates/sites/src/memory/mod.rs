//! sites/memory/: the kernel's text in memory, for use without the module.

mod error;
mod functions;
mod live;
mod spots;
mod text;

pub use error::SpotError;
pub use live::{LiveError, LiveText};
pub use text::{Ftraced, Memory, Spots, Symbols, Text};
