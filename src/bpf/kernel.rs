//! bpf/kernel.rs: the places of members in the kernel's structures that programs read, as its BTF has them.

/// Offsets in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Layout {
    /// In a task: what says that a system call is that of a 32-bit program.
    pub status: u16,
    pub pid: u16,
    pub tgid: u16,
    pub signal: u16,
    pub exit_code: u16,
    pub leader: u16,
    pub start: u16,
    /// What a task has as long as it has not been released.
    pub thread_pid: u16,
    pub real_parent: u16,
    pub mm: u16,
    /// In the memory of a process.
    pub arg_start: u16,
    pub arg_end: u16,
    /// In what the threads of a process share about signals.
    pub live: u16,
    pub flags: u16,
    pub group_exit_code: u16,
    /// In the action of a signal.
    pub handler: u16,
    /// Whether the tracepoint of a thread's end says that it is the last of its process.
    pub tells_last: bool,
}

/// The arguments of a tracepoint that can be named.
pub const TRACE_ARGUMENTS: u8 = 6;
