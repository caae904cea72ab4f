//! kernel/: the programs go to the kernel module here, and their records come back.

pub mod uapi;
