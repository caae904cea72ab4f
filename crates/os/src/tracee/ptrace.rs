//! os/tracee/ptrace.rs: the requests of ptrace(2) and the stops of a process, each with a safe interface.

use rustix::io::Errno;
use std::ffi::{c_int, c_long};
use std::marker::PhantomData;
use std::mem::MaybeUninit;

/// The requests and options that are used, with the numbers of the kernel. (include/uapi/linux/ptrace.h: libc's
/// constants have other types with each C library.)
mod request {
    pub(super) const PEEKTEXT: u32 = 1;
    pub(super) const POKETEXT: u32 = 4;
    pub(super) const CONT: u32 = 7;
    pub(super) const SINGLESTEP: u32 = 9;
    pub(super) const DETACH: u32 = 17;
    pub(super) const GETEVENTMSG: u32 = 0x4201;
    pub(super) const GETREGSET: u32 = 0x4204;
    pub(super) const SETREGSET: u32 = 0x4205;
    pub(super) const SEIZE: u32 = 0x4206;
    pub(super) const LISTEN: u32 = 0x4208;
}

/// The options: new processes and threads, execs, and the end of the tracee with its tracer.
const OPTIONS: usize = 1 << EVENT_FORK | 1 << EVENT_VFORK | 1 << EVENT_CLONE | 1 << EVENT_EXEC | 1 << 20;

const EVENT_FORK: c_int = 1;
const EVENT_VFORK: c_int = 2;
const EVENT_CLONE: c_int = 3;
const EVENT_EXEC: c_int = 4;
const EVENT_STOP: c_int = 128;

/// The general registers.
const NT_PRSTATUS: usize = 1;

/// A breakpoint instruction, and the distance from it to the address at which it stops.
#[cfg(target_arch = "x86_64")]
const BREAKPOINT: (&[u8], u64) = (&[0xcc], 1);
/// `brk #0`
#[cfg(target_arch = "aarch64")]
const BREAKPOINT: (&[u8], u64) = (&0xd420_0000_u32.to_le_bytes(), 0);

/// The reason for a stop. The process continues only when it is resumed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stop {
    /// A new program is in memory.
    Exec,
    /// A signal arrived, which the process gets only if it is resumed with it.
    Signal(i32),
    /// It made a process with a copy of its memory.
    Forked,
    /// It made a thread, or a process that shares its memory.
    Cloned,
    /// A signal such as SIGSTOP has stopped it as it would without a tracer.
    Job,
    /// Another stop, without a meaning here.
    Other,
    /// It has ended. Its status is not consumed.
    Ended,
}

/// A process that this thread traces. Only the thread that seized it may use it.
#[derive(Debug)]
pub(crate) struct Tracee {
    pid: u32,
    thread: PhantomData<*const ()>,
}

impl Tracee {
    /// Begins to trace a process, without stopping it. If this thread ends, the process is killed.
    pub(crate) fn seize(pid: u32) -> Result<Tracee, Errno> {
        let tracee = Tracee { pid, thread: PhantomData };
        tracee.request(request::SEIZE, 0, OPTIONS)?;
        Ok(tracee)
    }

    /// The id of the process.
    pub(crate) fn pid(&self) -> u32 {
        self.pid
    }

    /// Waits for the next stop, or the end.
    pub(crate) fn wait(&self) -> Result<Stop, Errno> {
        loop {
            if let Some(stop) = self.look(0)? {
                return Ok(stop);
            }
        }
    }

    /// Returns the stop or the end that is there now.
    pub(crate) fn poll(&self) -> Result<Option<Stop>, Errno> {
        self.look(libc::WNOHANG)
    }

    /// A stop or an end remains for others to wait for: the process is the child of a `std::process::Child`, which
    /// would miss its exit status. A resumed process no longer reports its stop.
    fn look(&self, flags: c_int) -> Result<Option<Stop>, Errno> {
        let flags = flags | libc::WEXITED | libc::WSTOPPED | libc::WNOWAIT | libc::__WALL;
        match wait_id(self.pid, flags) {
            // The kernel consumes the end if this process ignores SIGCHLD.
            Err(Errno::CHILD) => Ok(Some(Stop::Ended)),
            found => Ok(found?.map(|(code, status)| stop(code, status))),
        }
    }

    /// Resumes the process. A signal other than 0 is delivered to it.
    pub(crate) fn resume(&self, signal: i32) -> Result<(), Errno> {
        self.request(request::CONT, 0, signal as usize).map(drop)
    }

    /// Leaves a process with [`Stop::Job`] stopped until SIGCONT arrives.
    pub(crate) fn listen(&self) -> Result<(), Errno> {
        self.request(request::LISTEN, 0, 0).map(drop)
    }

    /// Executes one instruction; returns whether the process stopped after it. A signal that arrives is delivered.
    pub(crate) fn step(&self) -> Result<bool, Errno> {
        let mut signal = 0;
        loop {
            self.request(request::SINGLESTEP, 0, signal)?;
            signal = match self.wait()? {
                Stop::Signal(libc::SIGTRAP) => return Ok(true),
                Stop::Signal(other) => other as usize,
                Stop::Ended => return Ok(false),
                _ => 0,
            };
        }
    }

    /// Ends the tracing of a stopped process, which continues.
    pub(crate) fn detach(&self) -> Result<(), Errno> {
        self.request(request::DETACH, 0, 0).map(drop)
    }

    /// Lets the new process or thread of [`Stop::Forked`] or [`Stop::Cloned`] continue without a tracer, after a
    /// change to its memory.
    pub(crate) fn let_go(&self, change: impl FnOnce(&Tracee) -> Result<(), Errno>) -> Result<(), Errno> {
        let mut message: usize = 0;
        self.request(request::GETEVENTMSG, 0, (&raw mut message).addr())?;
        let new = Tracee { pid: message as u32, thread: PhantomData };
        // It has ended if it was killed; then nothing is left to do but to consume its end, as its tracer.
        if new.wait()? == Stop::Ended || change(&new).and_then(|()| new.detach()).is_err() {
            let _ = wait_id(new.pid, libc::WEXITED | libc::__WALL);
        }
        Ok(())
    }

    /// The address of the next instruction.
    pub(crate) fn ip(&self) -> Result<u64, Errno> {
        Ok(*ip_of(&mut self.registers()?))
    }

    /// Continues at an address.
    pub(crate) fn set_ip(&self, address: u64) -> Result<(), Errno> {
        let mut registers = self.registers()?;
        *ip_of(&mut registers) = address;
        let mut iov = iovec(&mut registers);
        self.request(request::SETREGSET, NT_PRSTATUS, (&raw mut iov).addr()).map(drop)
    }

    fn registers(&self) -> Result<libc::user_regs_struct, Errno> {
        // SAFETY: the registers are integers, for which zeroes are valid.
        let mut registers: libc::user_regs_struct = unsafe { MaybeUninit::zeroed().assume_init() };
        let mut iov = iovec(&mut registers);
        self.request(request::GETREGSET, NT_PRSTATUS, (&raw mut iov).addr())?;
        // A program of 32 bits has fewer.
        if iov.iov_len == size_of::<libc::user_regs_struct>() { Ok(registers) } else { Err(Errno::NOTSUP) }
    }

    /// Replaces bytes of an aligned word, even in memory that the process may not write. Returns the bytes before.
    fn replace(&self, address: u64, bytes: &[u8]) -> Result<Vec<u8>, Errno> {
        const WORD: usize = size_of::<usize>();
        let (base, offset) = (address as usize & !(WORD - 1), address as usize & (WORD - 1));
        let mut word: usize = 0;
        self.request(request::PEEKTEXT, base, (&raw mut word).addr())?;
        let mut image = word.to_ne_bytes();
        let field = image.get_mut(offset..offset + bytes.len()).ok_or(Errno::INVAL)?;
        let before = field.to_vec();
        field.copy_from_slice(bytes);
        self.request(request::POKETEXT, base, usize::from_ne_bytes(image))?;
        Ok(before)
    }

    fn request(&self, request: u32, address: usize, data: usize) -> Result<c_long, Errno> {
        // SAFETY: addresses of this process are given only to requests that write at most the value that they point
        // to, which the caller borrows mutably. Other addresses are of the tracee.
        let done =
            unsafe { libc::syscall(libc::SYS_ptrace, request as usize, self.pid as usize, address, data) };
        if done < 0 { Err(last_errno()) } else { Ok(done) }
    }
}

/// A breakpoint in the memory of a process.
#[derive(Debug)]
pub(crate) struct Breakpoint {
    address: u64,
    before: Vec<u8>,
}

impl Breakpoint {
    /// Writes the breakpoint instruction.
    pub(crate) fn set(tracee: &Tracee, address: u64) -> Result<Breakpoint, Errno> {
        Ok(Breakpoint { address, before: tracee.replace(address, BREAKPOINT.0)? })
    }

    /// Writes the original instruction, also into a copy of the memory.
    pub(crate) fn remove(&self, tracee: &Tracee) -> Result<(), Errno> {
        tracee.replace(self.address, &self.before).map(drop)
    }

    /// Whether a process that was stopped by SIGTRAP has executed the breakpoint.
    pub(crate) fn is_hit(&self, tracee: &Tracee) -> Result<bool, Errno> {
        Ok(tracee.ip()? == self.address + BREAKPOINT.1)
    }
}

#[cfg(target_arch = "x86_64")]
fn ip_of(registers: &mut libc::user_regs_struct) -> &mut u64 {
    &mut registers.rip
}

#[cfg(target_arch = "aarch64")]
fn ip_of(registers: &mut libc::user_regs_struct) -> &mut u64 {
    &mut registers.pc
}

fn iovec(registers: &mut libc::user_regs_struct) -> libc::iovec {
    libc::iovec { iov_base: (&raw mut *registers).cast(), iov_len: size_of_val(registers) }
}

/// The meaning of what waitid() reported.
fn stop(code: c_int, status: c_int) -> Stop {
    if matches!(code, libc::CLD_EXITED | libc::CLD_KILLED | libc::CLD_DUMPED) {
        return Stop::Ended;
    }
    let signal = status & 0xff;
    match status >> 8 {
        0 => Stop::Signal(signal),
        EVENT_EXEC => Stop::Exec,
        EVENT_FORK => Stop::Forked,
        EVENT_VFORK | EVENT_CLONE => Stop::Cloned,
        EVENT_STOP if signal != libc::SIGTRAP => Stop::Job,
        _ => Stop::Other,
    }
}

/// Waits for one process. Returns the code and the status; `None` after a signal to this process, or if there is
/// nothing yet.
fn wait_id(pid: u32, flags: c_int) -> Result<Option<(c_int, c_int)>, Errno> {
    // SAFETY: zeroes are a valid siginfo_t.
    let mut info: libc::siginfo_t = unsafe { MaybeUninit::zeroed().assume_init() };
    // SAFETY: the kernel writes one siginfo_t.
    if unsafe { libc::waitid(libc::P_PID, pid, &raw mut info, flags) } < 0 {
        return match last_errno() {
            Errno::INTR => Ok(None),
            errno => Err(errno),
        };
    }
    // SAFETY: waitid() wrote the fields of SIGCHLD, or left zeroes.
    let (of, status) = unsafe { (info.si_pid(), info.si_status()) };
    Ok((of != 0).then_some((info.si_code, status)))
}

fn last_errno() -> Errno {
    Errno::from_io_error(&std::io::Error::last_os_error()).unwrap_or(Errno::INVAL)
}
