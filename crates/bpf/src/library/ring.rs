//! bpf/library/ring.rs: retries for records that the ring did not take at once.

use super::function::{Function, KEY, Lib};
use crate::asm::Label;
use crate::insn::Reg::{Frame, R0, R1, R2, R3, R4, R6, R9};
use crate::insn::{Cond, Helper, Width};
use crate::memory::{Map, wrapper};

/// Queries on a ring: BPF_RB_AVAIL_DATA, BPF_RB_RING_SIZE.
const UNREAD: i32 = 0;
const SIZE: i32 = 1;
/// Size of the header that the kernel puts before each record.
const HEADER: i32 = 8;
/// Repetitions in each function: of the call to the next function, and in the last one of the attempt to send.
const ROUNDS: u32 = 27;

impl Lib<'_> {
    /// At breakpoints the kernel does not wait for the ring's lock. Another CPU holds it for a moment, or, on
    /// a virtual machine, for as long as that CPU is descheduled.
    pub(super) fn insist(&mut self) {
        self.argument(R6, 0);
        self.argument(R9, 1);
        self.repeat(ROUNDS, |lib, next, end| {
            lib.ring(SIZE);
            lib.asm.store(Width::Double, Frame, KEY, R0);
            lib.ring(UNREAD);
            lib.asm.add(R0, R9);
            lib.asm.add(R0, HEADER);
            lib.asm.load(Width::Double, R1, Frame, KEY);
            lib.branch(Cond::Ge, R0, R1, end);
            lib.again(Function::Persist, next);
        });
    }

    pub(super) fn persist(&mut self, in_turn: Function) {
        self.argument(R6, 0);
        self.argument(R9, 1);
        self.repeat(ROUNDS, |lib, next, _| lib.again(in_turn, next));
    }

    /// Calls a function with the arguments in R6 and R9; returns if the record was sent.
    fn again(&mut self, function: Function, next: Label) {
        self.asm.mov(R1, R6);
        self.asm.mov(R2, R9);
        self.call_unchecked(function);
        self.branch(Cond::Eq, R0, 0, next);
        self.asm.exit();
    }

    /// Queries the ring's size or the amount of unread data.
    fn ring(&mut self, what: i32) {
        self.asm.map(R1, Map::Records as u32);
        self.asm.mov(R2, what);
        self.asm.call(Helper::RingbufQuery);
    }

    pub(super) fn resend(&mut self) {
        let plain = self.asm.label();
        self.argument(R6, 1);
        self.branch(Cond::Gt, R6, (self.memory.size - self.memory.record) as i32, self.none);
        self.asm.point(R9, self.memory.record);
        self.argument(R1, 0);
        self.branch(Cond::Eq, R1, 0, plain);
        self.asm.add(R9, -(wrapper::SIZE as i32));
        self.asm.bind(plain);
        self.repeat(ROUNDS, |lib, next, _| {
            lib.asm.map(R1, Map::Records as u32);
            lib.asm.mov(R2, R9);
            lib.asm.mov(R3, R6);
            lib.asm.mov(R4, 0);
            lib.asm.call(Helper::RingbufOutput);
            lib.branch(Cond::Ne, R0, 0, next);
            lib.asm.mov(R0, 1);
            lib.asm.exit();
        });
    }
}
