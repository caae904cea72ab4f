//! host/: the machine that the command runs on: its distribution, and the file of the kernel module.

pub mod archive;
pub mod distribution;
pub mod module;
pub mod programs;
