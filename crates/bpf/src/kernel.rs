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
    /// Its own flags.
    pub task_flags: u16,
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
    pub times: Times,
    pub locks: Locks,
    pub paths: Paths,
    pub interrupts: Interrupts,
}

/// In a task: how long it has run, as the scheduler has accounted it, and since when that is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Times {
    pub sum_exec_runtime: u16,
    pub exec_start: u16,
}

/// In a mutex, and in a semaphore of readers and writers. With PREEMPT_RT, the latter has nothing of the kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Locks {
    pub mutex_owner: u16,
    /// Its count and its owner.
    pub rwsem: Option<(u16, u16)>,
}

/// In struct path, struct dentry, struct vfsmount and struct mount.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Paths {
    pub path_mnt: u16,
    pub path_dentry: u16,
    pub parent: u16,
    pub name: u16,
    pub name_len: u16,
    pub mnt_root: u16,
    pub mount_parent: u16,
    pub mountpoint: u16,
    /// Of the struct vfsmount in a struct mount.
    pub mnt: u16,
}

/// Where the kernel counts the interrupts that it is in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Interrupts {
    /// Whether that is not known.
    pub unknown: bool,
    /// In a task; `None` where each CPU has the count, whose address is in the CPU's memory.
    pub in_task: Option<u16>,
    /// The bits of the count before those of hard interrupts.
    pub hard: u8,
    /// The most of those that cannot be masked; all bits are 1.
    pub most_nmi: u8,
    /// With PREEMPT_RT, the count of soft interrupts in a task.
    pub soft_in_task: Option<u16>,
}

/// The arguments of a tracepoint that can be named.
pub const TRACE_ARGUMENTS: u8 = 6;
