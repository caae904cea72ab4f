//! bpf/kernel.rs: the places of members in the kernel's structures that programs read, as its BTF has them.

/// Offsets in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Layout {
    /// In a task: what says that a system call is that of a 32-bit program.
    pub status: u16,
    /// `pid`: the id of the thread.
    pub pid: u16,
    /// `tgid`: the id of the process.
    pub tgid: u16,
    /// `signal`: the structure that the threads of a process share.
    pub signal: u16,
    /// `exit_code`: that of the thread.
    pub exit_code: u16,
    /// `group_leader`: the first thread of the process.
    pub leader: u16,
    /// `start_boottime`, in nanoseconds.
    pub start: u16,
    /// What a task has as long as it has not been released.
    pub thread_pid: u16,
    /// `real_parent`
    pub real_parent: u16,
    /// `mm`: the memory of the process; NULL in a thread of the kernel.
    pub mm: u16,
    /// Its own flags.
    pub task_flags: u16,
    /// In the memory of a process.
    pub arg_start: u16,
    /// The end of the arguments that begin at `arg_start`.
    pub arg_end: u16,
    /// In what the threads of a process share about signals.
    pub live: u16,
    /// The flags of `signal_struct`.
    pub flags: u16,
    /// `group_exit_code`: that of the process.
    pub group_exit_code: u16,
    /// In the action of a signal.
    pub handler: u16,
    /// Whether the tracepoint of a thread's end says that it is the last of its process.
    pub tells_last: bool,
    /// For `vtimestamp`; zeros in programs without it.
    pub times: Times,
    /// For mutex_owner() and the like; zeros in programs without them.
    pub locks: Locks,
    /// For d_path(); zeros in programs without it.
    pub paths: Paths,
    /// For `ipl`, and for variables of threads.
    pub interrupts: Interrupts,
}

/// In a task: how long it has run, as the scheduler has accounted it, and since when that is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Times {
    /// `se.sum_exec_runtime`: nanoseconds that are accounted.
    pub sum_exec_runtime: u16,
    /// `se.exec_start`: the scheduler's clock when they were accounted.
    pub exec_start: u16,
}

/// In a mutex, and in a semaphore of readers and writers. With PREEMPT_RT, the latter has nothing of the kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Locks {
    /// `owner`, or `rtmutex.owner` with PREEMPT_RT.
    pub mutex_owner: u16,
    /// Its count and its owner.
    pub rwsem: Option<(u16, u16)>,
}

/// In struct path, struct dentry, struct vfsmount and struct mount.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Paths {
    /// `path.mnt`
    pub path_mnt: u16,
    /// `path.dentry`
    pub path_dentry: u16,
    /// `dentry.d_parent`
    pub parent: u16,
    /// `dentry.d_name.name`
    pub name: u16,
    /// `dentry.d_name.len`
    pub name_len: u16,
    /// `vfsmount.mnt_root`
    pub mnt_root: u16,
    /// `mount.mnt_parent`
    pub mount_parent: u16,
    /// `mount.mnt_mountpoint`
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
