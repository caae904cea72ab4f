//! sites/memory/: the kernel's text as it is in memory, for those who have no module to ask.

mod error;
mod functions;
mod live;
mod spots;
mod text;

pub use error::SpotError;
pub use live::{LiveError, LiveText};
pub use text::{Ftraced, Memory, Spots, Symbols, Text};
