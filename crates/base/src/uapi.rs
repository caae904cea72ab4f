//! base/uapi.rs: the interface of /dev/dtrace/kinst. Generated from kmod/include/uapi by `cargo xtask uapi`.

use std::mem::{offset_of, size_of};

/// Plain data, read from and written to bytes in the machine's byte order, as the device uses it.
pub trait Plain: Copy + Default {
    /// Bytes of a value.
    const SIZE: usize;

    /// From the first `SIZE` bytes; `None` if there are fewer.
    fn read(bytes: &[u8]) -> Option<Self>;

    /// Appends `SIZE` bytes.
    fn write(&self, out: &mut Vec<u8>);

    /// The `SIZE` bytes of the value.
    fn to_bytes(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(Self::SIZE);
        self.write(&mut out);
        out
    }
}

macro_rules! plain_integer {
    ($($integer:ident)*) => {$(
        impl Plain for $integer {
            const SIZE: usize = size_of::<$integer>();

            fn read(bytes: &[u8]) -> Option<Self> {
                bytes.first_chunk().map(|bytes| $integer::from_ne_bytes(*bytes))
            }

            fn write(&self, out: &mut Vec<u8>) {
                out.extend_from_slice(&self.to_ne_bytes());
            }
        }
    )*};
}

plain_integer!(u8 u16 u32 u64 i32 i64);

impl<T: Plain, const N: usize> Plain for [T; N]
where
    [T; N]: Default,
{
    const SIZE: usize = N * T::SIZE;

    fn read(bytes: &[u8]) -> Option<Self> {
        let mut array = [T::default(); N];
        for (index, element) in array.iter_mut().enumerate() {
            *element = T::read(bytes.get(index * T::SIZE..)?)?;
        }
        Some(array)
    }

    fn write(&self, out: &mut Vec<u8>) {
        self.iter().for_each(|element| element.write(out));
    }
}

/// `KINST_ABI_VERSION`
pub const ABI_VERSION: u32 = 0x4;

/// `KINST_DEVICE`
pub const DEVICE: &str = "/dev/dtrace/kinst";

/// no such index
pub const NONE: u32 = 0xffffffff;

/// returns to the caller
pub const INSN_RET: u32 = 0x1;

/// a jump that leaves the function
pub const INSN_TAIL: u32 = 0x2;

/// a conditional branch
pub const INSN_BRANCH: u32 = 0x4;

/// the caller is in the link register, not in a frame
pub const INSN_LINKED: u32 = 0x8;

/// `KINST_FIRED_NO`
pub const FIRED_NO: u32 = 0x0;

/// `KINST_FIRED_YES`
pub const FIRED_YES: u32 = 0x1;

/// KINST_IMAGE_ONCE: removed unhit: module unloaded, or other edge taken too often
pub const FIRED_LEFT: u32 = 0x2;

/// `KINST_IOC_INFO`
pub const IOC_INFO: u32 = 0x80206b00;

/// `KINST_IOC_INSNS`
pub const IOC_INSNS: u32 = 0xc0206b01;

/// `KINST_IOC_LOAD`
pub const IOC_LOAD: u32 = 0xc0286b02;

/// `KINST_IOC_GO`
pub const IOC_GO: u32 = 0x00006b03;

/// `KINST_IOC_STOP`
pub const IOC_STOP: u32 = 0x00006b04;

/// `KINST_IOC_STATUS`
pub const IOC_STATUS: u32 = 0x80786b05;

/// Takes the CPU's aggregation buffer and leaves an empty one.
pub const IOC_AGGSNAP: u32 = 0xc0206b06;

/// `KINST_IOC_SYSCALLS`
pub const IOC_SYSCALLS: u32 = 0xc0106b07;

/// Waits until each breakpoint that can be a jump is one.
pub const IOC_SETTLE: u32 = 0x80086b08;

/// `KINST_IOC_FIRED`
pub const IOC_FIRED: u32 = 0x40106b09;

/// bytes of an image
pub const MAX_IMAGE: u32 = 0x4000000;

/// instructions of one DIFO
pub const MAX_DIFO_INSNS: u32 = 0x10000;

/// entries of a table
pub const MAX_TABLE: u32 = 0x1000000;

/// of one clause
pub const MAX_ACTIONS: u32 = 0x4000;

/// bytes of a variable by reference that is not a string
pub const MAX_VALUE: u32 = 0x4000;

/// bytes of tracemem() and printm()
pub const MAX_TRACEMEM: u32 = 0x100000;

/// bytes of one record
pub const MAX_PAYLOAD: u32 = 0x400000;

/// of stack() and ustack()
pub const MAX_FRAMES: u32 = 0x400;

/// bytes of the user's stack that ustack() copies
pub const MAX_USTACK: u32 = 0x10000;

/// id of an aggregation
pub const MAX_AGG: u32 = 0xffff;

/// `KINST_MIN_STRSIZE`
pub const MIN_STRSIZE: u32 = 0x8;

/// `KINST_MAX_STRSIZE`
pub const MAX_STRSIZE: u32 = 0x10000;

/// `KINST_MIN_BUFSIZE`
pub const MIN_BUFSIZE: u32 = 0x1000;

/// `KINST_MIN_AGGSIZE`
pub const MIN_AGGSIZE: u32 = 0x1000;

/// `KINST_MIN_DYNVARSIZE`
pub const MIN_DYNVARSIZE: u32 = 0x1000;

/// bytes of any of the buffers
pub const MAX_SIZE: u64 = 0x10000000000;

/// `KINST_MAX_NSPEC`
pub const MAX_NSPEC: u32 = 0x400;

/// a minute
pub const MAX_CLEAN_US: u32 = 0x3938700;

/// bytes of all globals, and of all clause-locals of one CPU
pub const MAX_STATIC: u32 = 0x4000000;

/// "KNST"
pub const IMAGE_MAGIC: u32 = 0x54534e4b;

/// -w
pub const IMAGE_DESTRUCTIVE: u32 = 0x1;

/// nojump: breakpoints only, no jumps in their place
pub const IMAGE_NOJUMP: u32 = 0x4;

/// once: each INSN and EDGE probe is armed by GO, and removed at its first hit. It has a breakpoint that needs no slot.
/// An edge must be one of a conditional branch; it is removed earlier if the branch takes its other edge too often.
pub const IMAGE_ONCE: u32 = 0x8;

/// bufpolicy=ring: new records overwrite the oldest
pub const IMAGE_RING: u32 = 0x2;

/// `KINST_T_BYREF`
pub const T_BYREF: u32 = 0x1;

/// `KINST_T_BYUREF`
pub const T_BYUREF: u32 = 0x2;

/// value of the return type; size 0: none
pub const ACT_DIFEXPR: u32 = 0x1;

/// 4
pub const ACT_EXIT: u32 = 0x2;

/// as DIFEXPR, one action an argument
pub const ACT_PRINTF: u32 = 0x3;

/// 8: arg
pub const ACT_PRINTA: u32 = 0x4;

/// 8: value of difo, or arg if none
pub const ACT_LIBACT: u32 = 0x5;

/// arg bytes from the address that difo gives
pub const ACT_TRACEMEM: u32 = 0x6;

/// 8: the length for the following TRACEMEM
pub const ACT_TRACEMEM_DYN: u32 = 0x7;

/// 8 + arg: length, and up to arg bytes, of the memref that difo gives
pub const ACT_PRINTM: u32 = 0x8;

/// 8 (pid) + 8 * (arg & 0xffffffff), which ends with 0 if shorter. If arg >> 32 is not 0, struct kinst_ustack and that many
/// bytes follow, a multiple of 8.
pub const ACT_USTACK: u32 = 0x101;

/// 16: pid, address
pub const ACT_USYM: u32 = 0x103;

/// 16
pub const ACT_UMOD: u32 = 0x104;

/// 16
pub const ACT_UADDR: u32 = 0x105;

/// none; destructive
pub const ACT_STOP: u32 = 0x201;

/// none; destructive
pub const ACT_RAISE: u32 = 0x202;

/// as PRINTF; destructive
pub const ACT_SYSTEM: u32 = 0x203;

/// as PRINTF; destructive
pub const ACT_FREOPEN: u32 = 0x204;

/// 8 * arg; ends with 0 if shorter
pub const ACT_STACK: u32 = 0x401;

/// 8: address that difo gives
pub const ACT_SYM: u32 = 0x402;

/// 8
pub const ACT_MOD: u32 = 0x403;

/// `KINST_ACT_BREAKPOINT`
pub const ACT_BREAKPOINT: u32 = 0x501;

/// `KINST_ACT_PANIC`
pub const ACT_PANIC: u32 = 0x502;

/// `KINST_ACT_CHILL`
pub const ACT_CHILL: u32 = 0x503;

/// `KINST_ACT_SPECULATE`
pub const ACT_SPECULATE: u32 = 0x601;

/// `KINST_ACT_COMMIT`
pub const ACT_COMMIT: u32 = 0x602;

/// `KINST_ACT_DISCARD`
pub const ACT_DISCARD: u32 = 0x603;

/// `KINST_ACT_COUNT`
pub const ACT_COUNT: u32 = 0x701;

/// `KINST_ACT_MIN`
pub const ACT_MIN: u32 = 0x702;

/// `KINST_ACT_MAX`
pub const ACT_MAX: u32 = 0x703;

/// `KINST_ACT_AVG`
pub const ACT_AVG: u32 = 0x704;

/// `KINST_ACT_SUM`
pub const ACT_SUM: u32 = 0x705;

/// `KINST_ACT_STDDEV`
pub const ACT_STDDEV: u32 = 0x706;

/// `KINST_ACT_QUANTIZE`
pub const ACT_QUANTIZE: u32 = 0x707;

/// `KINST_ACT_LQUANTIZE`
pub const ACT_LQUANTIZE: u32 = 0x708;

/// `KINST_ACT_LLQUANTIZE`
pub const ACT_LLQUANTIZE: u32 = 0x709;

/// a record is written even if the payload is empty
pub const CLAUSE_RECORD: u32 = 0x1;

/// Kinds of probes.
pub const P_BEGIN: u32 = 0x0;

/// `KINST_P_END`
pub const P_END: u32 = 0x1;

/// `KINST_P_ERROR`
pub const P_ERROR: u32 = 0x2;

/// the instruction at func + offset
pub const P_INSN: u32 = 0x3;

/// the branch at func + offset, when it goes to func + to
pub const P_EDGE: u32 = 0x4;

/// func is entered
pub const P_FBT_ENTRY: u32 = 0x5;

/// func is left; arg0 offset, arg1 value
pub const P_FBT_RETURN: u32 = 0x6;

/// every func nanoseconds on every CPU; arg0 or arg1 pc, arg2 nanoseconds late
pub const P_PROFILE: u32 = 0x7;

/// every func nanoseconds on one CPU
pub const P_TICK: u32 = 0x8;

/// system call number func begins; its arguments
pub const P_SYSCALL_ENTRY: u32 = 0x9;

/// system call number func returns; arg0 and arg1 value
pub const P_SYSCALL_RETURN: u32 = 0xa;

/// the tracepoint whose function __traceiter_NAME is at func; its arguments
pub const P_SDT: u32 = 0xb;

/// func: enum kinst_event
pub const P_EVENT: u32 = 0xc;

/// Never fires: func + to is a gate (kinst/sdt.h) of func's driver, open as long as the session traces.
pub const P_GATE: u32 = 0xd;

/// `KINST_P_KINDS`
pub const P_KINDS: u32 = 0xe;

/// nanoseconds: 5000 Hz
pub const MIN_INTERVAL: u32 = 0x30d40;

/// `KINST_MAX_INTERVAL`
pub const MAX_INTERVAL: u64 = 0x4000000000000000;

/// numbers are below it
pub const MAX_SYSCALLS: u32 = 0x1000;

/// mmap of the session at page offset cpu * KINST_RING_PAGES:
/// page 0     struct kinst_ring_consumer, read and write
/// page 1     struct kinst_ring_producer, read only
/// page 2 ..  bufsize bytes of data, read only
/// Positions count bytes from the start and are never reduced: data\[pos & (size - 1)\].
/// A record never wraps: a PAD record fills the end.
pub const RING_PAGES: u32 = 0x100000;

/// in kinst_rec.len: the record is being written
pub const REC_BUSY: u32 = 0x80000000;

/// in kinst_rec.len: padding; the next record is at the start of the ring
pub const REC_PAD: u32 = 0x40000000;

/// mask of the length in kinst_rec.len
pub const REC_LEN: u32 = 0x3fffffff;

/// the payload is struct kinst_fault
pub const EPID_FAULT: u32 = 0xffffffff;

/// registers; r0 is always 0
pub const DIF_NREGS: u32 = 0x8;

/// entries of the tuple stack
pub const DIF_NTUPLE: u32 = 0x8;

/// States of a session, in the order in which it passes through them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct State(pub u32);

impl State {
    /// `KINST_STATE_INACTIVE`
    pub const INACTIVE: State = State(0);
    /// BEGIN runs
    pub const WARMUP: State = State(1);
    /// `KINST_STATE_ACTIVE`
    pub const ACTIVE: State = State(2);
    /// exit() was called; the consumer should STOP
    pub const DRAINING: State = State(3);
    /// END runs
    pub const COOLDOWN: State = State(4);
    /// `KINST_STATE_STOPPED`
    pub const STOPPED: State = State(5);
    /// no ioctl from the consumer for too long
    pub const KILLED: State = State(6);

    /// In the order of the header.
    pub const ALL: &'static [State] = &[
        State::INACTIVE,
        State::WARMUP,
        State::ACTIVE,
        State::DRAINING,
        State::COOLDOWN,
        State::STOPPED,
        State::KILLED,
    ];

    /// The name in the header.
    pub fn name(self) -> Option<&'static str> {
        match self {
            State::INACTIVE => Some("KINST_STATE_INACTIVE"),
            State::WARMUP => Some("KINST_STATE_WARMUP"),
            State::ACTIVE => Some("KINST_STATE_ACTIVE"),
            State::DRAINING => Some("KINST_STATE_DRAINING"),
            State::COOLDOWN => Some("KINST_STATE_COOLDOWN"),
            State::STOPPED => Some("KINST_STATE_STOPPED"),
            State::KILLED => Some("KINST_STATE_KILLED"),
            _ => None,
        }
    }
}

/// The reason in a result, or KINST_OK.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Reason(pub u32);

impl Reason {
    /// `KINST_OK`
    pub const OK: Reason = Reason(0);
    /// the address is not the start of a function
    pub const NOFUNC: Reason = Reason(1);
    /// the offset is beyond the function
    pub const RANGE: Reason = Reason(2);
    /// the offset is inside an instruction
    pub const BOUNDARY: Reason = Reason(3);
    /// the bytes are not the expected ones
    pub const MISMATCH: Reason = Reason(4);
    /// kprobe blacklist: noinstr, entry code
    pub const BLACKLIST: Reason = Reason(5);
    /// inside the ftrace site
    pub const FTRACE: Reason = Reason(6);
    /// `KINST_R_JUMP_LABEL`
    pub const JUMP_LABEL: Reason = Reason(7);
    /// `KINST_R_STATIC_CALL`
    pub const STATIC_CALL: Reason = Reason(8);
    /// `KINST_R_ALTERNATIVE`
    pub const ALTERNATIVE: Reason = Reason(9);
    /// a kprobe covers it
    pub const KPROBE: Reason = Reason(10);
    /// .init.text: freed after boot
    pub const INIT: Reason = Reason(11);
    /// the module itself
    pub const SELF: Reason = Reason(12);
    /// runs on the way to our own handler
    pub const TRAP_PATH: Reason = Reason(13);
    /// `KINST_R_UNDECODABLE`
    pub const UNDECODABLE: Reason = Reason(14);
    /// sti; hlt and mwait
    pub const INSN_STI_HLT: Reason = Reason(15);
    /// x86: int3, int n, into
    pub const INSN_TRAP: Reason = Reason(16);
    /// iret, far transfers, syscall and sysret family
    pub const INSN_IRET: Reason = Reason(17);
    /// mov or pop %ss
    pub const INSN_SS: Reason = Reason(18);
    /// ud0, ud1, ud2
    pub const INSN_UD: Reason = Reason(19);
    /// swapgs, rsm, VMX, SVM, xbegin
    pub const INSN_PRIV: Reason = Reason(20);
    /// the machine enforces it: on x86, endbr with IBT on
    pub const INSN_LANDING_PAD: Reason = Reason(21);
    /// an indirect call through %rsp
    pub const INSN_RSP: Reason = Reason(22);
    /// a displacement would not fit
    pub const REACH: Reason = Reason(23);
    /// the trampoline pool is full
    pub const NOSLOT: Reason = Reason(24);
    /// the function contains another tool's breakpoint or patch
    pub const FOREIGN: Reason = Reason(25);
    /// the module is being unloaded
    pub const GONE: Reason = Reason(26);
    /// no such edge: the instruction does not lead there, or a hop is not a jump label
    pub const NOT_BRANCH: Reason = Reason(27);
    /// max_probes
    pub const LIMIT: Reason = Reason(28);
    /// an edge of this kind, or a probe kind of a newer ABI
    pub const UNSUPPORTED: Reason = Reason(29);
    /// return probe: not all exits of the function are known
    pub const MODEL: Reason = Reason(30);
    /// the timers of all sessions would fire too often: max_timer_hz
    pub const RATE: Reason = Reason(31);
    /// no system call has this number
    pub const NOSYSCALL: Reason = Reason(32);
    /// the kernel lacks the tracepoint, or refuses it
    pub const TRACEPOINT: Reason = Reason(33);
    /// runs while no trap is handled: on a CPU that comes online, or from a copy
    pub const NO_TRAP: Reason = Reason(34);
    /// another session's probe is there, and one of the two is removed at its first hit
    pub const BUSY: Reason = Reason(35);
    /// arm64: between an exclusive load and its store, or copies memory in parts
    pub const INSN_EXCLUSIVE: Reason = Reason(36);
    /// `KINST_R_MAX`
    pub const MAX: Reason = Reason(37);

    /// In the order of the header.
    pub const ALL: &'static [Reason] = &[
        Reason::OK,
        Reason::NOFUNC,
        Reason::RANGE,
        Reason::BOUNDARY,
        Reason::MISMATCH,
        Reason::BLACKLIST,
        Reason::FTRACE,
        Reason::JUMP_LABEL,
        Reason::STATIC_CALL,
        Reason::ALTERNATIVE,
        Reason::KPROBE,
        Reason::INIT,
        Reason::SELF,
        Reason::TRAP_PATH,
        Reason::UNDECODABLE,
        Reason::INSN_STI_HLT,
        Reason::INSN_TRAP,
        Reason::INSN_IRET,
        Reason::INSN_SS,
        Reason::INSN_UD,
        Reason::INSN_PRIV,
        Reason::INSN_LANDING_PAD,
        Reason::INSN_RSP,
        Reason::REACH,
        Reason::NOSLOT,
        Reason::FOREIGN,
        Reason::GONE,
        Reason::NOT_BRANCH,
        Reason::LIMIT,
        Reason::UNSUPPORTED,
        Reason::MODEL,
        Reason::RATE,
        Reason::NOSYSCALL,
        Reason::TRACEPOINT,
        Reason::NO_TRAP,
        Reason::BUSY,
        Reason::INSN_EXCLUSIVE,
        Reason::MAX,
    ];

    /// The name in the header.
    pub fn name(self) -> Option<&'static str> {
        match self {
            Reason::OK => Some("KINST_OK"),
            Reason::NOFUNC => Some("KINST_R_NOFUNC"),
            Reason::RANGE => Some("KINST_R_RANGE"),
            Reason::BOUNDARY => Some("KINST_R_BOUNDARY"),
            Reason::MISMATCH => Some("KINST_R_MISMATCH"),
            Reason::BLACKLIST => Some("KINST_R_BLACKLIST"),
            Reason::FTRACE => Some("KINST_R_FTRACE"),
            Reason::JUMP_LABEL => Some("KINST_R_JUMP_LABEL"),
            Reason::STATIC_CALL => Some("KINST_R_STATIC_CALL"),
            Reason::ALTERNATIVE => Some("KINST_R_ALTERNATIVE"),
            Reason::KPROBE => Some("KINST_R_KPROBE"),
            Reason::INIT => Some("KINST_R_INIT"),
            Reason::SELF => Some("KINST_R_SELF"),
            Reason::TRAP_PATH => Some("KINST_R_TRAP_PATH"),
            Reason::UNDECODABLE => Some("KINST_R_UNDECODABLE"),
            Reason::INSN_STI_HLT => Some("KINST_R_INSN_STI_HLT"),
            Reason::INSN_TRAP => Some("KINST_R_INSN_TRAP"),
            Reason::INSN_IRET => Some("KINST_R_INSN_IRET"),
            Reason::INSN_SS => Some("KINST_R_INSN_SS"),
            Reason::INSN_UD => Some("KINST_R_INSN_UD"),
            Reason::INSN_PRIV => Some("KINST_R_INSN_PRIV"),
            Reason::INSN_LANDING_PAD => Some("KINST_R_INSN_LANDING_PAD"),
            Reason::INSN_RSP => Some("KINST_R_INSN_RSP"),
            Reason::REACH => Some("KINST_R_REACH"),
            Reason::NOSLOT => Some("KINST_R_NOSLOT"),
            Reason::FOREIGN => Some("KINST_R_FOREIGN"),
            Reason::GONE => Some("KINST_R_GONE"),
            Reason::NOT_BRANCH => Some("KINST_R_NOT_BRANCH"),
            Reason::LIMIT => Some("KINST_R_LIMIT"),
            Reason::UNSUPPORTED => Some("KINST_R_UNSUPPORTED"),
            Reason::MODEL => Some("KINST_R_MODEL"),
            Reason::RATE => Some("KINST_R_RATE"),
            Reason::NOSYSCALL => Some("KINST_R_NOSYSCALL"),
            Reason::TRACEPOINT => Some("KINST_R_TRACEPOINT"),
            Reason::NO_TRAP => Some("KINST_R_NO_TRAP"),
            Reason::BUSY => Some("KINST_R_BUSY"),
            Reason::INSN_EXCLUSIVE => Some("KINST_R_INSN_EXCLUSIVE"),
            Reason::MAX => Some("KINST_R_MAX"),
            _ => None,
        }
    }
}

/// Events of processes, threads and disks. The arguments are the native ones of src/dlib's providers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Event(pub u32);

impl Event {
    /// struct task_struct * of the new process
    pub const PROC_CREATE: Event = Event(0);
    /// `KINST_E_PROC_EXEC_SUCCESS`
    pub const PROC_EXEC_SUCCESS: Event = Event(1);
    /// CLD_EXITED, CLD_KILLED or CLD_DUMPED
    pub const PROC_EXIT: Event = Event(2);
    /// struct task_struct * of the new thread
    pub const PROC_LWP_CREATE: Event = Event(3);
    /// `KINST_E_PROC_LWP_EXIT`
    pub const PROC_LWP_EXIT: Event = Event(4);
    /// struct task_struct * of the receiver, twice; the signal
    pub const PROC_SIGNAL_SEND: Event = Event(5);
    /// the same
    pub const PROC_SIGNAL_DISCARD: Event = Event(6);
    /// the signal, its siginfo, the function that handles it
    pub const PROC_SIGNAL_HANDLE: Event = Event(7);
    /// struct task_struct * of the thread that runs next
    pub const SCHED_OFF_CPU: Event = Event(8);
    /// `KINST_E_SCHED_PREEMPT`
    pub const SCHED_PREEMPT: Event = Event(9);
    /// `KINST_E_SCHED_SLEEP`
    pub const SCHED_SLEEP: Event = Event(10);
    /// struct task_struct * of the thread
    pub const SCHED_WAKEUP: Event = Event(11);
    /// struct bio *
    pub const IO_START: Event = Event(12);
    /// `KINST_E_MAX`
    pub const MAX: Event = Event(13);

    /// In the order of the header.
    pub const ALL: &'static [Event] = &[
        Event::PROC_CREATE,
        Event::PROC_EXEC_SUCCESS,
        Event::PROC_EXIT,
        Event::PROC_LWP_CREATE,
        Event::PROC_LWP_EXIT,
        Event::PROC_SIGNAL_SEND,
        Event::PROC_SIGNAL_DISCARD,
        Event::PROC_SIGNAL_HANDLE,
        Event::SCHED_OFF_CPU,
        Event::SCHED_PREEMPT,
        Event::SCHED_SLEEP,
        Event::SCHED_WAKEUP,
        Event::IO_START,
        Event::MAX,
    ];

    /// The name in the header.
    pub fn name(self) -> Option<&'static str> {
        match self {
            Event::PROC_CREATE => Some("KINST_E_PROC_CREATE"),
            Event::PROC_EXEC_SUCCESS => Some("KINST_E_PROC_EXEC_SUCCESS"),
            Event::PROC_EXIT => Some("KINST_E_PROC_EXIT"),
            Event::PROC_LWP_CREATE => Some("KINST_E_PROC_LWP_CREATE"),
            Event::PROC_LWP_EXIT => Some("KINST_E_PROC_LWP_EXIT"),
            Event::PROC_SIGNAL_SEND => Some("KINST_E_PROC_SIGNAL_SEND"),
            Event::PROC_SIGNAL_DISCARD => Some("KINST_E_PROC_SIGNAL_DISCARD"),
            Event::PROC_SIGNAL_HANDLE => Some("KINST_E_PROC_SIGNAL_HANDLE"),
            Event::SCHED_OFF_CPU => Some("KINST_E_SCHED_OFF_CPU"),
            Event::SCHED_PREEMPT => Some("KINST_E_SCHED_PREEMPT"),
            Event::SCHED_SLEEP => Some("KINST_E_SCHED_SLEEP"),
            Event::SCHED_WAKEUP => Some("KINST_E_SCHED_WAKEUP"),
            Event::IO_START => Some("KINST_E_IO_START"),
            Event::MAX => Some("KINST_E_MAX"),
            _ => None,
        }
    }
}

/// The rule that an image broke.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Verify(pub u32);

impl Verify {
    /// `KINST_V_OK`
    pub const OK: Verify = Verify(0);
    /// `KINST_V_HEADER`
    pub const HEADER: Verify = Verify(1);
    /// a table is outside the image, misaligned or overlaps the header
    pub const TABLE: Verify = Verify(2);
    /// `KINST_V_STRTAB`
    pub const STRTAB: Verify = Verify(3);
    /// a reference to an entry that does not exist
    pub const INDEX: Verify = Verify(4);
    /// a reserved field or operand is not zero
    pub const RESERVED: Verify = Verify(5);
    /// `KINST_V_OPCODE`
    pub const OPCODE: Verify = Verify(6);
    /// `KINST_V_REGISTER`
    pub const REGISTER: Verify = Verify(7);
    /// `KINST_V_DEST_R0`
    pub const DEST_R0: Verify = Verify(8);
    /// out of the program, or not strictly forward
    pub const BRANCH: Verify = Verify(9);
    /// `KINST_V_INT`
    pub const INT: Verify = Verify(10);
    /// `KINST_V_STR`
    pub const STR: Verify = Verify(11);
    /// unknown, of another scope or kind, or read-only
    pub const VARIABLE: Verify = Verify(12);
    /// `KINST_V_SUBR`
    pub const SUBR: Verify = Verify(13);
    /// `KINST_V_TYPE`
    pub const TYPE: Verify = Verify(14);
    /// `KINST_V_NO_RET`
    pub const NO_RET: Verify = Verify(15);
    /// unknown or not supported, or its DIFO's type does not fit
    pub const ACTION: Verify = Verify(16);
    /// `KINST_V_TUPLE`
    pub const TUPLE: Verify = Verify(17);
    /// `KINST_V_DESTRUCTIVE`
    pub const DESTRUCTIVE: Verify = Verify(18);
    /// `KINST_V_LIMIT`
    pub const LIMIT: Verify = Verify(19);
    /// `KINST_V_PROBE`
    pub const PROBE: Verify = Verify(20);
    /// `KINST_V_OPTION`
    pub const OPTION: Verify = Verify(21);
    /// `KINST_V_MAX`
    pub const MAX: Verify = Verify(22);

    /// In the order of the header.
    pub const ALL: &'static [Verify] = &[
        Verify::OK,
        Verify::HEADER,
        Verify::TABLE,
        Verify::STRTAB,
        Verify::INDEX,
        Verify::RESERVED,
        Verify::OPCODE,
        Verify::REGISTER,
        Verify::DEST_R0,
        Verify::BRANCH,
        Verify::INT,
        Verify::STR,
        Verify::VARIABLE,
        Verify::SUBR,
        Verify::TYPE,
        Verify::NO_RET,
        Verify::ACTION,
        Verify::TUPLE,
        Verify::DESTRUCTIVE,
        Verify::LIMIT,
        Verify::PROBE,
        Verify::OPTION,
        Verify::MAX,
    ];

    /// The name in the header.
    pub fn name(self) -> Option<&'static str> {
        match self {
            Verify::OK => Some("KINST_V_OK"),
            Verify::HEADER => Some("KINST_V_HEADER"),
            Verify::TABLE => Some("KINST_V_TABLE"),
            Verify::STRTAB => Some("KINST_V_STRTAB"),
            Verify::INDEX => Some("KINST_V_INDEX"),
            Verify::RESERVED => Some("KINST_V_RESERVED"),
            Verify::OPCODE => Some("KINST_V_OPCODE"),
            Verify::REGISTER => Some("KINST_V_REGISTER"),
            Verify::DEST_R0 => Some("KINST_V_DEST_R0"),
            Verify::BRANCH => Some("KINST_V_BRANCH"),
            Verify::INT => Some("KINST_V_INT"),
            Verify::STR => Some("KINST_V_STR"),
            Verify::VARIABLE => Some("KINST_V_VARIABLE"),
            Verify::SUBR => Some("KINST_V_SUBR"),
            Verify::TYPE => Some("KINST_V_TYPE"),
            Verify::NO_RET => Some("KINST_V_NO_RET"),
            Verify::ACTION => Some("KINST_V_ACTION"),
            Verify::TUPLE => Some("KINST_V_TUPLE"),
            Verify::DESTRUCTIVE => Some("KINST_V_DESTRUCTIVE"),
            Verify::LIMIT => Some("KINST_V_LIMIT"),
            Verify::PROBE => Some("KINST_V_PROBE"),
            Verify::OPTION => Some("KINST_V_OPTION"),
            Verify::MAX => Some("KINST_V_MAX"),
            _ => None,
        }
    }
}

/// A fault of DIF: the reason why a clause was abandoned.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Flt(pub u32);

impl Flt {
    /// `KINST_FLT_UNKNOWN`
    pub const UNKNOWN: Flt = Flt(0);
    /// `KINST_FLT_BADADDR`
    pub const BADADDR: Flt = Flt(1);
    /// `KINST_FLT_BADALIGN`
    pub const BADALIGN: Flt = Flt(2);
    /// `KINST_FLT_ILLOP`
    pub const ILLOP: Flt = Flt(3);
    /// `KINST_FLT_DIVZERO`
    pub const DIVZERO: Flt = Flt(4);
    /// `KINST_FLT_NOSCRATCH`
    pub const NOSCRATCH: Flt = Flt(5);
    /// `KINST_FLT_KPRIV`
    pub const KPRIV: Flt = Flt(6);
    /// `KINST_FLT_UPRIV`
    pub const UPRIV: Flt = Flt(7);
    /// `KINST_FLT_TUPOFLOW`
    pub const TUPOFLOW: Flt = Flt(8);
    /// `KINST_FLT_BADSTACK`
    pub const BADSTACK: Flt = Flt(9);
    /// the value is the index
    pub const BADINDEX: Flt = Flt(11);

    /// In the order of the header.
    pub const ALL: &'static [Flt] = &[
        Flt::UNKNOWN,
        Flt::BADADDR,
        Flt::BADALIGN,
        Flt::ILLOP,
        Flt::DIVZERO,
        Flt::NOSCRATCH,
        Flt::KPRIV,
        Flt::UPRIV,
        Flt::TUPOFLOW,
        Flt::BADSTACK,
        Flt::BADINDEX,
    ];

    /// The name in the header.
    pub fn name(self) -> Option<&'static str> {
        match self {
            Flt::UNKNOWN => Some("KINST_FLT_UNKNOWN"),
            Flt::BADADDR => Some("KINST_FLT_BADADDR"),
            Flt::BADALIGN => Some("KINST_FLT_BADALIGN"),
            Flt::ILLOP => Some("KINST_FLT_ILLOP"),
            Flt::DIVZERO => Some("KINST_FLT_DIVZERO"),
            Flt::NOSCRATCH => Some("KINST_FLT_NOSCRATCH"),
            Flt::KPRIV => Some("KINST_FLT_KPRIV"),
            Flt::UPRIV => Some("KINST_FLT_UPRIV"),
            Flt::TUPOFLOW => Some("KINST_FLT_TUPOFLOW"),
            Flt::BADSTACK => Some("KINST_FLT_BADSTACK"),
            Flt::BADINDEX => Some("KINST_FLT_BADINDEX"),
            _ => None,
        }
    }
}

/// The operation of an instruction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Op(pub u32);

impl Op {
    /// `OP_OR`
    pub const OR: Op = Op(1);
    /// `OP_XOR`
    pub const XOR: Op = Op(2);
    /// `OP_AND`
    pub const AND: Op = Op(3);
    /// `OP_SLL`
    pub const SLL: Op = Op(4);
    /// `OP_SRL`
    pub const SRL: Op = Op(5);
    /// `OP_SUB`
    pub const SUB: Op = Op(6);
    /// `OP_ADD`
    pub const ADD: Op = Op(7);
    /// `OP_MUL`
    pub const MUL: Op = Op(8);
    /// `OP_SDIV`
    pub const SDIV: Op = Op(9);
    /// `OP_UDIV`
    pub const UDIV: Op = Op(10);
    /// `OP_SREM`
    pub const SREM: Op = Op(11);
    /// `OP_UREM`
    pub const UREM: Op = Op(12);
    /// `OP_NOT`
    pub const NOT: Op = Op(13);
    /// `OP_MOV`
    pub const MOV: Op = Op(14);
    /// `OP_CMP`
    pub const CMP: Op = Op(15);
    /// `OP_TST`
    pub const TST: Op = Op(16);
    /// `OP_BA`
    pub const BA: Op = Op(17);
    /// `OP_BE`
    pub const BE: Op = Op(18);
    /// `OP_BNE`
    pub const BNE: Op = Op(19);
    /// `OP_BG`
    pub const BG: Op = Op(20);
    /// `OP_BGU`
    pub const BGU: Op = Op(21);
    /// `OP_BGE`
    pub const BGE: Op = Op(22);
    /// `OP_BGEU`
    pub const BGEU: Op = Op(23);
    /// `OP_BL`
    pub const BL: Op = Op(24);
    /// `OP_BLU`
    pub const BLU: Op = Op(25);
    /// `OP_BLE`
    pub const BLE: Op = Op(26);
    /// `OP_BLEU`
    pub const BLEU: Op = Op(27);
    /// `OP_LDSB`
    pub const LDSB: Op = Op(28);
    /// `OP_LDSH`
    pub const LDSH: Op = Op(29);
    /// `OP_LDSW`
    pub const LDSW: Op = Op(30);
    /// `OP_LDUB`
    pub const LDUB: Op = Op(31);
    /// `OP_LDUH`
    pub const LDUH: Op = Op(32);
    /// `OP_LDUW`
    pub const LDUW: Op = Op(33);
    /// `OP_LDX`
    pub const LDX: Op = Op(34);
    /// `OP_RET`
    pub const RET: Op = Op(35);
    /// `OP_NOP`
    pub const NOP: Op = Op(36);
    /// `OP_SETX`
    pub const SETX: Op = Op(37);
    /// `OP_SETS`
    pub const SETS: Op = Op(38);
    /// `OP_SCMP`
    pub const SCMP: Op = Op(39);
    /// `OP_LDGA`
    pub const LDGA: Op = Op(40);
    /// `OP_LDGS`
    pub const LDGS: Op = Op(41);
    /// `OP_STGS`
    pub const STGS: Op = Op(42);
    /// `OP_LDTA`
    pub const LDTA: Op = Op(43);
    /// `OP_LDTS`
    pub const LDTS: Op = Op(44);
    /// `OP_STTS`
    pub const STTS: Op = Op(45);
    /// `OP_SRA`
    pub const SRA: Op = Op(46);
    /// `OP_CALL`
    pub const CALL: Op = Op(47);
    /// `OP_PUSHTR`
    pub const PUSHTR: Op = Op(48);
    /// `OP_PUSHTV`
    pub const PUSHTV: Op = Op(49);
    /// `OP_POPTS`
    pub const POPTS: Op = Op(50);
    /// `OP_FLUSHTS`
    pub const FLUSHTS: Op = Op(51);
    /// `OP_LDGAA`
    pub const LDGAA: Op = Op(52);
    /// `OP_LDTAA`
    pub const LDTAA: Op = Op(53);
    /// `OP_STGAA`
    pub const STGAA: Op = Op(54);
    /// `OP_STTAA`
    pub const STTAA: Op = Op(55);
    /// `OP_LDLS`
    pub const LDLS: Op = Op(56);
    /// `OP_STLS`
    pub const STLS: Op = Op(57);
    /// `OP_ALLOCS`
    pub const ALLOCS: Op = Op(58);
    /// `OP_COPYS`
    pub const COPYS: Op = Op(59);
    /// `OP_STB`
    pub const STB: Op = Op(60);
    /// `OP_STH`
    pub const STH: Op = Op(61);
    /// `OP_STW`
    pub const STW: Op = Op(62);
    /// `OP_STX`
    pub const STX: Op = Op(63);
    /// `OP_ULDSB`
    pub const ULDSB: Op = Op(64);
    /// `OP_ULDSH`
    pub const ULDSH: Op = Op(65);
    /// `OP_ULDSW`
    pub const ULDSW: Op = Op(66);
    /// `OP_ULDUB`
    pub const ULDUB: Op = Op(67);
    /// `OP_ULDUH`
    pub const ULDUH: Op = Op(68);
    /// `OP_ULDUW`
    pub const ULDUW: Op = Op(69);
    /// `OP_ULDX`
    pub const ULDX: Op = Op(70);
    /// `OP_RLDSB`
    pub const RLDSB: Op = Op(71);
    /// `OP_RLDSH`
    pub const RLDSH: Op = Op(72);
    /// `OP_RLDSW`
    pub const RLDSW: Op = Op(73);
    /// `OP_RLDUB`
    pub const RLDUB: Op = Op(74);
    /// `OP_RLDUH`
    pub const RLDUH: Op = Op(75);
    /// `OP_RLDUW`
    pub const RLDUW: Op = Op(76);
    /// `OP_RLDX`
    pub const RLDX: Op = Op(77);
    /// `OP_XLATE`
    pub const XLATE: Op = Op(78);
    /// `OP_XLARG`
    pub const XLARG: Op = Op(79);
    /// `OP_BOUND`
    pub const BOUND: Op = Op(80);
    /// `OP_MAX`
    pub const MAX: Op = Op(81);

    /// In the order of the header.
    pub const ALL: &'static [Op] = &[
        Op::OR,
        Op::XOR,
        Op::AND,
        Op::SLL,
        Op::SRL,
        Op::SUB,
        Op::ADD,
        Op::MUL,
        Op::SDIV,
        Op::UDIV,
        Op::SREM,
        Op::UREM,
        Op::NOT,
        Op::MOV,
        Op::CMP,
        Op::TST,
        Op::BA,
        Op::BE,
        Op::BNE,
        Op::BG,
        Op::BGU,
        Op::BGE,
        Op::BGEU,
        Op::BL,
        Op::BLU,
        Op::BLE,
        Op::BLEU,
        Op::LDSB,
        Op::LDSH,
        Op::LDSW,
        Op::LDUB,
        Op::LDUH,
        Op::LDUW,
        Op::LDX,
        Op::RET,
        Op::NOP,
        Op::SETX,
        Op::SETS,
        Op::SCMP,
        Op::LDGA,
        Op::LDGS,
        Op::STGS,
        Op::LDTA,
        Op::LDTS,
        Op::STTS,
        Op::SRA,
        Op::CALL,
        Op::PUSHTR,
        Op::PUSHTV,
        Op::POPTS,
        Op::FLUSHTS,
        Op::LDGAA,
        Op::LDTAA,
        Op::STGAA,
        Op::STTAA,
        Op::LDLS,
        Op::STLS,
        Op::ALLOCS,
        Op::COPYS,
        Op::STB,
        Op::STH,
        Op::STW,
        Op::STX,
        Op::ULDSB,
        Op::ULDSH,
        Op::ULDSW,
        Op::ULDUB,
        Op::ULDUH,
        Op::ULDUW,
        Op::ULDX,
        Op::RLDSB,
        Op::RLDSH,
        Op::RLDSW,
        Op::RLDUB,
        Op::RLDUH,
        Op::RLDUW,
        Op::RLDX,
        Op::XLATE,
        Op::XLARG,
        Op::BOUND,
        Op::MAX,
    ];

    /// The name in the header.
    pub fn name(self) -> Option<&'static str> {
        match self {
            Op::OR => Some("OP_OR"),
            Op::XOR => Some("OP_XOR"),
            Op::AND => Some("OP_AND"),
            Op::SLL => Some("OP_SLL"),
            Op::SRL => Some("OP_SRL"),
            Op::SUB => Some("OP_SUB"),
            Op::ADD => Some("OP_ADD"),
            Op::MUL => Some("OP_MUL"),
            Op::SDIV => Some("OP_SDIV"),
            Op::UDIV => Some("OP_UDIV"),
            Op::SREM => Some("OP_SREM"),
            Op::UREM => Some("OP_UREM"),
            Op::NOT => Some("OP_NOT"),
            Op::MOV => Some("OP_MOV"),
            Op::CMP => Some("OP_CMP"),
            Op::TST => Some("OP_TST"),
            Op::BA => Some("OP_BA"),
            Op::BE => Some("OP_BE"),
            Op::BNE => Some("OP_BNE"),
            Op::BG => Some("OP_BG"),
            Op::BGU => Some("OP_BGU"),
            Op::BGE => Some("OP_BGE"),
            Op::BGEU => Some("OP_BGEU"),
            Op::BL => Some("OP_BL"),
            Op::BLU => Some("OP_BLU"),
            Op::BLE => Some("OP_BLE"),
            Op::BLEU => Some("OP_BLEU"),
            Op::LDSB => Some("OP_LDSB"),
            Op::LDSH => Some("OP_LDSH"),
            Op::LDSW => Some("OP_LDSW"),
            Op::LDUB => Some("OP_LDUB"),
            Op::LDUH => Some("OP_LDUH"),
            Op::LDUW => Some("OP_LDUW"),
            Op::LDX => Some("OP_LDX"),
            Op::RET => Some("OP_RET"),
            Op::NOP => Some("OP_NOP"),
            Op::SETX => Some("OP_SETX"),
            Op::SETS => Some("OP_SETS"),
            Op::SCMP => Some("OP_SCMP"),
            Op::LDGA => Some("OP_LDGA"),
            Op::LDGS => Some("OP_LDGS"),
            Op::STGS => Some("OP_STGS"),
            Op::LDTA => Some("OP_LDTA"),
            Op::LDTS => Some("OP_LDTS"),
            Op::STTS => Some("OP_STTS"),
            Op::SRA => Some("OP_SRA"),
            Op::CALL => Some("OP_CALL"),
            Op::PUSHTR => Some("OP_PUSHTR"),
            Op::PUSHTV => Some("OP_PUSHTV"),
            Op::POPTS => Some("OP_POPTS"),
            Op::FLUSHTS => Some("OP_FLUSHTS"),
            Op::LDGAA => Some("OP_LDGAA"),
            Op::LDTAA => Some("OP_LDTAA"),
            Op::STGAA => Some("OP_STGAA"),
            Op::STTAA => Some("OP_STTAA"),
            Op::LDLS => Some("OP_LDLS"),
            Op::STLS => Some("OP_STLS"),
            Op::ALLOCS => Some("OP_ALLOCS"),
            Op::COPYS => Some("OP_COPYS"),
            Op::STB => Some("OP_STB"),
            Op::STH => Some("OP_STH"),
            Op::STW => Some("OP_STW"),
            Op::STX => Some("OP_STX"),
            Op::ULDSB => Some("OP_ULDSB"),
            Op::ULDSH => Some("OP_ULDSH"),
            Op::ULDSW => Some("OP_ULDSW"),
            Op::ULDUB => Some("OP_ULDUB"),
            Op::ULDUH => Some("OP_ULDUH"),
            Op::ULDUW => Some("OP_ULDUW"),
            Op::ULDX => Some("OP_ULDX"),
            Op::RLDSB => Some("OP_RLDSB"),
            Op::RLDSH => Some("OP_RLDSH"),
            Op::RLDSW => Some("OP_RLDSW"),
            Op::RLDUB => Some("OP_RLDUB"),
            Op::RLDUH => Some("OP_RLDUH"),
            Op::RLDUW => Some("OP_RLDUW"),
            Op::RLDX => Some("OP_RLDX"),
            Op::XLATE => Some("OP_XLATE"),
            Op::XLARG => Some("OP_XLARG"),
            Op::BOUND => Some("OP_BOUND"),
            Op::MAX => Some("OP_MAX"),
            _ => None,
        }
    }
}

/// A built-in variable, and the first id of a program's own variables.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Varid(pub u32);

impl Varid {
    /// `VAR_ARGS`
    pub const ARGS: Varid = Varid(0);
    /// `VAR_REGS`
    pub const REGS: Varid = Varid(1);
    /// `VAR_UREGS`
    pub const UREGS: Varid = Varid(2);
    /// `VAR_CURTHREAD`
    pub const CURTHREAD: Varid = Varid(256);
    /// `VAR_TIMESTAMP`
    pub const TIMESTAMP: Varid = Varid(257);
    /// `VAR_VTIMESTAMP`
    pub const VTIMESTAMP: Varid = Varid(258);
    /// `VAR_IPL`
    pub const IPL: Varid = Varid(259);
    /// `VAR_EPID`
    pub const EPID: Varid = Varid(260);
    /// `VAR_ID`
    pub const ID: Varid = Varid(261);
    /// `VAR_ARG0`
    pub const ARG0: Varid = Varid(262);
    /// `VAR_ARG1`
    pub const ARG1: Varid = Varid(263);
    /// `VAR_ARG2`
    pub const ARG2: Varid = Varid(264);
    /// `VAR_ARG3`
    pub const ARG3: Varid = Varid(265);
    /// `VAR_ARG4`
    pub const ARG4: Varid = Varid(266);
    /// `VAR_ARG5`
    pub const ARG5: Varid = Varid(267);
    /// `VAR_ARG6`
    pub const ARG6: Varid = Varid(268);
    /// `VAR_ARG7`
    pub const ARG7: Varid = Varid(269);
    /// `VAR_ARG8`
    pub const ARG8: Varid = Varid(270);
    /// `VAR_ARG9`
    pub const ARG9: Varid = Varid(271);
    /// `VAR_STACKDEPTH`
    pub const STACKDEPTH: Varid = Varid(272);
    /// `VAR_CALLER`
    pub const CALLER: Varid = Varid(273);
    /// `VAR_PROBEPROV`
    pub const PROBEPROV: Varid = Varid(274);
    /// `VAR_PROBEMOD`
    pub const PROBEMOD: Varid = Varid(275);
    /// `VAR_PROBEFUNC`
    pub const PROBEFUNC: Varid = Varid(276);
    /// `VAR_PROBENAME`
    pub const PROBENAME: Varid = Varid(277);
    /// `VAR_PID`
    pub const PID: Varid = Varid(278);
    /// `VAR_TID`
    pub const TID: Varid = Varid(279);
    /// `VAR_EXECNAME`
    pub const EXECNAME: Varid = Varid(280);
    /// `VAR_ZONENAME`
    pub const ZONENAME: Varid = Varid(281);
    /// `VAR_WALLTIMESTAMP`
    pub const WALLTIMESTAMP: Varid = Varid(282);
    /// `VAR_USTACKDEPTH`
    pub const USTACKDEPTH: Varid = Varid(283);
    /// `VAR_UCALLER`
    pub const UCALLER: Varid = Varid(284);
    /// `VAR_PPID`
    pub const PPID: Varid = Varid(285);
    /// `VAR_UID`
    pub const UID: Varid = Varid(286);
    /// `VAR_GID`
    pub const GID: Varid = Varid(287);
    /// `VAR_ERRNO`
    pub const ERRNO: Varid = Varid(288);
    /// `VAR_EXECARGS`
    pub const EXECARGS: Varid = Varid(289);
    /// `VAR_JID`
    pub const JID: Varid = Varid(290);
    /// `VAR_JAILNAME`
    pub const JAILNAME: Varid = Varid(291);
    /// `VAR_INLINEFUNC`
    pub const INLINEFUNC: Varid = Varid(292);
    /// `VAR_CPU`
    pub const CPU: Varid = Varid(512);
    /// `VAR_USER`
    pub const USER: Varid = Varid(1280);

    /// In the order of the header.
    pub const ALL: &'static [Varid] = &[
        Varid::ARGS,
        Varid::REGS,
        Varid::UREGS,
        Varid::CURTHREAD,
        Varid::TIMESTAMP,
        Varid::VTIMESTAMP,
        Varid::IPL,
        Varid::EPID,
        Varid::ID,
        Varid::ARG0,
        Varid::ARG1,
        Varid::ARG2,
        Varid::ARG3,
        Varid::ARG4,
        Varid::ARG5,
        Varid::ARG6,
        Varid::ARG7,
        Varid::ARG8,
        Varid::ARG9,
        Varid::STACKDEPTH,
        Varid::CALLER,
        Varid::PROBEPROV,
        Varid::PROBEMOD,
        Varid::PROBEFUNC,
        Varid::PROBENAME,
        Varid::PID,
        Varid::TID,
        Varid::EXECNAME,
        Varid::ZONENAME,
        Varid::WALLTIMESTAMP,
        Varid::USTACKDEPTH,
        Varid::UCALLER,
        Varid::PPID,
        Varid::UID,
        Varid::GID,
        Varid::ERRNO,
        Varid::EXECARGS,
        Varid::JID,
        Varid::JAILNAME,
        Varid::INLINEFUNC,
        Varid::CPU,
        Varid::USER,
    ];

    /// The name in the header.
    pub fn name(self) -> Option<&'static str> {
        match self {
            Varid::ARGS => Some("VAR_ARGS"),
            Varid::REGS => Some("VAR_REGS"),
            Varid::UREGS => Some("VAR_UREGS"),
            Varid::CURTHREAD => Some("VAR_CURTHREAD"),
            Varid::TIMESTAMP => Some("VAR_TIMESTAMP"),
            Varid::VTIMESTAMP => Some("VAR_VTIMESTAMP"),
            Varid::IPL => Some("VAR_IPL"),
            Varid::EPID => Some("VAR_EPID"),
            Varid::ID => Some("VAR_ID"),
            Varid::ARG0 => Some("VAR_ARG0"),
            Varid::ARG1 => Some("VAR_ARG1"),
            Varid::ARG2 => Some("VAR_ARG2"),
            Varid::ARG3 => Some("VAR_ARG3"),
            Varid::ARG4 => Some("VAR_ARG4"),
            Varid::ARG5 => Some("VAR_ARG5"),
            Varid::ARG6 => Some("VAR_ARG6"),
            Varid::ARG7 => Some("VAR_ARG7"),
            Varid::ARG8 => Some("VAR_ARG8"),
            Varid::ARG9 => Some("VAR_ARG9"),
            Varid::STACKDEPTH => Some("VAR_STACKDEPTH"),
            Varid::CALLER => Some("VAR_CALLER"),
            Varid::PROBEPROV => Some("VAR_PROBEPROV"),
            Varid::PROBEMOD => Some("VAR_PROBEMOD"),
            Varid::PROBEFUNC => Some("VAR_PROBEFUNC"),
            Varid::PROBENAME => Some("VAR_PROBENAME"),
            Varid::PID => Some("VAR_PID"),
            Varid::TID => Some("VAR_TID"),
            Varid::EXECNAME => Some("VAR_EXECNAME"),
            Varid::ZONENAME => Some("VAR_ZONENAME"),
            Varid::WALLTIMESTAMP => Some("VAR_WALLTIMESTAMP"),
            Varid::USTACKDEPTH => Some("VAR_USTACKDEPTH"),
            Varid::UCALLER => Some("VAR_UCALLER"),
            Varid::PPID => Some("VAR_PPID"),
            Varid::UID => Some("VAR_UID"),
            Varid::GID => Some("VAR_GID"),
            Varid::ERRNO => Some("VAR_ERRNO"),
            Varid::EXECARGS => Some("VAR_EXECARGS"),
            Varid::JID => Some("VAR_JID"),
            Varid::JAILNAME => Some("VAR_JAILNAME"),
            Varid::INLINEFUNC => Some("VAR_INLINEFUNC"),
            Varid::CPU => Some("VAR_CPU"),
            Varid::USER => Some("VAR_USER"),
            _ => None,
        }
    }
}

/// The operand of a call: a subroutine.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Subr(pub u32);

impl Subr {
    /// `SUBR_RAND`
    pub const RAND: Subr = Subr(0);
    /// `SUBR_MUTEX_OWNED`
    pub const MUTEX_OWNED: Subr = Subr(1);
    /// `SUBR_MUTEX_OWNER`
    pub const MUTEX_OWNER: Subr = Subr(2);
    /// `SUBR_MUTEX_TYPE_ADAPTIVE`
    pub const MUTEX_TYPE_ADAPTIVE: Subr = Subr(3);
    /// `SUBR_MUTEX_TYPE_SPIN`
    pub const MUTEX_TYPE_SPIN: Subr = Subr(4);
    /// `SUBR_RW_READ_HELD`
    pub const RW_READ_HELD: Subr = Subr(5);
    /// `SUBR_RW_WRITE_HELD`
    pub const RW_WRITE_HELD: Subr = Subr(6);
    /// `SUBR_RW_ISWRITER`
    pub const RW_ISWRITER: Subr = Subr(7);
    /// `SUBR_COPYIN`
    pub const COPYIN: Subr = Subr(8);
    /// `SUBR_COPYINSTR`
    pub const COPYINSTR: Subr = Subr(9);
    /// `SUBR_SPECULATION`
    pub const SPECULATION: Subr = Subr(10);
    /// `SUBR_PROGENYOF`
    pub const PROGENYOF: Subr = Subr(11);
    /// `SUBR_STRLEN`
    pub const STRLEN: Subr = Subr(12);
    /// `SUBR_COPYOUT`
    pub const COPYOUT: Subr = Subr(13);
    /// `SUBR_COPYOUTSTR`
    pub const COPYOUTSTR: Subr = Subr(14);
    /// `SUBR_ALLOCA`
    pub const ALLOCA: Subr = Subr(15);
    /// `SUBR_BCOPY`
    pub const BCOPY: Subr = Subr(16);
    /// `SUBR_COPYINTO`
    pub const COPYINTO: Subr = Subr(17);
    /// `SUBR_MSGDSIZE`
    pub const MSGDSIZE: Subr = Subr(18);
    /// `SUBR_MSGSIZE`
    pub const MSGSIZE: Subr = Subr(19);
    /// `SUBR_GETMAJOR`
    pub const GETMAJOR: Subr = Subr(20);
    /// `SUBR_GETMINOR`
    pub const GETMINOR: Subr = Subr(21);
    /// `SUBR_DDI_PATHNAME`
    pub const DDI_PATHNAME: Subr = Subr(22);
    /// `SUBR_STRJOIN`
    pub const STRJOIN: Subr = Subr(23);
    /// `SUBR_LLTOSTR`
    pub const LLTOSTR: Subr = Subr(24);
    /// `SUBR_BASENAME`
    pub const BASENAME: Subr = Subr(25);
    /// `SUBR_DIRNAME`
    pub const DIRNAME: Subr = Subr(26);
    /// `SUBR_CLEANPATH`
    pub const CLEANPATH: Subr = Subr(27);
    /// `SUBR_STRCHR`
    pub const STRCHR: Subr = Subr(28);
    /// `SUBR_STRRCHR`
    pub const STRRCHR: Subr = Subr(29);
    /// `SUBR_STRSTR`
    pub const STRSTR: Subr = Subr(30);
    /// `SUBR_STRTOK`
    pub const STRTOK: Subr = Subr(31);
    /// `SUBR_SUBSTR`
    pub const SUBSTR: Subr = Subr(32);
    /// `SUBR_INDEX`
    pub const INDEX: Subr = Subr(33);
    /// `SUBR_RINDEX`
    pub const RINDEX: Subr = Subr(34);
    /// `SUBR_HTONS`
    pub const HTONS: Subr = Subr(35);
    /// `SUBR_HTONL`
    pub const HTONL: Subr = Subr(36);
    /// `SUBR_HTONLL`
    pub const HTONLL: Subr = Subr(37);
    /// `SUBR_NTOHS`
    pub const NTOHS: Subr = Subr(38);
    /// `SUBR_NTOHL`
    pub const NTOHL: Subr = Subr(39);
    /// `SUBR_NTOHLL`
    pub const NTOHLL: Subr = Subr(40);
    /// `SUBR_INET_NTOP`
    pub const INET_NTOP: Subr = Subr(41);
    /// `SUBR_INET_NTOA`
    pub const INET_NTOA: Subr = Subr(42);
    /// `SUBR_INET_NTOA6`
    pub const INET_NTOA6: Subr = Subr(43);
    /// `SUBR_TOUPPER`
    pub const TOUPPER: Subr = Subr(44);
    /// `SUBR_TOLOWER`
    pub const TOLOWER: Subr = Subr(45);
    /// `SUBR_MEMREF`
    pub const MEMREF: Subr = Subr(46);
    /// `SUBR_SX_SHARED_HELD`
    pub const SX_SHARED_HELD: Subr = Subr(47);
    /// `SUBR_SX_EXCLUSIVE_HELD`
    pub const SX_EXCLUSIVE_HELD: Subr = Subr(48);
    /// `SUBR_SX_ISEXCLUSIVE`
    pub const SX_ISEXCLUSIVE: Subr = Subr(49);
    /// `SUBR_MEMSTR`
    pub const MEMSTR: Subr = Subr(50);
    /// `SUBR_GETF`
    pub const GETF: Subr = Subr(51);
    /// `SUBR_JSON`
    pub const JSON: Subr = Subr(52);
    /// `SUBR_STRTOLL`
    pub const STRTOLL: Subr = Subr(53);
    /// `SUBR_D_PATH`
    pub const D_PATH: Subr = Subr(54);
    /// `SUBR_LINK_NTOP`
    pub const LINK_NTOP: Subr = Subr(55);
    /// `SUBR_MAX`
    pub const MAX: Subr = Subr(56);

    /// In the order of the header.
    pub const ALL: &'static [Subr] = &[
        Subr::RAND,
        Subr::MUTEX_OWNED,
        Subr::MUTEX_OWNER,
        Subr::MUTEX_TYPE_ADAPTIVE,
        Subr::MUTEX_TYPE_SPIN,
        Subr::RW_READ_HELD,
        Subr::RW_WRITE_HELD,
        Subr::RW_ISWRITER,
        Subr::COPYIN,
        Subr::COPYINSTR,
        Subr::SPECULATION,
        Subr::PROGENYOF,
        Subr::STRLEN,
        Subr::COPYOUT,
        Subr::COPYOUTSTR,
        Subr::ALLOCA,
        Subr::BCOPY,
        Subr::COPYINTO,
        Subr::MSGDSIZE,
        Subr::MSGSIZE,
        Subr::GETMAJOR,
        Subr::GETMINOR,
        Subr::DDI_PATHNAME,
        Subr::STRJOIN,
        Subr::LLTOSTR,
        Subr::BASENAME,
        Subr::DIRNAME,
        Subr::CLEANPATH,
        Subr::STRCHR,
        Subr::STRRCHR,
        Subr::STRSTR,
        Subr::STRTOK,
        Subr::SUBSTR,
        Subr::INDEX,
        Subr::RINDEX,
        Subr::HTONS,
        Subr::HTONL,
        Subr::HTONLL,
        Subr::NTOHS,
        Subr::NTOHL,
        Subr::NTOHLL,
        Subr::INET_NTOP,
        Subr::INET_NTOA,
        Subr::INET_NTOA6,
        Subr::TOUPPER,
        Subr::TOLOWER,
        Subr::MEMREF,
        Subr::SX_SHARED_HELD,
        Subr::SX_EXCLUSIVE_HELD,
        Subr::SX_ISEXCLUSIVE,
        Subr::MEMSTR,
        Subr::GETF,
        Subr::JSON,
        Subr::STRTOLL,
        Subr::D_PATH,
        Subr::LINK_NTOP,
        Subr::MAX,
    ];

    /// The name in the header.
    pub fn name(self) -> Option<&'static str> {
        match self {
            Subr::RAND => Some("SUBR_RAND"),
            Subr::MUTEX_OWNED => Some("SUBR_MUTEX_OWNED"),
            Subr::MUTEX_OWNER => Some("SUBR_MUTEX_OWNER"),
            Subr::MUTEX_TYPE_ADAPTIVE => Some("SUBR_MUTEX_TYPE_ADAPTIVE"),
            Subr::MUTEX_TYPE_SPIN => Some("SUBR_MUTEX_TYPE_SPIN"),
            Subr::RW_READ_HELD => Some("SUBR_RW_READ_HELD"),
            Subr::RW_WRITE_HELD => Some("SUBR_RW_WRITE_HELD"),
            Subr::RW_ISWRITER => Some("SUBR_RW_ISWRITER"),
            Subr::COPYIN => Some("SUBR_COPYIN"),
            Subr::COPYINSTR => Some("SUBR_COPYINSTR"),
            Subr::SPECULATION => Some("SUBR_SPECULATION"),
            Subr::PROGENYOF => Some("SUBR_PROGENYOF"),
            Subr::STRLEN => Some("SUBR_STRLEN"),
            Subr::COPYOUT => Some("SUBR_COPYOUT"),
            Subr::COPYOUTSTR => Some("SUBR_COPYOUTSTR"),
            Subr::ALLOCA => Some("SUBR_ALLOCA"),
            Subr::BCOPY => Some("SUBR_BCOPY"),
            Subr::COPYINTO => Some("SUBR_COPYINTO"),
            Subr::MSGDSIZE => Some("SUBR_MSGDSIZE"),
            Subr::MSGSIZE => Some("SUBR_MSGSIZE"),
            Subr::GETMAJOR => Some("SUBR_GETMAJOR"),
            Subr::GETMINOR => Some("SUBR_GETMINOR"),
            Subr::DDI_PATHNAME => Some("SUBR_DDI_PATHNAME"),
            Subr::STRJOIN => Some("SUBR_STRJOIN"),
            Subr::LLTOSTR => Some("SUBR_LLTOSTR"),
            Subr::BASENAME => Some("SUBR_BASENAME"),
            Subr::DIRNAME => Some("SUBR_DIRNAME"),
            Subr::CLEANPATH => Some("SUBR_CLEANPATH"),
            Subr::STRCHR => Some("SUBR_STRCHR"),
            Subr::STRRCHR => Some("SUBR_STRRCHR"),
            Subr::STRSTR => Some("SUBR_STRSTR"),
            Subr::STRTOK => Some("SUBR_STRTOK"),
            Subr::SUBSTR => Some("SUBR_SUBSTR"),
            Subr::INDEX => Some("SUBR_INDEX"),
            Subr::RINDEX => Some("SUBR_RINDEX"),
            Subr::HTONS => Some("SUBR_HTONS"),
            Subr::HTONL => Some("SUBR_HTONL"),
            Subr::HTONLL => Some("SUBR_HTONLL"),
            Subr::NTOHS => Some("SUBR_NTOHS"),
            Subr::NTOHL => Some("SUBR_NTOHL"),
            Subr::NTOHLL => Some("SUBR_NTOHLL"),
            Subr::INET_NTOP => Some("SUBR_INET_NTOP"),
            Subr::INET_NTOA => Some("SUBR_INET_NTOA"),
            Subr::INET_NTOA6 => Some("SUBR_INET_NTOA6"),
            Subr::TOUPPER => Some("SUBR_TOUPPER"),
            Subr::TOLOWER => Some("SUBR_TOLOWER"),
            Subr::MEMREF => Some("SUBR_MEMREF"),
            Subr::SX_SHARED_HELD => Some("SUBR_SX_SHARED_HELD"),
            Subr::SX_EXCLUSIVE_HELD => Some("SUBR_SX_EXCLUSIVE_HELD"),
            Subr::SX_ISEXCLUSIVE => Some("SUBR_SX_ISEXCLUSIVE"),
            Subr::MEMSTR => Some("SUBR_MEMSTR"),
            Subr::GETF => Some("SUBR_GETF"),
            Subr::JSON => Some("SUBR_JSON"),
            Subr::STRTOLL => Some("SUBR_STRTOLL"),
            Subr::D_PATH => Some("SUBR_D_PATH"),
            Subr::LINK_NTOP => Some("SUBR_LINK_NTOP"),
            Subr::MAX => Some("SUBR_MAX"),
            _ => None,
        }
    }
}

/// KINST_IOC_INFO: the module and its limits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct Info {
    /// KINST_ABI_VERSION
    pub abi: u32,
    /// rings are numbered 0 .. ncpus - 1 (possible CPUs)
    pub ncpus: u32,
    /// of one session; a module parameter
    pub max_probes: u32,
    /// DIF instructions of one image; a module parameter
    pub max_insns: u32,
    /// bytes of one session; a module parameter
    pub max_memory: u64,
    /// probes of one session with KINST_IMAGE_ONCE; a module parameter
    pub max_once: u32,
    /// Zero.
    pub reserved: u32,
}

impl Plain for Info {
    const SIZE: usize = 32;

    fn read(bytes: &[u8]) -> Option<Self> {
        Some(Info {
            abi: Plain::read(bytes.get(0..)?)?,
            ncpus: Plain::read(bytes.get(4..)?)?,
            max_probes: Plain::read(bytes.get(8..)?)?,
            max_insns: Plain::read(bytes.get(12..)?)?,
            max_memory: Plain::read(bytes.get(16..)?)?,
            max_once: Plain::read(bytes.get(24..)?)?,
            reserved: Plain::read(bytes.get(28..)?)?,
        })
    }

    fn write(&self, out: &mut Vec<u8>) {
        self.abi.write(out);
        self.ncpus.write(out);
        self.max_probes.write(out);
        self.max_insns.write(out);
        self.max_memory.write(out);
        self.max_once.write(out);
        self.reserved.write(out);
    }
}

const _: () = {
    assert!(size_of::<Info>() == 32);
    assert!(offset_of!(Info, abi) == 0);
    assert!(offset_of!(Info, ncpus) == 4);
    assert!(offset_of!(Info, max_probes) == 8);
    assert!(offset_of!(Info, max_insns) == 12);
    assert!(offset_of!(Info, max_memory) == 16);
    assert!(offset_of!(Info, max_once) == 24);
    assert!(offset_of!(Info, reserved) == 28);
};

/// One instruction of a function, from memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct Insn {
    /// from the function's symbol
    pub offset: u32,
    /// bytes of the instruction
    pub len: u8,
    /// KINST_INSN_*
    pub flags: u8,
    /// enum kinst_reason; KINST_OK: it can be traced
    pub reason: u16,
    /// the first len are the original instruction
    pub bytes: [u8; 16],
}

impl Plain for Insn {
    const SIZE: usize = 24;

    fn read(bytes: &[u8]) -> Option<Self> {
        Some(Insn {
            offset: Plain::read(bytes.get(0..)?)?,
            len: Plain::read(bytes.get(4..)?)?,
            flags: Plain::read(bytes.get(5..)?)?,
            reason: Plain::read(bytes.get(6..)?)?,
            bytes: Plain::read(bytes.get(8..)?)?,
        })
    }

    fn write(&self, out: &mut Vec<u8>) {
        self.offset.write(out);
        self.len.write(out);
        self.flags.write(out);
        self.reason.write(out);
        self.bytes.write(out);
    }
}

const _: () = {
    assert!(size_of::<Insn>() == 24);
    assert!(offset_of!(Insn, offset) == 0);
    assert!(offset_of!(Insn, len) == 4);
    assert!(offset_of!(Insn, flags) == 5);
    assert!(offset_of!(Insn, reason) == 6);
    assert!(offset_of!(Insn, bytes) == 8);
};

/// KINST_IOC_INSNS: the instructions of a function.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct Insns {
    /// in: run-time address of the function's symbol
    pub func: u64,
    /// in: user address of struct kinst_insn\[count\]
    pub buf: u64,
    /// in: entries of buf; out: instructions of the function
    pub count: u32,
    /// out: bytes of the function
    pub size: u32,
    /// out: why the instructions are unknown, or KINST_OK
    pub reason: u32,
    /// Zero.
    pub reserved: u32,
}

impl Plain for Insns {
    const SIZE: usize = 32;

    fn read(bytes: &[u8]) -> Option<Self> {
        Some(Insns {
            func: Plain::read(bytes.get(0..)?)?,
            buf: Plain::read(bytes.get(8..)?)?,
            count: Plain::read(bytes.get(16..)?)?,
            size: Plain::read(bytes.get(20..)?)?,
            reason: Plain::read(bytes.get(24..)?)?,
            reserved: Plain::read(bytes.get(28..)?)?,
        })
    }

    fn write(&self, out: &mut Vec<u8>) {
        self.func.write(out);
        self.buf.write(out);
        self.count.write(out);
        self.size.write(out);
        self.reason.write(out);
        self.reserved.write(out);
    }
}

const _: () = {
    assert!(size_of::<Insns>() == 32);
    assert!(offset_of!(Insns, func) == 0);
    assert!(offset_of!(Insns, buf) == 8);
    assert!(offset_of!(Insns, count) == 16);
    assert!(offset_of!(Insns, size) == 20);
    assert!(offset_of!(Insns, reason) == 24);
    assert!(offset_of!(Insns, reserved) == 28);
};

/// The result of arming one probe of the image.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct Result {
    /// enum kinst_reason; KINST_OK: it is armed
    pub reason: u32,
    /// KINST_R_BOUNDARY: offset of the instruction before
    pub prev: u32,
    /// offset of the instruction after
    pub next: u32,
    /// Zero.
    pub reserved: u32,
}

impl Plain for Result {
    const SIZE: usize = 16;

    fn read(bytes: &[u8]) -> Option<Self> {
        Some(Result {
            reason: Plain::read(bytes.get(0..)?)?,
            prev: Plain::read(bytes.get(4..)?)?,
            next: Plain::read(bytes.get(8..)?)?,
            reserved: Plain::read(bytes.get(12..)?)?,
        })
    }

    fn write(&self, out: &mut Vec<u8>) {
        self.reason.write(out);
        self.prev.write(out);
        self.next.write(out);
        self.reserved.write(out);
    }
}

const _: () = {
    assert!(size_of::<Result>() == 16);
    assert!(offset_of!(Result, reason) == 0);
    assert!(offset_of!(Result, prev) == 4);
    assert!(offset_of!(Result, next) == 8);
    assert!(offset_of!(Result, reserved) == 12);
};

/// Why an image was refused as a whole.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct Error {
    /// enum kinst_verify; 0: not refused by the verifier
    pub code: u32,
    /// index of the DIFO, or KINST_NONE
    pub difo: u32,
    /// of the instruction in the DIFO, or of the table entry, or KINST_NONE
    pub index: u32,
    /// Zero.
    pub reserved: u32,
}

impl Plain for Error {
    const SIZE: usize = 16;

    fn read(bytes: &[u8]) -> Option<Self> {
        Some(Error {
            code: Plain::read(bytes.get(0..)?)?,
            difo: Plain::read(bytes.get(4..)?)?,
            index: Plain::read(bytes.get(8..)?)?,
            reserved: Plain::read(bytes.get(12..)?)?,
        })
    }

    fn write(&self, out: &mut Vec<u8>) {
        self.code.write(out);
        self.difo.write(out);
        self.index.write(out);
        self.reserved.write(out);
    }
}

const _: () = {
    assert!(size_of::<Error>() == 16);
    assert!(offset_of!(Error, code) == 0);
    assert!(offset_of!(Error, difo) == 4);
    assert!(offset_of!(Error, index) == 8);
    assert!(offset_of!(Error, reserved) == 12);
};

/// KINST_IOC_LOAD: an image, and one result for each of its probes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct Load {
    /// user address
    pub image: u64,
    /// user address of struct kinst_result\[nprobes of the image\]
    pub results: u64,
    /// bytes
    pub image_len: u32,
    /// entries of results: as many as the image has probes
    pub nresults: u32,
    /// out
    pub error: Error,
}

impl Plain for Load {
    const SIZE: usize = 40;

    fn read(bytes: &[u8]) -> Option<Self> {
        Some(Load {
            image: Plain::read(bytes.get(0..)?)?,
            results: Plain::read(bytes.get(8..)?)?,
            image_len: Plain::read(bytes.get(16..)?)?,
            nresults: Plain::read(bytes.get(20..)?)?,
            error: Plain::read(bytes.get(24..)?)?,
        })
    }

    fn write(&self, out: &mut Vec<u8>) {
        self.image.write(out);
        self.results.write(out);
        self.image_len.write(out);
        self.nresults.write(out);
        self.error.write(out);
    }
}

const _: () = {
    assert!(size_of::<Load>() == 40);
    assert!(offset_of!(Load, image) == 0);
    assert!(offset_of!(Load, results) == 8);
    assert!(offset_of!(Load, image_len) == 16);
    assert!(offset_of!(Load, nresults) == 20);
    assert!(offset_of!(Load, error) == 24);
};

/// Losses since LOAD, all CPUs; the per-CPU ones are in the rings.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct Status {
    /// enum kinst_state
    pub state: u32,
    /// of exit(), valid from DRAINING on
    pub exit_status: u32,
    /// dynamic variables: out of memory
    pub dyn_drops: u64,
    /// the same, while deleted variables wait for readers
    pub dyn_drops_rinsing: u64,
    /// the same, while deleted variables wait for the cleaner
    pub dyn_drops_dirty: u64,
    /// speculative records: buffer full
    pub spec_drops: u64,
    /// speculation() while the cleaner has not freed a buffer yet
    pub spec_busy: u64,
    /// speculation() while all buffers are in use
    pub spec_unavail: u64,
    /// 0: stacks are symbolized by the consumer
    pub stkstroverflows: u64,
    /// faults inside ERROR
    pub dblerrors: u64,
    /// hits inside a probe's own work, not run
    pub nested: u64,
    /// probe firings that ran at least one ECB
    pub hits: u64,
    /// Zero.
    pub reserved: [u64; 4],
}

impl Plain for Status {
    const SIZE: usize = 120;

    fn read(bytes: &[u8]) -> Option<Self> {
        Some(Status {
            state: Plain::read(bytes.get(0..)?)?,
            exit_status: Plain::read(bytes.get(4..)?)?,
            dyn_drops: Plain::read(bytes.get(8..)?)?,
            dyn_drops_rinsing: Plain::read(bytes.get(16..)?)?,
            dyn_drops_dirty: Plain::read(bytes.get(24..)?)?,
            spec_drops: Plain::read(bytes.get(32..)?)?,
            spec_busy: Plain::read(bytes.get(40..)?)?,
            spec_unavail: Plain::read(bytes.get(48..)?)?,
            stkstroverflows: Plain::read(bytes.get(56..)?)?,
            dblerrors: Plain::read(bytes.get(64..)?)?,
            nested: Plain::read(bytes.get(72..)?)?,
            hits: Plain::read(bytes.get(80..)?)?,
            reserved: Plain::read(bytes.get(88..)?)?,
        })
    }

    fn write(&self, out: &mut Vec<u8>) {
        self.state.write(out);
        self.exit_status.write(out);
        self.dyn_drops.write(out);
        self.dyn_drops_rinsing.write(out);
        self.dyn_drops_dirty.write(out);
        self.spec_drops.write(out);
        self.spec_busy.write(out);
        self.spec_unavail.write(out);
        self.stkstroverflows.write(out);
        self.dblerrors.write(out);
        self.nested.write(out);
        self.hits.write(out);
        self.reserved.write(out);
    }
}

const _: () = {
    assert!(size_of::<Status>() == 120);
    assert!(offset_of!(Status, state) == 0);
    assert!(offset_of!(Status, exit_status) == 4);
    assert!(offset_of!(Status, dyn_drops) == 8);
    assert!(offset_of!(Status, dyn_drops_rinsing) == 16);
    assert!(offset_of!(Status, dyn_drops_dirty) == 24);
    assert!(offset_of!(Status, spec_drops) == 32);
    assert!(offset_of!(Status, spec_busy) == 40);
    assert!(offset_of!(Status, spec_unavail) == 48);
    assert!(offset_of!(Status, stkstroverflows) == 56);
    assert!(offset_of!(Status, dblerrors) == 64);
    assert!(offset_of!(Status, nested) == 72);
    assert!(offset_of!(Status, hits) == 80);
    assert!(offset_of!(Status, reserved) == 88);
};

/// KINST_IOC_AGGSNAP: the aggregations of one CPU.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct Aggsnap {
    /// in: user address
    pub buf: u64,
    /// in: bytes of buf; aggsize is always enough
    pub size: u32,
    /// in
    pub cpu: u32,
    /// out: bytes written
    pub used: u32,
    /// Zero.
    pub reserved: u32,
    /// out: aggregation drops on this CPU since LOAD
    pub drops: u64,
}

impl Plain for Aggsnap {
    const SIZE: usize = 32;

    fn read(bytes: &[u8]) -> Option<Self> {
        Some(Aggsnap {
            buf: Plain::read(bytes.get(0..)?)?,
            size: Plain::read(bytes.get(8..)?)?,
            cpu: Plain::read(bytes.get(12..)?)?,
            used: Plain::read(bytes.get(16..)?)?,
            reserved: Plain::read(bytes.get(20..)?)?,
            drops: Plain::read(bytes.get(24..)?)?,
        })
    }

    fn write(&self, out: &mut Vec<u8>) {
        self.buf.write(out);
        self.size.write(out);
        self.cpu.write(out);
        self.used.write(out);
        self.reserved.write(out);
        self.drops.write(out);
    }
}

const _: () = {
    assert!(size_of::<Aggsnap>() == 32);
    assert!(offset_of!(Aggsnap, buf) == 0);
    assert!(offset_of!(Aggsnap, size) == 8);
    assert!(offset_of!(Aggsnap, cpu) == 12);
    assert!(offset_of!(Aggsnap, used) == 16);
    assert!(offset_of!(Aggsnap, reserved) == 20);
    assert!(offset_of!(Aggsnap, drops) == 24);
};

/// The kernel's table of 64-bit system calls.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct Syscalls {
    /// in: user address of __u64\[count\]: the run-time address of each call's function, 0: none
    pub buf: u64,
    /// in: entries of buf; out: entries of the table; 0: the kernel does not expose it
    pub count: u32,
    /// Zero.
    pub reserved: u32,
}

impl Plain for Syscalls {
    const SIZE: usize = 16;

    fn read(bytes: &[u8]) -> Option<Self> {
        Some(Syscalls {
            buf: Plain::read(bytes.get(0..)?)?,
            count: Plain::read(bytes.get(8..)?)?,
            reserved: Plain::read(bytes.get(12..)?)?,
        })
    }

    fn write(&self, out: &mut Vec<u8>) {
        self.buf.write(out);
        self.count.write(out);
        self.reserved.write(out);
    }
}

const _: () = {
    assert!(size_of::<Syscalls>() == 16);
    assert!(offset_of!(Syscalls, buf) == 0);
    assert!(offset_of!(Syscalls, count) == 8);
    assert!(offset_of!(Syscalls, reserved) == 12);
};

/// The result of turning breakpoints into jumps, some time after they were armed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct Settled {
    /// out: number of jumps, of all sessions
    pub jumps: u32,
    /// Zero.
    pub reserved: u32,
}

impl Plain for Settled {
    const SIZE: usize = 8;

    fn read(bytes: &[u8]) -> Option<Self> {
        Some(Settled { jumps: Plain::read(bytes.get(0..)?)?, reserved: Plain::read(bytes.get(4..)?)? })
    }

    fn write(&self, out: &mut Vec<u8>) {
        self.jumps.write(out);
        self.reserved.write(out);
    }
}

const _: () = {
    assert!(size_of::<Settled>() == 8);
    assert!(offset_of!(Settled, jumps) == 0);
    assert!(offset_of!(Settled, reserved) == 4);
};

/// The probes that have fired: that have run at least one ECB since LOAD.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct Fired {
    /// in: user address of __u8\[count\], KINST_FIRED_* for each probe of the image
    pub buf: u64,
    /// in: the probes of the image
    pub count: u32,
    /// Zero.
    pub reserved: u32,
}

impl Plain for Fired {
    const SIZE: usize = 16;

    fn read(bytes: &[u8]) -> Option<Self> {
        Some(Fired {
            buf: Plain::read(bytes.get(0..)?)?,
            count: Plain::read(bytes.get(8..)?)?,
            reserved: Plain::read(bytes.get(12..)?)?,
        })
    }

    fn write(&self, out: &mut Vec<u8>) {
        self.buf.write(out);
        self.count.write(out);
        self.reserved.write(out);
    }
}

const _: () = {
    assert!(size_of::<Fired>() == 16);
    assert!(offset_of!(Fired, buf) == 0);
    assert!(offset_of!(Fired, count) == 8);
    assert!(offset_of!(Fired, reserved) == 12);
};

/// A table of the image: count entries at off bytes from its start. off is a multiple of 8.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct Table {
    /// bytes from the start of the image
    pub off: u32,
    /// entries
    pub count: u32,
}

impl Plain for Table {
    const SIZE: usize = 8;

    fn read(bytes: &[u8]) -> Option<Self> {
        Some(Table { off: Plain::read(bytes.get(0..)?)?, count: Plain::read(bytes.get(4..)?)? })
    }

    fn write(&self, out: &mut Vec<u8>) {
        self.off.write(out);
        self.count.write(out);
    }
}

const _: () = {
    assert!(size_of::<Table>() == 8);
    assert!(offset_of!(Table, off) == 0);
    assert!(offset_of!(Table, count) == 4);
};

/// The start of an image: its tables, and the options of the session.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct Image {
    /// KINST_IMAGE_MAGIC
    pub magic: u32,
    /// KINST_ABI_VERSION
    pub version: u16,
    /// sizeof(struct kinst_image)
    pub hdr_len: u16,
    /// of the whole image
    pub len: u32,
    /// KINST_IMAGE_*
    pub flags: u32,
    /// bytes; begins and ends with NUL
    pub strtab: Table,
    /// __u32: DIF instruction words
    pub insns: Table,
    /// __u64
    pub ints: Table,
    /// struct kinst_var
    pub vars: Table,
    /// struct kinst_difo
    pub difos: Table,
    /// struct kinst_action
    pub actions: Table,
    /// struct kinst_clause
    pub clauses: Table,
    /// struct kinst_probe
    pub probes: Table,
    /// struct kinst_ecb; EPID = index + 1
    pub ecbs: Table,
    /// bytes of one CPU's ring; rounded up to a power of two
    pub bufsize: u64,
    /// bytes of one CPU's aggregations
    pub aggsize: u64,
    /// bytes of all thread-local variables and associative arrays
    pub dynvarsize: u64,
    /// bytes of one speculation on one CPU
    pub specsize: u64,
    /// speculations at a time
    pub nspec: u32,
    /// 8 .. 64 KiB
    pub strsize: u32,
    /// pid of $target, or 0
    pub target: u32,
    /// between two cleanings of variables and speculations; 0: 10 ms
    pub clean_us: u32,
    /// trace only this CPU; KINST_NONE: all
    pub cpu: u32,
    /// Zero.
    pub reserved: u32,
}

impl Plain for Image {
    const SIZE: usize = 144;

    fn read(bytes: &[u8]) -> Option<Self> {
        Some(Image {
            magic: Plain::read(bytes.get(0..)?)?,
            version: Plain::read(bytes.get(4..)?)?,
            hdr_len: Plain::read(bytes.get(6..)?)?,
            len: Plain::read(bytes.get(8..)?)?,
            flags: Plain::read(bytes.get(12..)?)?,
            strtab: Plain::read(bytes.get(16..)?)?,
            insns: Plain::read(bytes.get(24..)?)?,
            ints: Plain::read(bytes.get(32..)?)?,
            vars: Plain::read(bytes.get(40..)?)?,
            difos: Plain::read(bytes.get(48..)?)?,
            actions: Plain::read(bytes.get(56..)?)?,
            clauses: Plain::read(bytes.get(64..)?)?,
            probes: Plain::read(bytes.get(72..)?)?,
            ecbs: Plain::read(bytes.get(80..)?)?,
            bufsize: Plain::read(bytes.get(88..)?)?,
            aggsize: Plain::read(bytes.get(96..)?)?,
            dynvarsize: Plain::read(bytes.get(104..)?)?,
            specsize: Plain::read(bytes.get(112..)?)?,
            nspec: Plain::read(bytes.get(120..)?)?,
            strsize: Plain::read(bytes.get(124..)?)?,
            target: Plain::read(bytes.get(128..)?)?,
            clean_us: Plain::read(bytes.get(132..)?)?,
            cpu: Plain::read(bytes.get(136..)?)?,
            reserved: Plain::read(bytes.get(140..)?)?,
        })
    }

    fn write(&self, out: &mut Vec<u8>) {
        self.magic.write(out);
        self.version.write(out);
        self.hdr_len.write(out);
        self.len.write(out);
        self.flags.write(out);
        self.strtab.write(out);
        self.insns.write(out);
        self.ints.write(out);
        self.vars.write(out);
        self.difos.write(out);
        self.actions.write(out);
        self.clauses.write(out);
        self.probes.write(out);
        self.ecbs.write(out);
        self.bufsize.write(out);
        self.aggsize.write(out);
        self.dynvarsize.write(out);
        self.specsize.write(out);
        self.nspec.write(out);
        self.strsize.write(out);
        self.target.write(out);
        self.clean_us.write(out);
        self.cpu.write(out);
        self.reserved.write(out);
    }
}

const _: () = {
    assert!(size_of::<Image>() == 144);
    assert!(offset_of!(Image, magic) == 0);
    assert!(offset_of!(Image, version) == 4);
    assert!(offset_of!(Image, hdr_len) == 6);
    assert!(offset_of!(Image, len) == 8);
    assert!(offset_of!(Image, flags) == 12);
    assert!(offset_of!(Image, strtab) == 16);
    assert!(offset_of!(Image, insns) == 24);
    assert!(offset_of!(Image, ints) == 32);
    assert!(offset_of!(Image, vars) == 40);
    assert!(offset_of!(Image, difos) == 48);
    assert!(offset_of!(Image, actions) == 56);
    assert!(offset_of!(Image, clauses) == 64);
    assert!(offset_of!(Image, probes) == 72);
    assert!(offset_of!(Image, ecbs) == 80);
    assert!(offset_of!(Image, bufsize) == 88);
    assert!(offset_of!(Image, aggsize) == 96);
    assert!(offset_of!(Image, dynvarsize) == 104);
    assert!(offset_of!(Image, specsize) == 112);
    assert!(offset_of!(Image, nspec) == 120);
    assert!(offset_of!(Image, strsize) == 124);
    assert!(offset_of!(Image, target) == 128);
    assert!(offset_of!(Image, clean_us) == 132);
    assert!(offset_of!(Image, cpu) == 136);
    assert!(offset_of!(Image, reserved) == 140);
};

/// A D type in DIF: a return type or a variable's type.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct Dtype {
    /// 0 D type (by value unless BYREF), 1 string
    pub kind: u8,
    /// 1 integer 2 float 3 pointer 4 array 5 function 6 struct 7 union 8 enum
    pub ckind: u8,
    /// KINST_T_*
    pub flags: u8,
    /// Zero.
    pub reserved: u8,
    /// bytes; by value: 0 1 2 4 8; string: 0 means strsize
    pub size: u32,
}

impl Plain for Dtype {
    const SIZE: usize = 8;

    fn read(bytes: &[u8]) -> Option<Self> {
        Some(Dtype {
            kind: Plain::read(bytes.get(0..)?)?,
            ckind: Plain::read(bytes.get(1..)?)?,
            flags: Plain::read(bytes.get(2..)?)?,
            reserved: Plain::read(bytes.get(3..)?)?,
            size: Plain::read(bytes.get(4..)?)?,
        })
    }

    fn write(&self, out: &mut Vec<u8>) {
        self.kind.write(out);
        self.ckind.write(out);
        self.flags.write(out);
        self.reserved.write(out);
        self.size.write(out);
    }
}

const _: () = {
    assert!(size_of::<Dtype>() == 8);
    assert!(offset_of!(Dtype, kind) == 0);
    assert!(offset_of!(Dtype, ckind) == 1);
    assert!(offset_of!(Dtype, flags) == 2);
    assert!(offset_of!(Dtype, reserved) == 3);
    assert!(offset_of!(Dtype, size) == 4);
};

/// A user variable. Ids from 0x500, numbered separately for each scope.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct Var {
    /// strtab
    pub name: u32,
    /// from 0x500
    pub id: u32,
    /// 0 associative array, 1 scalar
    pub kind: u8,
    /// 0 global, 1 thread, 2 clause-local
    pub scope: u8,
    /// 1 read, 2 written
    pub flags: u16,
    /// of the value (of one element for an array)
    pub ty: Dtype,
}

impl Plain for Var {
    const SIZE: usize = 20;

    fn read(bytes: &[u8]) -> Option<Self> {
        Some(Var {
            name: Plain::read(bytes.get(0..)?)?,
            id: Plain::read(bytes.get(4..)?)?,
            kind: Plain::read(bytes.get(8..)?)?,
            scope: Plain::read(bytes.get(9..)?)?,
            flags: Plain::read(bytes.get(10..)?)?,
            ty: Plain::read(bytes.get(12..)?)?,
        })
    }

    fn write(&self, out: &mut Vec<u8>) {
        self.name.write(out);
        self.id.write(out);
        self.kind.write(out);
        self.scope.write(out);
        self.flags.write(out);
        self.ty.write(out);
    }
}

const _: () = {
    assert!(size_of::<Var>() == 20);
    assert!(offset_of!(Var, name) == 0);
    assert!(offset_of!(Var, id) == 4);
    assert!(offset_of!(Var, kind) == 8);
    assert!(offset_of!(Var, scope) == 9);
    assert!(offset_of!(Var, flags) == 10);
    assert!(offset_of!(Var, ty) == 12);
};

/// A DIF object: one expression of D as code, with its constants.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct Difo {
    /// first entry in insns
    pub insn: u32,
    /// instructions
    pub ninsns: u32,
    /// setx 0 is ints\[int0\]
    pub int0: u32,
    /// constants
    pub nints: u32,
    /// sets 0 is strtab + str0
    pub str0: u32,
    /// bytes, the last one NUL; 0: no strings
    pub strlen: u32,
    /// type of the value that ret returns
    pub rtype: Dtype,
}

impl Plain for Difo {
    const SIZE: usize = 32;

    fn read(bytes: &[u8]) -> Option<Self> {
        Some(Difo {
            insn: Plain::read(bytes.get(0..)?)?,
            ninsns: Plain::read(bytes.get(4..)?)?,
            int0: Plain::read(bytes.get(8..)?)?,
            nints: Plain::read(bytes.get(12..)?)?,
            str0: Plain::read(bytes.get(16..)?)?,
            strlen: Plain::read(bytes.get(20..)?)?,
            rtype: Plain::read(bytes.get(24..)?)?,
        })
    }

    fn write(&self, out: &mut Vec<u8>) {
        self.insn.write(out);
        self.ninsns.write(out);
        self.int0.write(out);
        self.nints.write(out);
        self.str0.write(out);
        self.strlen.write(out);
        self.rtype.write(out);
    }
}

const _: () = {
    assert!(size_of::<Difo>() == 32);
    assert!(offset_of!(Difo, insn) == 0);
    assert!(offset_of!(Difo, ninsns) == 4);
    assert!(offset_of!(Difo, int0) == 8);
    assert!(offset_of!(Difo, nints) == 12);
    assert!(offset_of!(Difo, str0) == 16);
    assert!(offset_of!(Difo, strlen) == 20);
    assert!(offset_of!(Difo, rtype) == 24);
};

/// Actions of one clause run in order. A recording action has one record in the
/// clause's payload; records are laid out in order, each aligned to the largest
/// power of two \<= 8 that divides its size; the payload is rounded up to 8.
///
/// An aggregating action (class 0x0700) takes the ntuple preceding actions
/// as its key (DIFEXPR, STACK, USTACK, SYM, MOD, UADDR ...): these have no record in
/// the payload, but are laid out by the same rule in the aggregation's entry.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct Action {
    /// KINST_ACT_*
    pub kind: u16,
    /// aggregating: the actions before it that are its key
    pub ntuple: u16,
    /// index, or KINST_NONE
    pub difo: u32,
    /// quantize family: DIFO of the increment, or KINST_NONE (1)
    pub incr: u32,
    /// aggregating: id of the aggregation variable, from 1
    pub agg: u32,
    /// by kind, see below
    pub arg: u64,
}

impl Plain for Action {
    const SIZE: usize = 24;

    fn read(bytes: &[u8]) -> Option<Self> {
        Some(Action {
            kind: Plain::read(bytes.get(0..)?)?,
            ntuple: Plain::read(bytes.get(2..)?)?,
            difo: Plain::read(bytes.get(4..)?)?,
            incr: Plain::read(bytes.get(8..)?)?,
            agg: Plain::read(bytes.get(12..)?)?,
            arg: Plain::read(bytes.get(16..)?)?,
        })
    }

    fn write(&self, out: &mut Vec<u8>) {
        self.kind.write(out);
        self.ntuple.write(out);
        self.difo.write(out);
        self.incr.write(out);
        self.agg.write(out);
        self.arg.write(out);
    }
}

const _: () = {
    assert!(size_of::<Action>() == 24);
    assert!(offset_of!(Action, kind) == 0);
    assert!(offset_of!(Action, ntuple) == 2);
    assert!(offset_of!(Action, difo) == 4);
    assert!(offset_of!(Action, incr) == 8);
    assert!(offset_of!(Action, agg) == 12);
    assert!(offset_of!(Action, arg) == 16);
};

/// The state from which a program without frame pointers can be unwound; the copy of its stack follows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct Ustack {
    /// of the stack, from the stack pointer upwards, that could be read; the rest of the copy is 0
    pub bytes: u64,
    /// 16 on x86-64, 32 on arm64; 0 if not a 64-bit program
    pub nregs: u64,
    /// rip, pc
    pub ip: u64,
    /// by DWARF number, up to nregs
    pub regs: [u64; 32],
}

impl Plain for Ustack {
    const SIZE: usize = 280;

    fn read(bytes: &[u8]) -> Option<Self> {
        Some(Ustack {
            bytes: Plain::read(bytes.get(0..)?)?,
            nregs: Plain::read(bytes.get(8..)?)?,
            ip: Plain::read(bytes.get(16..)?)?,
            regs: Plain::read(bytes.get(24..)?)?,
        })
    }

    fn write(&self, out: &mut Vec<u8>) {
        self.bytes.write(out);
        self.nregs.write(out);
        self.ip.write(out);
        self.regs.write(out);
    }
}

const _: () = {
    assert!(size_of::<Ustack>() == 280);
    assert!(offset_of!(Ustack, bytes) == 0);
    assert!(offset_of!(Ustack, nregs) == 8);
    assert!(offset_of!(Ustack, ip) == 16);
    assert!(offset_of!(Ustack, regs) == 24);
};

/// A clause: its predicate and actions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct Clause {
    /// DIFO, or KINST_NONE
    pub predicate: u32,
    /// first entry in actions
    pub action: u32,
    /// at most KINST_MAX_ACTIONS
    pub nactions: u32,
    /// KINST_CLAUSE_*
    pub flags: u32,
}

impl Plain for Clause {
    const SIZE: usize = 16;

    fn read(bytes: &[u8]) -> Option<Self> {
        Some(Clause {
            predicate: Plain::read(bytes.get(0..)?)?,
            action: Plain::read(bytes.get(4..)?)?,
            nactions: Plain::read(bytes.get(8..)?)?,
            flags: Plain::read(bytes.get(12..)?)?,
        })
    }

    fn write(&self, out: &mut Vec<u8>) {
        self.predicate.write(out);
        self.action.write(out);
        self.nactions.write(out);
        self.flags.write(out);
    }
}

const _: () = {
    assert!(size_of::<Clause>() == 16);
    assert!(offset_of!(Clause, predicate) == 0);
    assert!(offset_of!(Clause, action) == 4);
    assert!(offset_of!(Clause, nactions) == 8);
    assert!(offset_of!(Clause, flags) == 12);
};

/// A probe that the session arms.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct Probe {
    /// the D variable id; numbered by the session
    pub id: u32,
    /// KINST_P_*
    pub kind: u32,
    /// run-time address of the function's symbol; or interval; or number of the system call or event
    pub func: u64,
    /// of an instruction or a branch, from func, in bytes
    pub offset: u32,
    /// of an edge: a signed distance from func, since f.cold or another function may precede f
    pub to: u32,
    /// For an edge: offsets of jump labels between the instruction and to, in the order of execution; 0: none.
    pub over: [u32; 2],
    /// probeprov: a name in strtab, like the next three
    pub prov: u32,
    /// probemod
    pub module: u32,
    /// probefunc
    pub name_func: u32,
    /// probename
    pub name: u32,
    /// of bytes to compare with the instruction; 0: do not compare
    pub nbytes: u8,
    /// Zero.
    pub reserved: [u8; 7],
    /// the instruction that the consumer saw there
    pub bytes: [u8; 16],
}

impl Plain for Probe {
    const SIZE: usize = 72;

    fn read(bytes: &[u8]) -> Option<Self> {
        Some(Probe {
            id: Plain::read(bytes.get(0..)?)?,
            kind: Plain::read(bytes.get(4..)?)?,
            func: Plain::read(bytes.get(8..)?)?,
            offset: Plain::read(bytes.get(16..)?)?,
            to: Plain::read(bytes.get(20..)?)?,
            over: Plain::read(bytes.get(24..)?)?,
            prov: Plain::read(bytes.get(32..)?)?,
            module: Plain::read(bytes.get(36..)?)?,
            name_func: Plain::read(bytes.get(40..)?)?,
            name: Plain::read(bytes.get(44..)?)?,
            nbytes: Plain::read(bytes.get(48..)?)?,
            reserved: Plain::read(bytes.get(49..)?)?,
            bytes: Plain::read(bytes.get(56..)?)?,
        })
    }

    fn write(&self, out: &mut Vec<u8>) {
        self.id.write(out);
        self.kind.write(out);
        self.func.write(out);
        self.offset.write(out);
        self.to.write(out);
        self.over.write(out);
        self.prov.write(out);
        self.module.write(out);
        self.name_func.write(out);
        self.name.write(out);
        self.nbytes.write(out);
        self.reserved.write(out);
        self.bytes.write(out);
    }
}

const _: () = {
    assert!(size_of::<Probe>() == 72);
    assert!(offset_of!(Probe, id) == 0);
    assert!(offset_of!(Probe, kind) == 4);
    assert!(offset_of!(Probe, func) == 8);
    assert!(offset_of!(Probe, offset) == 16);
    assert!(offset_of!(Probe, to) == 20);
    assert!(offset_of!(Probe, over) == 24);
    assert!(offset_of!(Probe, prov) == 32);
    assert!(offset_of!(Probe, module) == 36);
    assert!(offset_of!(Probe, name_func) == 40);
    assert!(offset_of!(Probe, name) == 44);
    assert!(offset_of!(Probe, nbytes) == 48);
    assert!(offset_of!(Probe, reserved) == 49);
    assert!(offset_of!(Probe, bytes) == 56);
};

/// An enabling control block: a clause that runs when a probe fires. A probe runs its ECBs in table order.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct Ecb {
    /// index in probes
    pub probe: u32,
    /// index in clauses
    pub clause: u32,
    /// strtab: the inlined function whose copy the probe is at (inlinefunc); stacks then begin with the place. 0: no
    /// copy. Not part of the probe, since copies of several functions can begin at one instruction.
    pub inlined: u32,
}

impl Plain for Ecb {
    const SIZE: usize = 12;

    fn read(bytes: &[u8]) -> Option<Self> {
        Some(Ecb {
            probe: Plain::read(bytes.get(0..)?)?,
            clause: Plain::read(bytes.get(4..)?)?,
            inlined: Plain::read(bytes.get(8..)?)?,
        })
    }

    fn write(&self, out: &mut Vec<u8>) {
        self.probe.write(out);
        self.clause.write(out);
        self.inlined.write(out);
    }
}

const _: () = {
    assert!(size_of::<Ecb>() == 12);
    assert!(offset_of!(Ecb, probe) == 0);
    assert!(offset_of!(Ecb, clause) == 4);
    assert!(offset_of!(Ecb, inlined) == 8);
};

/// The consumer's page of a ring.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct RingConsumer {
    /// everything before it is consumed
    pub pos: u64,
}

impl Plain for RingConsumer {
    const SIZE: usize = 8;

    fn read(bytes: &[u8]) -> Option<Self> {
        Some(RingConsumer { pos: Plain::read(bytes.get(0..)?)? })
    }

    fn write(&self, out: &mut Vec<u8>) {
        self.pos.write(out);
    }
}

const _: () = {
    assert!(size_of::<RingConsumer>() == 8);
    assert!(offset_of!(RingConsumer, pos) == 0);
};

/// The kernel's page of a ring.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct RingProducer {
    /// everything before it is reserved; stop at the first record that is BUSY
    pub pos: u64,
    /// of the data, a power of two
    pub size: u64,
    /// records that did not fit
    pub drops: u64,
    /// faults
    pub errors: u64,
    /// KINST_IMAGE_RING: everything before it was overwritten; read it after the session has STOPPED
    pub tail: u64,
}

impl Plain for RingProducer {
    const SIZE: usize = 40;

    fn read(bytes: &[u8]) -> Option<Self> {
        Some(RingProducer {
            pos: Plain::read(bytes.get(0..)?)?,
            size: Plain::read(bytes.get(8..)?)?,
            drops: Plain::read(bytes.get(16..)?)?,
            errors: Plain::read(bytes.get(24..)?)?,
            tail: Plain::read(bytes.get(32..)?)?,
        })
    }

    fn write(&self, out: &mut Vec<u8>) {
        self.pos.write(out);
        self.size.write(out);
        self.drops.write(out);
        self.errors.write(out);
        self.tail.write(out);
    }
}

const _: () = {
    assert!(size_of::<RingProducer>() == 40);
    assert!(offset_of!(RingProducer, pos) == 0);
    assert!(offset_of!(RingProducer, size) == 8);
    assert!(offset_of!(RingProducer, drops) == 16);
    assert!(offset_of!(RingProducer, errors) == 24);
    assert!(offset_of!(RingProducer, tail) == 32);
};

/// The header of a record; the payload follows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct Rec {
    /// including this header, a multiple of 8, and KINST_REC_*
    pub len: u32,
    /// enabled probe id, or KINST_EPID_FAULT
    pub epid: u32,
    /// ns, as the D variable
    pub timestamp: u64,
}

impl Plain for Rec {
    const SIZE: usize = 16;

    fn read(bytes: &[u8]) -> Option<Self> {
        Some(Rec {
            len: Plain::read(bytes.get(0..)?)?,
            epid: Plain::read(bytes.get(4..)?)?,
            timestamp: Plain::read(bytes.get(8..)?)?,
        })
    }

    fn write(&self, out: &mut Vec<u8>) {
        self.len.write(out);
        self.epid.write(out);
        self.timestamp.write(out);
    }
}

const _: () = {
    assert!(size_of::<Rec>() == 16);
    assert!(offset_of!(Rec, len) == 0);
    assert!(offset_of!(Rec, epid) == 4);
    assert!(offset_of!(Rec, timestamp) == 8);
};

/// The payload of a record whose EPID is KINST_EPID_FAULT; ERROR has the same as its arguments.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct Fault {
    /// of the ECB that faulted
    pub epid: u32,
    /// 0 the predicate, n the nth action
    pub action: u32,
    /// of the DIF instruction in bytes, or -1
    pub offset: i32,
    /// enum kinst_flt
    pub fault: u32,
    /// address for BADADDR and BADALIGN
    pub value: u64,
}

impl Plain for Fault {
    const SIZE: usize = 24;

    fn read(bytes: &[u8]) -> Option<Self> {
        Some(Fault {
            epid: Plain::read(bytes.get(0..)?)?,
            action: Plain::read(bytes.get(4..)?)?,
            offset: Plain::read(bytes.get(8..)?)?,
            fault: Plain::read(bytes.get(12..)?)?,
            value: Plain::read(bytes.get(16..)?)?,
        })
    }

    fn write(&self, out: &mut Vec<u8>) {
        self.epid.write(out);
        self.action.write(out);
        self.offset.write(out);
        self.fault.write(out);
        self.value.write(out);
    }
}

const _: () = {
    assert!(size_of::<Fault>() == 24);
    assert!(offset_of!(Fault, epid) == 0);
    assert!(offset_of!(Fault, action) == 4);
    assert!(offset_of!(Fault, offset) == 8);
    assert!(offset_of!(Fault, fault) == 12);
    assert!(offset_of!(Fault, value) == 16);
};

/// An entry of an aggregation snapshot; the key and then the value follow, laid out by the rule of the actions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct AggEntry {
    /// with this header, a multiple of 8
    pub len: u32,
    /// index in actions of the first aggregating action that made it
    pub action: u32,
}

impl Plain for AggEntry {
    const SIZE: usize = 8;

    fn read(bytes: &[u8]) -> Option<Self> {
        Some(AggEntry { len: Plain::read(bytes.get(0..)?)?, action: Plain::read(bytes.get(4..)?)? })
    }

    fn write(&self, out: &mut Vec<u8>) {
        self.len.write(out);
        self.action.write(out);
    }
}

const _: () = {
    assert!(size_of::<AggEntry>() == 8);
    assert!(offset_of!(AggEntry, len) == 0);
    assert!(offset_of!(AggEntry, action) == 4);
};
