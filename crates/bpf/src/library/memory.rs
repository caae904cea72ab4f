//! bpf/library/memory.rs: scratch memory, copies to it and to variables, and strings as they are fetched and made.

use super::function::{COPY, Lib};
use crate::asm::Label;
use crate::insn::Reg::{self, Frame, R0, R1, R2, R3, R4, R5, R6, R7, R8, R9};
use crate::insn::{Alu, Cond, Helper, Width};
use crate::memory::{Dynamic, Map, SCRATCH, cpu, globals};
use kinst_base::uapi::Flt;

/// The most bytes that memstr() makes a string from: as many as a string has at most.
const MEMSTR_MAX: u32 = 1024;

impl Lib<'_> {
    /// Fetches a string; its end is a NUL in the buffer.
    pub(super) fn text(&mut self, buffer: usize) {
        let bad = self.fault(Flt::BADADDR);
        let (limited, done) = (self.asm.label(), self.asm.label());
        self.argument(R6, 1);
        self.asm.mov(R9, 0);
        self.asm.branch(Cond::Eq, R6, 0, done);
        self.asm.branch(Cond::Le, R6, self.memory.strsize as i32, limited);
        self.asm.mov(R6, self.memory.strsize as i32);
        self.asm.bind(limited);
        self.asm.point(R1, self.memory.texts[buffer]);
        self.asm.mov(R2, R6);
        self.argument(R3, 0);
        self.asm.call(Helper::ProbeReadKernelStr);
        self.argument(R1, 0);
        self.asm.branch(Cond::SignedLe, R0, 0, bad);
        self.asm.mov(R9, R0);
        self.asm.add(R9, -1);
        self.asm.branch(Cond::Ne, R0, R6, done);
        // All of the limit was copied, but the last byte is a NUL now, whatever it was.
        self.asm.mov(R1, Frame);
        self.asm.add(R1, i32::from(COPY));
        self.asm.mov(R2, 1);
        self.argument(R3, 0);
        self.asm.add(R3, R9);
        self.asm.call(Helper::ProbeReadKernel);
        self.argument(R1, 0);
        self.asm.branch(Cond::Ne, R0, 0, bad);
        self.asm.load(Width::Byte, R2, Frame, COPY);
        self.asm.branch(Cond::Eq, R2, 0, done);
        self.point(R3, buffer, R9);
        self.asm.store(Width::Byte, R3, 0, R2);
        self.asm.add(R9, 1);
        self.asm.bind(done);
        self.point(R3, buffer, R9);
        self.asm.store(Width::Byte, R3, 0, 0);
        self.give(R9);
    }

    /// Takes the bytes in R6 of scratch memory; R9 is their place in it.
    pub(super) fn room(&mut self) {
        let full = self.fault(Flt::NOSCRATCH);
        self.asm.mov(R1, 0);
        self.asm.branch(Cond::Gt, R6, SCRATCH as i32, full);
        self.asm.load(Width::Double, R9, R7, cpu::USED);
        self.asm.branch(Cond::Gt, R9, SCRATCH as i32, full);
        self.asm.mov(R3, R6);
        self.asm.add(R3, 7);
        self.asm.alu(Alu::And, R3, -8);
        self.asm.add(R3, R9);
        self.asm.branch(Cond::Gt, R3, SCRATCH as i32, full);
        self.asm.store(Width::Double, R7, cpu::USED, R3);
    }

    /// Makes a register point at the scratch memory R9 bytes in.
    pub(super) fn scratch(&mut self, into: Reg) {
        self.asm.point(into, self.memory.scratch);
        self.asm.add(into, R9);
    }

    /// Ends the function with the address of the scratch memory R9 bytes in.
    pub(super) fn give_scratch(&mut self) {
        self.asm.load(Width::Double, R0, R7, cpu::SELF);
        self.asm.add(R0, self.memory.scratch as i32);
        self.asm.add(R0, R9);
        self.asm.exit();
    }

    /// Copies R6 bytes of an argument's address to the scratch memory R9 bytes in.
    pub(super) fn fill(&mut self, helper: Helper, number: u8) {
        let bad = self.fault(Flt::BADADDR);
        self.scratch(R1);
        self.asm.mov(R2, R6);
        self.argument(R3, number);
        self.asm.call(helper);
        self.argument(R1, number);
        self.asm.branch(Cond::Ne, R0, 0, bad);
    }

    /// Ends what is R6 bytes after the scratch memory R9 bytes in with a NUL.
    pub(super) fn end_text(&mut self) {
        self.scratch(R1);
        self.asm.add(R1, R6);
        self.asm.store(Width::Byte, R1, 0, 0);
    }

    /// Takes scratch memory for the bytes in R6 and a NUL; R9 is their place in it.
    pub(super) fn text_room(&mut self) {
        self.asm.add(R6, 1);
        self.room();
        self.asm.add(R6, -1);
    }

    /// Ends the function with a copy of the R6 bytes at the first argument's address, and a NUL.
    fn give_copy(&mut self, helper: Helper) {
        self.text_room();
        self.fill(helper, 0);
        self.end_text();
        self.give_scratch();
    }

    /// Repeats the body for the R6 bytes of scratch memory at R9, as many as the limit at most: R1 points at the byte, and
    /// R2 is it. The body gets the label of the next round.
    pub(super) fn each_byte(&mut self, limit: u32, body: impl FnOnce(&mut Self, Label)) {
        self.repeat(limit, |lib, next, end| {
            lib.branch(Cond::Ge, R8, R6, end);
            lib.scratch(R1);
            lib.asm.add(R1, R8);
            lib.asm.load(Width::Byte, R2, R1, 0);
            body(lib, next);
        });
    }

    pub(super) fn new_string(&mut self) {
        let short = self.asm.label();
        self.argument(R6, 1);
        self.asm.branch(Cond::Lt, R6, self.memory.strsize as i32, short);
        self.asm.mov(R6, self.memory.strsize as i32 - 1);
        self.asm.bind(short);
        self.give_copy(Helper::ProbeReadKernel);
    }

    /// Allocates, and fills with the zeros that the constants begin with.
    pub(super) fn allocate(&mut self) {
        self.argument(R6, 0);
        self.room();
        self.scratch(R1);
        self.asm.mov(R2, R6);
        self.asm.load(Width::Double, R3, R7, cpu::CONSTANTS);
        self.asm.call(Helper::ProbeReadKernel);
        self.give_scratch();
    }

    /// Finds out whose memory the address in the first argument is, of the bytes in R6 or a constant: R1 points at it.
    fn storable(&mut self, bytes: Option<u32>) {
        let (found, locals, others) = (self.asm.label(), self.asm.label(), self.asm.label());
        let bad = self.fault(Flt::BADADDR);
        // The end is inside of what is in use, and what is in use inside of the whole.
        self.argument(R1, 0);
        self.asm.mov(R3, R1);
        self.asm.load(Width::Double, R5, R7, cpu::SELF);
        self.asm.alu(Alu::Sub, R3, R5);
        self.asm.alu(Alu::Sub, R3, self.memory.scratch as i32);
        self.asm.branch(Cond::Ge, R3, SCRATCH as i32, locals);
        self.asm.load(Width::Double, R2, R7, cpu::USED);
        self.end(R3, bytes, SCRATCH, bad);
        self.asm.branch(Cond::Gt, R4, R2, bad);
        self.asm.point(R1, self.memory.scratch);
        self.asm.jump(found);
        self.asm.bind(locals);
        self.asm.mov(R3, R1);
        self.asm.alu(Alu::Sub, R3, R5);
        self.asm.alu(Alu::Sub, R3, self.memory.locals as i32);
        self.asm.branch(Cond::Ge, R3, self.memory.locals_size as i32, others);
        self.within(R3, bytes, self.memory.locals_size, bad);
        self.asm.point(R1, self.memory.locals);
        self.asm.jump(found);
        self.asm.bind(others);
        self.asm.mov(R3, R1);
        self.asm.load(Width::Double, R5, R7, cpu::GLOBALS);
        self.asm.alu(Alu::Sub, R3, R5);
        self.asm.alu(Alu::Sub, R3, globals::FIRST as i32);
        let size = self.memory.globals_size();
        let noted = self.asm.label();
        // Where there are none, the map ends before them.
        if size > 0 {
            self.asm.branch(Cond::Ge, R3, size as i32, noted);
            self.within(R3, bytes, size, bad);
            self.asm.map_value(R1, Map::Globals as u32, globals::FIRST);
            self.asm.jump(found);
        }
        self.asm.bind(noted);
        for dynamic in self.memory.dynamics() {
            self.noted(dynamic, bytes, bad, found);
        }
        self.argument(R1, 0);
        self.asm.jump(bad);
        self.asm.bind(found);
        self.asm.add(R1, R3);
    }

    /// R4 = the end of so many bytes at `start`, or of R6 bytes, which are `most` at most.
    fn end(&mut self, start: Reg, bytes: Option<u32>, most: u32, bad: Label) {
        self.asm.mov(R4, start);
        match bytes {
            Some(bytes) => self.asm.add(R4, bytes as i32),
            None => {
                self.branch(Cond::Gt, R6, most as i32, bad);
                self.asm.add(R4, R6);
            }
        }
    }

    /// Goes to `bad` unless so many bytes at `start` are inside of `size`. A sum with a constant is another name for its
    /// register to 6.12's verifier, which then loses a place that there is one of; so there is none.
    fn within(&mut self, start: Reg, bytes: Option<u32>, size: u32, bad: Label) {
        match bytes {
            // Each is too far, but the kernel wants what follows to be reached.
            Some(bytes) if bytes > size => self.branch(Cond::Ge, start, 0, bad),
            Some(bytes) => self.branch(Cond::Gt, start, (size - bytes) as i32, bad),
            None => {
                self.end(start, bytes, size, bad);
                self.branch(Cond::Gt, R4, size as i32, bad);
            }
        }
    }

    /// Goes on elsewhere if the address in the first argument is in a value of the variable that was noted: R1 points at the
    /// value, R3 is the place in it. One that has been freed meanwhile is not stored to, and nothing is said.
    fn noted(&mut self, dynamic: &Dynamic, bytes: Option<u32>, bad: Label, found: Label) {
        let size = dynamic.size() as i32;
        for at in &dynamic.noted {
            let next = self.asm.label();
            self.argument(R1, 0);
            self.asm.point(R2, *at);
            self.asm.load(Width::Double, R2, R2, 0);
            self.branch(Cond::Eq, R2, 0, next);
            self.asm.mov(R9, R1);
            self.asm.alu(Alu::Sub, R9, R2);
            self.branch(Cond::Ge, R9, size, next);
            self.within(R9, bytes, dynamic.size(), bad);
            self.asm.map(R1, dynamic.map);
            self.asm.point(R2, *at + 8);
            self.asm.call(Helper::MapLookupElem);
            self.branch(Cond::Eq, R0, 0, self.none);
            self.asm.mov(R1, R0);
            self.asm.mov(R3, R9);
            self.asm.jump(found);
            self.asm.bind(next);
        }
    }

    pub(super) fn copy(&mut self, helper: Helper) {
        self.argument(R6, 2);
        self.storable(None);
        let bad = self.fault(Flt::BADADDR);
        self.asm.mov(R2, R6);
        self.argument(R3, 1);
        self.asm.call(helper);
        self.argument(R1, 1);
        self.asm.branch(Cond::Ne, R0, 0, bad);
        self.asm.jump(self.none);
    }

    pub(super) fn store(&mut self, width: Width) {
        if width != Width::Byte {
            let bad = self.fault(Flt::BADALIGN);
            self.argument(R1, 0);
            self.asm.mov(R2, R1);
            self.asm.alu(Alu::And, R2, width.bytes() as i32 - 1);
            self.asm.branch(Cond::Ne, R2, 0, bad);
        }
        self.storable(Some(width.bytes()));
        self.argument(R5, 1);
        self.asm.store(width, R1, 0, R5);
        self.asm.jump(self.none);
    }

    /// As a string, what was copied ends after it.
    pub(super) fn copyin(&mut self) {
        let full = self.fault(Flt::NOSCRATCH);
        self.argument(R6, 1);
        self.asm.mov(R1, 0);
        self.asm.branch(Cond::Ge, R6, SCRATCH as i32, full);
        self.give_copy(Helper::ProbeReadUser);
    }

    pub(super) fn copyinstr(&mut self) {
        let bad = self.fault(Flt::BADADDR);
        let (limited, empty) = (self.asm.label(), self.asm.label());
        let strsize = self.memory.strsize as i32;
        self.argument(R6, 1);
        self.asm.branch(Cond::Le, R6, strsize, limited);
        self.asm.mov(R6, strsize);
        self.asm.bind(limited);
        self.asm.mov(R9, 0);
        self.asm.branch(Cond::Eq, R6, 0, empty);
        self.asm.point(R1, self.memory.texts[0]);
        self.asm.mov(R2, R6);
        self.argument(R3, 0);
        self.asm.call(Helper::ProbeReadUserStr);
        self.argument(R1, 0);
        self.asm.branch(Cond::SignedLe, R0, 0, bad);
        self.asm.mov(R9, R0);
        self.asm.add(R9, -1);
        self.asm.bind(empty);
        self.asm.mov(R1, 0);
        self.asm.mov(R2, R9);
        self.give_text(0);
    }

    /// An address and a length, as printm() takes them.
    pub(super) fn memref(&mut self) {
        self.asm.mov(R6, 16);
        self.room();
        self.scratch(R1);
        for number in 0..2 {
            self.argument(R2, number);
            self.asm.store(Width::Double, R1, 8 * i16::from(number), R2);
        }
        self.give_scratch();
    }

    /// Makes a string of bytes: each NUL but the last is replaced.
    pub(super) fn memstr(&mut self) {
        let much = self.fault(Flt::ILLOP);
        self.argument(R6, 2);
        // Old kernels learn nothing of a range from a comparison for equality.
        self.asm.branch(Cond::Lt, R6, 1, self.none);
        self.asm.mov(R1, 0);
        self.asm.branch(Cond::Gt, R6, MEMSTR_MAX as i32, much);
        self.room();
        self.asm.add(R6, -1);
        self.fill(Helper::ProbeReadKernel, 0);
        self.end_text();
        self.each_byte(MEMSTR_MAX, |lib, next| {
            lib.branch(Cond::Ne, R2, 0, next);
            lib.argument(R2, 1);
            lib.asm.store(Width::Byte, R1, 0, R2);
        });
        self.give_scratch();
    }

    /// Takes a speculation that is free: its number, or 0.
    pub(super) fn speculation(&mut self) {
        self.repeat(self.memory.nspec, |lib, next, _| {
            lib.asm.map_value(R1, Map::Globals as u32, lib.memory.speculations);
            lib.asm.mov(R2, R8);
            lib.asm.alu(Alu::Lsh, R2, 4);
            lib.asm.add(R1, R2);
            lib.asm.mov(R3, 1);
            lib.asm.exchange(R1, 0, R3);
            lib.branch(Cond::Ne, R3, 0, next);
            lib.asm.load(Width::Double, R3, R1, 8);
            lib.asm.add(R3, 1);
            lib.asm.store(Width::Double, R1, 8, R3);
            lib.asm.mov(R0, R8);
            lib.asm.add(R0, 1);
            lib.asm.exit();
        });
        self.asm.count(R7, cpu::UNAVAILABLE);
        self.asm.jump(self.none);
    }
}
