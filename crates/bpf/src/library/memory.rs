//! bpf/library/memory.rs: scratch memory, copies to it and to variables, and fetching and making of strings.

use super::function::{COPY, Lib};
use crate::asm::Label;
use crate::insn::Reg::{self, Frame, R0, R1, R2, R3, R4, R5, R6, R7, R8, R9};
use crate::insn::{Alu, Cond, Helper, Width};
use crate::memory::{Dynamic, Map, SCRATCH, cpu, globals};
use kinst_base::uapi::Flt;

/// The maximum number of bytes that memstr() makes a string from: the maximum size of a string.
const MEMSTR_MAX: u32 = 1024;

impl Lib<'_> {
    /// Fetches a string, which ends with a NUL in the buffer.
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
        // The copy fills the limit: its last byte is a NUL now, whatever it was in the source.
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

    /// Allocates R6 bytes of scratch memory; R9 is their offset.
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

    /// Points a register at offset R9 of the scratch memory.
    pub(super) fn scratch(&mut self, into: Reg) {
        self.asm.point(into, self.memory.scratch);
        self.asm.add(into, R9);
    }

    /// Returns the address of offset R9 of the scratch memory.
    pub(super) fn give_scratch(&mut self) {
        self.asm.load(Width::Double, R0, R7, cpu::SELF);
        self.asm.add(R0, self.memory.scratch as i32);
        self.asm.add(R0, R9);
        self.asm.exit();
    }

    /// Copies R6 bytes from the address in an argument to offset R9 of the scratch memory.
    pub(super) fn fill(&mut self, helper: Helper, number: u8) {
        let bad = self.fault(Flt::BADADDR);
        self.scratch(R1);
        self.asm.mov(R2, R6);
        self.argument(R3, number);
        self.asm.call(helper);
        self.argument(R1, number);
        self.asm.branch(Cond::Ne, R0, 0, bad);
    }

    /// Writes a NUL after the R6 bytes at offset R9 of the scratch memory.
    pub(super) fn end_text(&mut self) {
        self.scratch(R1);
        self.asm.add(R1, R6);
        self.asm.store(Width::Byte, R1, 0, 0);
    }

    /// Allocates scratch memory for R6 bytes and a NUL; R9 is their offset.
    pub(super) fn text_room(&mut self) {
        self.asm.add(R6, 1);
        self.room();
        self.asm.add(R6, -1);
    }

    /// Returns a copy of the R6 bytes at the first argument's address, with a NUL.
    fn give_copy(&mut self, helper: Helper) {
        self.text_room();
        self.fill(helper, 0);
        self.end_text();
        self.give_scratch();
    }

    /// Repeats the body for each of the R6 bytes at offset R9 of the scratch memory, `limit` at most: R1
    /// points at the byte, R2 is its value. The body gets the label of the next round.
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

    /// Allocates, and fills with zeros from the beginning of the constants.
    pub(super) fn allocate(&mut self) {
        self.argument(R6, 0);
        self.room();
        self.scratch(R1);
        self.asm.mov(R2, R6);
        self.asm.load(Width::Double, R3, R7, cpu::CONSTANTS);
        self.asm.call(Helper::ProbeReadKernel);
        self.give_scratch();
    }

    /// Checks that the first argument's address may be stored to for R6 bytes, or a constant number; points
    /// R1 at its memory.
    fn storable(&mut self, bytes: Option<u32>) {
        let (found, locals, others) = (self.asm.label(), self.asm.label(), self.asm.label());
        let bad = self.fault(Flt::BADADDR);
        // The end is checked against the size in use, which never exceeds the whole.
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
        // Without globals, the map ends before this offset.
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

    /// R4 = `start` plus the size, which is constant or in R6 and at most `most`; jumps to `bad` if it is larger.
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

    /// Jumps to `bad` unless the bytes at `start` end within `size`. A constant is not added to the register:
    /// to the verifier of 6.12, the sum would be linked to the register, and it would lose track of an offset
    /// with only one possible value.
    fn within(&mut self, start: Reg, bytes: Option<u32>, size: u32, bad: Label) {
        match bytes {
            // All such offsets are out of bounds, but the verifier wants the code that follows to be reachable.
            Some(bytes) if bytes > size => self.branch(Cond::Ge, start, 0, bad),
            Some(bytes) => self.branch(Cond::Gt, start, (size - bytes) as i32, bad),
            None => {
                self.end(start, bytes, size, bad);
                self.branch(Cond::Gt, R4, size as i32, bad);
            }
        }
    }

    /// Jumps to `found` if the first argument's address is inside a noted value of the variable: R1 points at
    /// the value, R3 is the offset in it. A store to a value freed in the meantime is dropped silently.
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

    /// Terminated, so that the copy can be used as a string.
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

    /// Makes a pair of an address and a length, for printm().
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

    /// Makes a string of bytes: replaces each NUL but the last.
    pub(super) fn memstr(&mut self) {
        let much = self.fault(Flt::ILLOP);
        self.argument(R6, 2);
        // Old kernels learn nothing about a range from a comparison for equality.
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

    /// Takes a free speculation: returns its id, or 0.
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
