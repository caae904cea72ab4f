//! bpf/library/processes.rs: facts about processes: parent, ancestors, arguments.
//!
//! A released task may have dangling pointers, so it is treated as having no parent.

use super::function::{COPY, Lib, argument};
use crate::insn::Reg::{self, Frame, R0, R1, R2, R3, R6, R8, R9};
use crate::insn::{Alu, Cond, Helper, Width};
use kinst_base::uapi::Flt;

/// The maximum number of ancestors that progenyof() examines.
const GENERATIONS: u32 = 512;
/// Words: the start and end of a process's arguments, and their length without trailing NULs.
const START: i16 = 0;
const END: i16 = 1;
const LENGTH: i16 = 0;

impl Lib<'_> {
    /// Loads a member of the structure at the address in a register.
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

    /// Loads the leader and the parent of the task in R6 into R6 and R9; the function returns no value if it
    /// has none.
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

    /// Returns the arguments as they are in the process's memory now, separated by blanks.
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
        // The source of the copy.
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

    /// Replaces NULs with blanks in the R6 bytes at offset R9 of the scratch memory, except those at the end.
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
