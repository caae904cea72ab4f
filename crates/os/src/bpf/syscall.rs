//! os/bpf/syscall.rs: the bpf(2) call, and the layouts that it reads.

use rustix::io::Errno;
use std::ffi::c_long;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};

/// BPF_TRACE_KPROBE_MULTI
pub(super) const KPROBE_MULTI: u32 = 42;
/// BPF_TRACE_UPROBE_MULTI
pub(super) const UPROBE_MULTI: u32 = 48;
/// BPF_PERF_EVENT
pub(super) const PERF_EVENT: u32 = 41;

/// Commands of bpf(2).
pub(super) mod command {
    pub(crate) const MAP_CREATE: i32 = 0;
    pub(crate) const MAP_LOOKUP: i32 = 1;
    pub(crate) const MAP_UPDATE: i32 = 2;
    pub(crate) const MAP_DELETE: i32 = 3;
    pub(crate) const PROG_LOAD: i32 = 5;
    pub(crate) const PROG_TEST_RUN: i32 = 10;
    pub(crate) const OBJECT_INFO: i32 = 15;
    pub(crate) const RAW_TRACEPOINT_OPEN: i32 = 17;
    pub(crate) const BTF_LOAD: i32 = 18;
    pub(crate) const BTF_FROM_NUMBER: i32 = 19;
    pub(crate) const BTF_NEXT_NUMBER: i32 = 23;
    pub(crate) const MAP_LOOKUP_AND_DELETE_BATCH: i32 = 25;
    pub(crate) const MAP_UPDATE_BATCH: i32 = 26;
    pub(crate) const LINK_CREATE: i32 = 28;
}

/// The beginning of `union bpf_attr` for each command; the kernel treats the rest as zeros.
#[repr(C)]
pub(super) struct Create {
    pub(super) kind: u32,
    pub(super) key: u32,
    pub(super) value: u32,
    pub(super) entries: u32,
    pub(super) flags: u32,
}

#[repr(C)]
pub(super) struct Element {
    pub(super) map: u32,
    pub(super) pad: u32,
    pub(super) key: u64,
    pub(super) value: u64,
    pub(super) flags: u64,
}

#[repr(C)]
pub(super) struct Batch {
    pub(super) from: u64,
    pub(super) to: u64,
    pub(super) keys: u64,
    pub(super) values: u64,
    pub(super) count: u32,
    pub(super) map: u32,
    pub(super) element_flags: u64,
    pub(super) flags: u64,
}

#[repr(C)]
#[derive(Default)]
pub(super) struct Load {
    pub(super) kind: u32,
    pub(super) count: u32,
    pub(super) insns: u64,
    pub(super) license: u64,
    pub(super) log_level: u32,
    pub(super) log_size: u32,
    pub(super) log: u64,
    pub(super) version: u32,
    pub(super) flags: u32,
    pub(super) name: [u8; 16],
    pub(super) device: u32,
    pub(super) attach: u32,
    pub(super) types: u32,
    pub(super) function_size: u32,
    pub(super) functions: u64,
    pub(super) function_count: u32,
    pub(super) line_size: u32,
    pub(super) lines: u64,
    pub(super) line_count: u32,
    pub(super) function: u32,
    pub(super) function_types: u32,
    pub(super) pad: u32,
}

#[repr(C)]
#[derive(Default)]
pub(super) struct Run {
    pub(super) program: u32,
    pub(super) result: u32,
    pub(super) sizes: [u32; 2],
    pub(super) data: [u64; 2],
    pub(super) repeat: u32,
    pub(super) duration: u32,
    pub(super) context_sizes: [u32; 2],
    pub(super) context: [u64; 2],
    pub(super) flags: u32,
    pub(super) cpu: u32,
}

#[repr(C)]
pub(super) struct Info {
    pub(super) descriptor: u32,
    pub(super) size: u32,
    pub(super) info: u64,
}

/// Calls bpf(2).
///
/// # Safety
///
/// The attribute must match the command, and its addresses must be valid as the command uses them.
pub(super) unsafe fn bpf<T>(command: i32, attribute: &mut T) -> Result<i32, Errno> {
    // SAFETY: guaranteed by the caller; the kernel reads and writes no more of the attribute than its size.
    let done = unsafe { libc::syscall(libc::SYS_bpf, command, attribute, size_of::<T>()) };
    result(done)
}

pub(super) fn result(done: c_long) -> Result<i32, Errno> {
    if done < 0 {
        let error = std::io::Error::last_os_error();
        return Err(Errno::from_io_error(&error).unwrap_or(Errno::INVAL));
    }
    Ok(done as i32)
}

/// Takes ownership of a descriptor that a call has returned.
pub(super) fn owned(fd: RawFd) -> OwnedFd {
    // SAFETY: the kernel has just created it, and nothing else has it.
    unsafe { OwnedFd::from_raw_fd(fd) }
}

/// The last of that many words of the kernel's information about a program or link; 0 if it has fewer.
pub(super) fn last_word<const WORDS: usize>(object: &OwnedFd) -> u64 {
    let mut words = [0u64; WORDS];
    let size = size_of_val(&words) as u32;
    let mut info = Info { descriptor: object.as_raw_fd() as u32, size, info: words.as_mut_ptr() as u64 };
    // SAFETY: the kernel writes at most the size of the words.
    match unsafe { bpf(command::OBJECT_INFO, &mut info) } {
        Ok(_) => words.last().copied().unwrap_or_default(),
        Err(_) => 0,
    }
}
