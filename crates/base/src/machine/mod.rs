//! base/machine/: the kinds of machines, one file each.

pub mod arm64;
mod facts;
mod kind;
pub mod syscalls;
pub mod x86;

pub use facts::{Facts, Frames, Privilege, PtRegs, Room};
pub use kind::Machine;
