//! bpf/kernel.rs: offsets of members in the kernel structures that programs read, as given by the kernel's BTF.

/// Offsets in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Layout {
    /// In a task: the flags that mark a system call of a 32-bit program.
    pub status: u16,
    /// `pid`: the thread id.
    pub pid: u16,
    /// `tgid`: the process id.
    pub tgid: u16,
    /// `signal`: the structure that the threads of a process share.
    pub signal: u16,
    /// `exit_code` of the thread.
    pub exit_code: u16,
    /// `group_leader`: the first thread of the process.
    pub leader: u16,
    /// `start_boottime`, in nanoseconds.
    pub start: u16,
    /// `thread_pid`, which a task has until it is released.
    pub thread_pid: u16,
    /// `real_parent`
    pub real_parent: u16,
    /// `mm`: the memory of the process; NULL in a kernel thread.
    pub mm: u16,
    /// `flags` of the task.
    pub task_flags: u16,
    /// `arg_start`, in the memory of a process.
    pub arg_start: u16,
    /// End of the arguments that begin at `arg_start`.
    pub arg_end: u16,
    /// `live`, in `signal_struct`.
    pub live: u16,
    /// The flags of `signal_struct`.
    pub flags: u16,
    /// `group_exit_code`: the exit code of the process.
    pub group_exit_code: u16,
    /// The handler, in the action of a signal.
    pub handler: u16,
    /// Whether the tracepoint of a thread's exit has an argument for the last thread of a process.
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

/// Run time of a task: the time that the scheduler has accounted, and when it did so.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Times {
    /// `se.sum_exec_runtime`: the accounted nanoseconds.
    pub sum_exec_runtime: u16,
    /// `se.exec_start`: the scheduler's clock at that time.
    pub exec_start: u16,
}

/// Owners of a mutex and of a reader-writer semaphore. With PREEMPT_RT, the latter has none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Locks {
    /// `owner`, or `rtmutex.owner` with PREEMPT_RT.
    pub mutex_owner: u16,
    /// Count and owner.
    pub rwsem: Option<(u16, u16)>,
}

/// Members of struct path, struct dentry, struct vfsmount and struct mount.
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
    /// `mount.mnt`, the struct vfsmount in a struct mount.
    pub mnt: u16,
}

/// The location of the kernel's counts of interrupts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Interrupts {
    /// Whether the location is unknown.
    pub unknown: bool,
    /// Offset in a task; `None` where each CPU has a count, whose address is in the CPU's memory.
    pub in_task: Option<u16>,
    /// Number of bits below the count of hard interrupts.
    pub hard: u8,
    /// The highest count of non-maskable interrupts; all its bits are 1.
    pub most_nmi: u8,
    /// With PREEMPT_RT, the offset of a task's count of soft interrupts.
    pub soft_in_task: Option<u16>,
}

/// Number of a tracepoint's arguments that can be named.
pub const TRACE_ARGUMENTS: u8 = 6;
