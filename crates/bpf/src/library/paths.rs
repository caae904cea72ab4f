//! bpf/library/paths.rs: basename(), dirname() and cleanpath().

use super::function::{Function, Lib};
use crate::asm::Label;
use crate::insn::Reg::{R0, R1, R2, R3, R6, R8, R9};
use crate::insn::{Alu, Cond, Width};

const SLASH: i32 = b'/' as i32;
const DOT: i32 = b'.' as i32;

/// Words of the path being cleaned: the length of the clean part, the start and end of the component's name
/// after it, whether the component is the first, the length of the input, and whether the input is relative.
const CLEAN: i16 = 0;
const NAME: i16 = 1;
const END: i16 = 2;
const FIRST: i16 = 3;
const LENGTH: i16 = 4;
const RELATIVE: i16 = 5;

impl Lib<'_> {
    /// "" gives ".", only slashes give "/".
    pub(super) fn split_path(&mut self, directory: bool) {
        // The start and end of the last component, the end of the one before it, and whether the previous
        // byte was a slash.
        let [start, last, before, after_slash] = [0, 1, 2, 3];
        let (dot, slash) = (self.asm.label(), self.asm.label());
        self.fetch(0, 0);
        self.asm.mov(R6, R0);
        [start, last, before].into_iter().for_each(|word| self.set_word(word, 0));
        self.set_word(after_slash, 1);
        self.asm.branch(Cond::Eq, R6, 0, dot);
        self.repeat(self.memory.strsize, |lib, next, end| {
            let (name, same) = (lib.asm.label(), lib.asm.label());
            lib.branch(Cond::Ge, R8, R6, end);
            lib.byte(R2, 0, R8);
            lib.branch(Cond::Ne, R2, SLASH, name);
            lib.set_word(after_slash, 1);
            lib.asm.jump(next);
            lib.asm.bind(name);
            lib.word(R2, after_slash);
            lib.branch(Cond::Eq, R2, 0, same);
            lib.set_word(start, R8);
            lib.word(R2, last);
            lib.set_word(before, R2);
            lib.set_word(after_slash, 0);
            lib.asm.bind(same);
            lib.asm.mov(R2, R8);
            lib.asm.add(R2, 1);
            lib.set_word(last, R2);
        });
        self.word(R2, last);
        self.word(R1, start);
        self.asm.branch(Cond::Eq, R2, 0, slash);
        if directory {
            self.asm.branch(Cond::Eq, R1, 0, dot);
            self.word(R2, before);
            self.asm.branch(Cond::Eq, R2, 0, slash);
            self.asm.mov(R1, 0);
        } else {
            self.asm.alu(Alu::Sub, R2, R1);
        }
        self.give_text(0);
        self.asm.bind(dot);
        self.give_character(b'.');
        self.asm.bind(slash);
        self.give_character(b'/');
    }

    pub(super) fn last_slash(&mut self) {
        self.argument(R6, 0);
        self.repeat(self.memory.strsize + 1, |lib, next, end| {
            lib.asm.mov(R9, R6);
            lib.asm.alu(Alu::Sub, R9, R8);
            lib.asm.add(R9, -1);
            lib.branch(Cond::SignedLt, R9, 0, end);
            lib.byte(R2, 1, R9);
            lib.branch(Cond::Ne, R2, SLASH, next);
            lib.give(R9);
        });
        self.asm.jump(self.none);
    }

    /// Drops empty components and ".", and with ".." the preceding component; a final empty one and a final
    /// "." stay. A relative path stays relative. The clean path grows in the second buffer, with the
    /// component after it.
    pub(super) fn cleanpath(&mut self) {
        self.fetch(0, 0);
        self.set_word(LENGTH, R0);
        [CLEAN, NAME, END, RELATIVE].into_iter().for_each(|word| self.set_word(word, 0));
        self.set_word(FIRST, 1);
        let absolute = self.asm.label();
        self.asm.branch(Cond::Eq, R0, 0, absolute);
        self.asm.mov(R1, 0);
        self.byte(R2, 0, R1);
        self.asm.branch(Cond::Eq, R2, SLASH, absolute);
        self.set_word(RELATIVE, 1);
        self.asm.bind(absolute);
        self.repeat(self.memory.strsize, |lib, next, end| {
            let ended = lib.asm.label();
            lib.word(R1, LENGTH);
            lib.branch(Cond::Gt, R8, R1, end);
            lib.branch(Cond::Eq, R8, R1, ended);
            lib.byte(R9, 0, R8);
            lib.branch(Cond::Eq, R9, SLASH, ended);
            lib.word(R6, END);
            lib.put(R9);
            lib.set_word(END, R6);
            lib.asm.jump(next);
            lib.asm.bind(ended);
            lib.component();
            lib.begin_component();
        });
        // The slash was written for a component that never came.
        self.asm.mov(R1, 0);
        self.word(R2, CLEAN);
        self.give_text(1);
    }

    /// Writes the byte in R9 to the clean path at R6, and advances.
    fn put(&mut self, byte: impl Into<crate::insn::Operand>) {
        self.point(R3, 1, R6);
        self.asm.store(Width::Byte, R3, 0, byte);
        self.asm.add(R6, 1);
    }

    /// Begins a component after the clean part.
    fn begin_component(&mut self) {
        let (slash, begun) = (self.asm.label(), self.asm.label());
        self.word(R6, CLEAN);
        self.word(R1, RELATIVE);
        self.asm.branch(Cond::Eq, R1, 0, slash);
        self.asm.branch(Cond::Eq, R6, 0, begun);
        self.asm.bind(slash);
        self.put(SLASH);
        self.asm.bind(begun);
        self.set_word(NAME, R6);
        self.set_word(END, R6);
        self.set_word(FIRST, 0);
    }

    /// Ends a component at R8: keeps it, drops it, or drops the one before it.
    fn component(&mut self) {
        let (keep, done, dots, parent) =
            (self.asm.label(), self.asm.label(), self.asm.label(), self.asm.label());
        self.word(R1, FIRST);
        self.asm.branch(Cond::Ne, R1, 0, keep);
        self.word(R6, NAME);
        self.word(R9, END);
        self.asm.alu(Alu::Sub, R9, R6);
        self.asm.branch(Cond::Gt, R9, 2, keep);
        // All of its bytes are dots.
        let drop = self.asm.label();
        self.asm.branch(Cond::Eq, R9, 0, drop);
        self.byte(R2, 1, R6);
        self.asm.branch(Cond::Ne, R2, DOT, keep);
        self.asm.branch(Cond::Eq, R9, 2, dots);
        self.asm.bind(drop);
        self.word(R1, LENGTH);
        self.asm.branch(Cond::Eq, R8, R1, keep);
        self.asm.jump(done);
        self.asm.bind(dots);
        self.asm.add(R6, 1);
        self.byte(R2, 1, R6);
        self.asm.branch(Cond::Ne, R2, DOT, keep);
        self.word(R1, RELATIVE);
        self.asm.branch(Cond::Eq, R1, 0, parent);
        self.word(R1, CLEAN);
        self.asm.branch(Cond::Eq, R1, 0, keep);
        self.ends_in_parent(keep);
        self.asm.bind(parent);
        self.drop_last(done);
        self.asm.bind(keep);
        self.word(R1, END);
        self.set_word(CLEAN, R1);
        self.asm.bind(done);
    }

    /// Jumps to `to` if the clean part ends with the component "..".
    fn ends_in_parent(&mut self, to: Label) {
        let other = self.asm.label();
        self.word(R6, CLEAN);
        self.asm.branch(Cond::Lt, R6, 2, other);
        for _ in 0..2 {
            self.asm.add(R6, -1);
            self.byte(R2, 1, R6);
            self.asm.branch(Cond::Ne, R2, DOT, other);
        }
        self.asm.branch(Cond::Eq, R6, 0, to);
        self.asm.add(R6, -1);
        self.byte(R2, 1, R6);
        self.asm.branch(Cond::Eq, R2, SLASH, to);
        self.asm.bind(other);
    }

    /// Drops the last component of the clean part; a final slash stays.
    fn drop_last(&mut self, done: Label) {
        let slash = self.asm.label();
        self.word(R1, CLEAN);
        self.call_unchecked(Function::LastSlash);
        self.set_word(CLEAN, R0);
        self.word(R1, LENGTH);
        self.asm.branch(Cond::Ne, R8, R1, done);
        self.asm.mov(R6, R0);
        self.word(R1, RELATIVE);
        self.asm.branch(Cond::Eq, R1, 0, slash);
        self.asm.branch(Cond::Eq, R6, 0, done);
        self.asm.bind(slash);
        self.put(SLASH);
        self.set_word(CLEAN, R6);
        self.asm.jump(done);
    }
}
