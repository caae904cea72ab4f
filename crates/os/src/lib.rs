//! os/: system calls (except on files), each with a safe interface.

pub mod bpf;
pub mod clock;
pub mod device;
mod errno;
pub mod limits;
pub mod maps;
pub mod output;
pub mod overlays;
pub mod perf;
mod poll;
pub mod process;
pub mod signals;
mod system;
mod tracee;
pub mod uprobe;

pub use errno::{errno_text, io_text};
pub use poll::{is_readable, wait};
pub use rustix::io::Errno;
pub use system::{
    Identity, columns, command_line, cpus, free_bytes, free_memory, hostname, identity, inherit, is_realtime,
    may_write, monotonic, mount, pid_namespace, release, release_number, time_of_day,
};
