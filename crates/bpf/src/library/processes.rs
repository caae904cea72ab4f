//! bpf/library/processes.rs: what the kernel's structures say of a process: its parent, its ancestors, its arguments.
//!
//! A task that has been released has pointers to what may be long gone: it has no parent any more.

use super::function::{COPY, Lib, argument};
use crate::insn::Reg::{self, Frame, R0, R1, R2, R3, R6, R8, R9};
use crate::insn::{Alu, Cond, Helper, Width};
use kinst_base::uapi::Flt;

/// The most ancestors that progenyof() looks at.
const GENERATIONS: u32 = 512;
/// The words: the address and the end of a process's arguments, and the length without what is empty at the end.
const START: i16 = 0;
const END: i16 = 1;
const LENGTH: i16 = 0;

impl Lib<'_> {
    /// Loads what is at an offset of the structure that a register has the address of.
    pub(super) fn load_member(&mut self, into: Reg, base: Reg, offset: u16, width: Width) {
        let bad = self.fault(Flt::BADADDR);
        let good = self.asm.label();
        self.asm.mov(R1, Frame);
        self.asm.add(R1, i32::from(COPY));
        self.asm.mov(R2, width.bytes() as i32);
        self.asm.mov(R3, base);
        self.asm.add(R3, i32::from(offset));
        self.asm.call(Helper::ProbeReadKernel);
        self.asm.branch(Cond::Eq, R0, 0, good);
        self.asm.mov(R1, base);
        self.asm.add(R1, i32::from(offset));
        self.asm.jump(bad);
        self.asm.bind(good);
        self.asm.load(width, into, Frame, COPY);
    }

    /// Loads the leader and the parent of the task in R6 to R6 and R9; the function has no value if there are none.
    fn parent(&mut self) {
        let kernel = self.memory.kernel;
        self.load_member(R9, R6, kernel.thread_pid, Width::Double);
        self.asm.branch(Cond::Eq, R9, 0, self.none);
        self.load_member(R6, R6, kernel.leader, Width::Double);
        self.load_member(R9, R6, kernel.real_parent, Width::Double);
        self.asm.branch(Cond::Eq, R9, 0, self.none);
    }

    pub(super) fn ppid(&mut self) {
        self.asm.call(Helper::GetCurrentTask);
        self.asm.mov(R6, R0);
        self.parent();
        self.load_member(R0, R9, self.memory.kernel.tgid, Width::Word);
        self.asm.exit();
    }

    pub(super) fn progenyof(&mut self) {
        self.asm.call(Helper::GetCurrentTask);
        self.asm.mov(R6, R0);
        let found = self.asm.label();
        self.repeat(GENERATIONS, |lib, _, end| {
            lib.load_member(R9, R6, lib.memory.kernel.tgid, Width::Word);
            lib.asm.load(Width::Word, R1, Frame, argument(0));
            lib.branch(Cond::Eq, R9, R1, found);
            lib.parent();
            lib.branch(Cond::Eq, R9, R6, end);
            lib.asm.mov(R6, R9);
        });
        self.asm.jump(self.none);
        self.asm.bind(found);
        self.asm.mov(R0, 1);
        self.asm.exit();
    }

    /// The arguments of the process as they are in its memory now, separated by blanks.
    pub(super) fn execargs(&mut self) {
        let (empty, known, limited) = (self.asm.label(), self.asm.label(), self.asm.label());
        let (kernel, strsize) = (self.memory.kernel, self.memory.strsize);
        self.asm.call(Helper::GetCurrentTask);
        self.asm.mov(R6, R0);
        self.asm.mov(R9, 0);
        self.set_word(START, 0);
        self.set_word(END, 0);
        self.load_member(R6, R6, kernel.mm, Width::Double);
        self.asm.branch(Cond::Eq, R6, 0, empty);
        self.load_member(R9, R6, kernel.arg_start, Width::Double);
        self.set_word(START, R9);
        self.load_member(R9, R6, kernel.arg_end, Width::Double);
        self.set_word(END, R9);
        self.asm.bind(empty);
        self.word(R1, START);
        self.word(R6, END);
        // Where the copy comes from.
        self.asm.store(Width::Double, Frame, argument(0), R1);
        self.asm.alu(Alu::Sub, R6, R1);
        self.asm.branch(Cond::SignedGt, R6, 0, known);
        self.asm.mov(R6, 0);
        self.asm.bind(known);
        self.asm.branch(Cond::Le, R6, strsize as i32, limited);
        self.asm.mov(R6, strsize as i32);
        self.asm.bind(limited);
        self.text_room();
        let copied = self.asm.label();
        self.asm.branch(Cond::Eq, R6, 0, copied);
        self.fill(Helper::ProbeReadUser, 0);
        self.asm.bind(copied);
        self.separate();
        self.give_scratch();
    }

    /// Makes blanks of the NULs in the R6 bytes of scratch memory at R9, but of those at the end.
    fn separate(&mut self) {
        let strsize = self.memory.strsize;
        self.set_word(LENGTH, 0);
        self.each_byte(strsize, |lib, next| {
            lib.branch(Cond::Eq, R2, 0, next);
            lib.asm.mov(R2, R8);
            lib.asm.add(R2, 1);
            lib.set_word(LENGTH, R2);
        });
        let short = self.asm.label();
        self.word(R6, LENGTH);
        self.asm.branch(Cond::Lt, R6, strsize as i32, short);
        self.asm.mov(R6, strsize as i32 - 1);
        self.asm.bind(short);
        self.each_byte(strsize, |lib, next| {
            lib.branch(Cond::Ne, R2, 0, next);
            lib.asm.store(Width::Byte, R1, 0, i32::from(b' '));
        });
        self.end_text();
    }
}
