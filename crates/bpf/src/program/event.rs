//! bpf/program/event.rs: events of processes, threads and disks, made from tracepoints.

use crate::asm::{Assembler, Label};
use crate::insn::Reg::{Frame, R0, R1, R2, R3, R6, R8};
use crate::insn::{Alu, Cond, Width};
use crate::kernel::Layout;
use crate::memory::Map;
use kinst_base::uapi::Event;

/// Frame slots for the event's arguments, and one for reads.
pub const ARGUMENTS: [i16; 3] = [-16, -24, -32];
const SLOT: i16 = -40;
const SIGNAL: i16 = -48;

/// Reasons for a process's end, from `<asm-generic/siginfo.h>`.
const EXITED: i32 = 1;
const KILLED: i32 = 2;
const DUMPED: i32 = 3;
/// SIGNAL_GROUP_EXIT, TASK_DEAD.
const GROUP_EXIT: i32 = 4;
const DEAD: i32 = 0x80;
/// Results of a signal: TRACE_SIGNAL_DELIVERED, TRACE_SIGNAL_IGNORED.
const DELIVERED: i32 = 0;
const IGNORED: i32 = 1;

/// Number of processes to remember whose end was reported, as a power of two.
const ENDED_BITS: u32 = 8;
/// Size in bytes of the table of these processes.
pub const ENDED: u32 = 8 << ENDED_BITS;
/// The kernel's multiplier for 64-bit hashes.
const GOLDEN: u64 = 0x61c8_8646_80b5_83eb;

/// Returns the tracepoint on which an event is based.
pub fn tracepoint(number: u64) -> Option<&'static str> {
    Some(match Event(u32::try_from(number).ok()?) {
        Event::PROC_CREATE | Event::PROC_LWP_CREATE => "sched_process_fork",
        Event::PROC_EXEC_SUCCESS => "sched_process_exec",
        Event::PROC_EXIT | Event::PROC_LWP_EXIT => "sched_process_exit",
        Event::PROC_SIGNAL_SEND | Event::PROC_SIGNAL_DISCARD => "signal_generate",
        Event::PROC_SIGNAL_HANDLE => "signal_deliver",
        Event::SCHED_OFF_CPU | Event::SCHED_PREEMPT | Event::SCHED_SLEEP => "sched_switch",
        Event::SCHED_WAKEUP => "sched_waking",
        Event::IO_START => "block_bio_queue",
        _ => return None,
    })
}

/// Exits unless the tracepoint's arguments, at R6, match the event; writes the event's arguments.
pub fn write(asm: &mut Assembler, number: u64, kernel: &Layout, out: Label) {
    for slot in ARGUMENTS {
        asm.store(Width::Double, Frame, slot, 0);
    }
    let pass = |asm: &mut Assembler, raw: i16| {
        asm.load(Width::Double, R1, R6, 8 * raw);
        asm.store(Width::Double, Frame, ARGUMENTS[0], R1);
    };
    match Event(number as u32) {
        Event::PROC_CREATE => {
            pass(asm, 1);
            member(asm, ARGUMENTS[0], kernel.pid, 4, out);
            asm.load(Width::Double, R8, Frame, SLOT);
            member(asm, ARGUMENTS[0], kernel.tgid, 4, out);
            asm.load(Width::Double, R1, Frame, SLOT);
            asm.branch(Cond::Ne, R1, R8, out);
        }
        Event::PROC_LWP_CREATE => pass(asm, 1),
        Event::PROC_EXIT => exit(asm, kernel, out),
        Event::PROC_SIGNAL_SEND => generated(asm, DELIVERED, out),
        Event::PROC_SIGNAL_DISCARD => generated(asm, IGNORED, out),
        Event::PROC_SIGNAL_HANDLE => handled(asm, kernel, out),
        Event::SCHED_OFF_CPU => pass(asm, 2),
        Event::SCHED_PREEMPT => {
            preempted(asm);
            asm.branch(Cond::Eq, R1, 0, out);
        }
        Event::SCHED_SLEEP => {
            // The thread leaves the CPU to wait: it is neither runnable nor exiting.
            preempted(asm);
            asm.branch(Cond::Ne, R1, 0, out);
            asm.load(Width::Double, R1, R6, 24);
            half(asm);
            asm.branch(Cond::Eq, R1, 0, out);
            asm.alu(Alu::And, R1, DEAD);
            asm.branch(Cond::Ne, R1, 0, out);
        }
        Event::SCHED_WAKEUP | Event::IO_START => pass(asm, 0),
        _ => {}
    }
}

/// Reads a member of the structure whose address is in a slot.
fn member(asm: &mut Assembler, structure: i16, offset: u16, bytes: i32, out: Label) {
    asm.load(Width::Double, R3, Frame, structure);
    asm.add(R3, i32::from(offset));
    asm.read(SLOT, bytes, out);
}

/// Truncates R1 to its lower half.
fn half(asm: &mut Assembler) {
    asm.alu(Alu::Lsh, R1, 32);
    asm.alu(Alu::Rsh, R1, 32);
}

/// Loads into R1 whether a thread was preempted.
fn preempted(asm: &mut Assembler) {
    asm.load(Width::Double, R1, R6, 0);
    asm.alu(Alu::And, R1, 1);
}

/// A signal was sent: signal_generate(signal, info, task, to the group, result).
fn generated(asm: &mut Assembler, result: i32, out: Label) {
    asm.load(Width::Double, R1, R6, 32);
    half(asm);
    asm.branch(Cond::Ne, R1, result, out);
    asm.load(Width::Double, R1, R6, 16);
    asm.store(Width::Double, Frame, ARGUMENTS[0], R1);
    asm.store(Width::Double, Frame, ARGUMENTS[1], R1);
    asm.load(Width::Double, R1, R6, 0);
    half(asm);
    asm.store(Width::Double, Frame, ARGUMENTS[2], R1);
}

/// A signal's handler will run: signal_deliver(signal, info, action).
fn handled(asm: &mut Assembler, kernel: &Layout, out: Label) {
    asm.load(Width::Double, R3, R6, 16);
    asm.add(R3, i32::from(kernel.handler));
    asm.read(SLOT, 8, out);
    asm.load(Width::Double, R1, Frame, SLOT);
    // The default action, and "ignore".
    for other in [0, 1] {
        asm.branch(Cond::Eq, R1, other, out);
    }
    asm.store(Width::Double, Frame, ARGUMENTS[2], R1);
    asm.load(Width::Double, R1, R6, 0);
    half(asm);
    asm.store(Width::Double, Frame, ARGUMENTS[0], R1);
    asm.load(Width::Double, R1, R6, 8);
    asm.store(Width::Double, Frame, ARGUMENTS[1], R1);
}

/// The last thread of a process ends: sched_process_exit(task, …).
fn exit(asm: &mut Assembler, kernel: &Layout, out: Label) {
    asm.load(Width::Double, R8, R6, 0);
    asm.store(Width::Double, Frame, ARGUMENTS[1], R8);
    member(asm, ARGUMENTS[1], kernel.signal, 8, out);
    asm.load(Width::Double, R1, Frame, SLOT);
    asm.store(Width::Double, Frame, SIGNAL, R1);
    if kernel.tells_last {
        asm.load(Width::Double, R1, R6, 8);
        asm.alu(Alu::And, R1, 1);
        asm.branch(Cond::Eq, R1, 0, out);
    } else {
        member(asm, SIGNAL, kernel.live, 4, out);
        asm.load(Width::Double, R1, Frame, SLOT);
        asm.branch(Cond::Ne, R1, 0, out);
        was_told(asm, kernel, out);
    }
    // After a group exit, all threads report the same reason.
    let (of_thread, known) = (asm.label(), asm.label());
    member(asm, SIGNAL, kernel.flags, 4, out);
    asm.load(Width::Double, R1, Frame, SLOT);
    asm.alu(Alu::And, R1, GROUP_EXIT);
    asm.branch(Cond::Eq, R1, 0, of_thread);
    member(asm, SIGNAL, kernel.group_exit_code, 4, out);
    asm.jump(known);
    asm.bind(of_thread);
    member(asm, ARGUMENTS[1], kernel.exit_code, 4, out);
    asm.bind(known);
    asm.store(Width::Double, Frame, ARGUMENTS[1], 0);
    asm.load(Width::Double, R1, Frame, SLOT);
    let done = asm.label();
    for (bits, reason) in [(0x80, DUMPED), (0x7f, KILLED)] {
        asm.mov(R2, R1);
        asm.alu(Alu::And, R2, bits);
        asm.store(Width::Double, Frame, ARGUMENTS[0], reason);
        asm.branch(Cond::Ne, R2, 0, done);
    }
    asm.store(Width::Double, Frame, ARGUMENTS[0], EXITED);
    asm.bind(done);
}

/// Exits if the end of the process was reported before: of several threads that exit at once, each may look
/// like the last one.
fn was_told(asm: &mut Assembler, kernel: &Layout, out: Label) {
    member(asm, ARGUMENTS[1], kernel.leader, 8, out);
    asm.load(Width::Double, R1, Frame, SLOT);
    asm.store(Width::Double, Frame, ARGUMENTS[2], R1);
    member(asm, ARGUMENTS[2], kernel.start, 8, out);
    asm.store(Width::Double, Frame, ARGUMENTS[2], 0);
    asm.load(Width::Double, R8, Frame, SLOT);
    asm.load(Width::Double, R1, Frame, SIGNAL);
    asm.alu(Alu::Xor, R8, R1);
    asm.mov(R2, R8);
    asm.number(R1, GOLDEN);
    asm.alu(Alu::Mul, R2, R1);
    asm.alu(Alu::Rsh, R2, 64 - ENDED_BITS as i32);
    asm.alu(Alu::Lsh, R2, 3);
    asm.map_value(R0, Map::Ended as u32, 0);
    asm.add(R0, R2);
    asm.mov(R1, R8);
    asm.exchange(R0, 0, R1);
    asm.branch(Cond::Eq, R1, R8, out);
}
