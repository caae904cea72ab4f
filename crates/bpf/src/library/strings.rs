//! bpf/library/strings.rs: comparing, joining, searching and cutting strings.

use super::function::{Function, Lib};
use crate::insn::Reg::{R0, R1, R2, R3, R4, R5, R6, R8, R9};
use crate::insn::{Alu, Cond, Helper, Width};

impl Lib<'_> {
    /// NULL sorts before everything and need not be readable. Strings are compared by words, padded with zeros.
    pub(super) fn compare(&mut self) {
        let (less, greater, differ) = (self.asm.label(), self.asm.label(), self.asm.label());
        let words = self.memory.strsize.div_ceil(8);
        self.argument(R6, 0);
        self.argument(R9, 1);
        self.asm.branch(Cond::Eq, R6, R9, self.none);
        // NULL is like an empty string.
        for (buffer, function, address) in [(0, Function::First, R6), (1, Function::Second, R9)] {
            let empty = self.asm.label();
            self.asm.clear(self.memory.texts[buffer], 8 * words);
            self.asm.branch(Cond::Eq, address, 0, empty);
            self.asm.mov(R1, address);
            self.asm.mov(R2, self.memory.strsize as i32);
            self.call(function);
            self.asm.bind(empty);
        }
        self.repeat(words, |lib, _, _| {
            lib.asm.mov(R1, R8);
            lib.asm.alu(Alu::Lsh, R1, 3);
            for (buffer, word) in [(0, R4), (1, R5)] {
                lib.point(R2, buffer, R1);
                lib.asm.load(Width::Double, word, R2, 0);
            }
            lib.branch(Cond::Ne, R4, R5, differ);
        });
        self.asm.jump(self.none);
        // The first byte is the most significant one.
        self.asm.bind(differ);
        self.asm.to_big_endian(R4, 64);
        self.asm.to_big_endian(R5, 64);
        self.branch(Cond::Gt, R4, R5, greater);
        for (label, result) in [(less, -1), (greater, 1)] {
            self.asm.bind(label);
            self.asm.mov(R0, result);
            self.asm.exit();
        }
    }

    /// Cuts off what does not fit into a string.
    pub(super) fn strjoin(&mut self) {
        let bounded = self.asm.label();
        self.fetch(0, 0);
        self.asm.mov(R6, R0);
        self.fetch(1, 1);
        self.asm.mov(R9, R0);
        // Both are shorter than the buffer, which holds two.
        self.asm.branch(Cond::Lt, R9, self.memory.strsize as i32, bounded);
        self.asm.mov(R9, 0);
        self.asm.bind(bounded);
        self.point(R1, 0, R6);
        self.asm.mov(R2, R9);
        self.buffer(R3, 1);
        self.asm.call(Helper::ProbeReadKernel);
        self.asm.mov(R1, 0);
        self.asm.mov(R2, R6);
        self.asm.add(R2, R9);
        self.give_text(0);
    }

    /// Maps the letters from `from` on to those from `to` on.
    pub(super) fn change_case(&mut self, from: u8, to: u8) {
        self.fetch(0, 0);
        self.asm.mov(R6, R0);
        self.repeat(self.memory.strsize, |lib, next, end| {
            lib.point(R2, 0, R8);
            lib.asm.load(Width::Byte, R3, R2, 0);
            lib.branch(Cond::Eq, R3, 0, end);
            lib.branch(Cond::Lt, R3, i32::from(from), next);
            lib.branch(Cond::Ge, R3, i32::from(from) + 26, next);
            lib.asm.add(R3, i32::from(to) - i32::from(from));
            lib.asm.store(Width::Byte, R2, 0, R3);
        });
        self.asm.mov(R1, 0);
        self.asm.mov(R2, R6);
        self.give_text(0);
    }

    /// The terminating NUL counts as a character.
    pub(super) fn find_byte(&mut self, last: bool) {
        const FOUND: i16 = 0;
        self.fetch(0, 0);
        self.asm.mov(R6, R0);
        self.argument(R9, 1);
        self.asm.alu(Alu::And, R9, 255);
        self.set_word(FOUND, -1);
        self.repeat(self.memory.strsize, |lib, next, end| {
            lib.branch(Cond::Gt, R8, R6, end);
            lib.byte(R2, 0, R8);
            lib.branch(Cond::Ne, R2, R9, next);
            lib.set_word(FOUND, R8);
            if !last {
                lib.asm.jump(end);
            }
        });
        self.word(R0, FOUND);
        self.asm.branch(Cond::SignedLt, R0, 0, self.none);
        self.argument(R1, 0);
        self.asm.add(R0, R1);
        self.asm.exit();
    }

    /// Tries the positions from the third argument on, forwards or backwards.
    pub(super) fn find(&mut self, backwards: bool) {
        let [length, asked, start] = [0, 1, 2];
        let (absent, begin) = (self.asm.label(), self.asm.label());
        self.fetch(0, 0);
        self.asm.mov(R6, R0);
        self.fetch(1, 1);
        self.set_word(length, R6);
        self.set_word(asked, R0);
        self.argument(R1, 2);
        if backwards {
            // A search backwards from before the beginning finds only the empty string.
            let inside = self.asm.label();
            self.asm.branch(Cond::SignedGe, R1, 0, inside);
            self.asm.branch(Cond::Ne, R0, 0, absent);
            self.asm.jump(self.none);
            self.asm.bind(inside);
        } else {
            let inside = self.asm.label();
            self.asm.branch(Cond::SignedGe, R1, 0, inside);
            self.asm.mov(R1, 0);
            self.asm.bind(inside);
        }
        self.asm.branch(Cond::Le, R1, R6, begin);
        self.asm.mov(R1, R6);
        self.asm.bind(begin);
        self.set_word(start, R1);
        self.repeat(self.memory.strsize, |lib, next, end| {
            lib.word(R6, start);
            lib.asm.alu(if backwards { Alu::Sub } else { Alu::Add }, R6, R8);
            if backwards {
                lib.branch(Cond::SignedLt, R6, 0, end);
            }
            // The rest of the string has to be long enough.
            lib.word(R1, length);
            lib.asm.alu(Alu::Sub, R1, R6);
            lib.word(R2, asked);
            lib.branch(Cond::SignedLt, R1, R2, if backwards { next } else { end });
            lib.asm.mov(R1, R6);
            lib.call_unchecked(Function::Match);
            lib.branch(Cond::Eq, R0, 0, next);
            lib.give(R6);
        });
        self.asm.bind(absent);
        self.asm.mov(R0, -1);
        self.asm.exit();
    }

    pub(super) fn matches(&mut self) {
        let differ = self.asm.label();
        self.argument(R6, 0);
        self.argument(R9, 1);
        self.repeat(self.memory.strsize, |lib, _, end| {
            lib.branch(Cond::Ge, R8, R9, end);
            lib.asm.mov(R1, R6);
            lib.asm.add(R1, R8);
            lib.byte(R2, 0, R1);
            lib.byte(R3, 1, R8);
            lib.branch(Cond::Ne, R2, R3, differ);
        });
        self.asm.mov(R0, 1);
        self.asm.exit();
        self.asm.bind(differ);
        self.asm.jump(self.none);
    }

    /// A negative start counts from the end; a negative length cuts that many bytes off the end.
    pub(super) fn substr(&mut self) {
        self.fetch(0, 0);
        self.asm.mov(R6, R0);
        self.argument(R1, 1);
        self.argument(R2, 2);
        let (inside, empty, known, backwards) =
            (self.asm.label(), self.asm.label(), self.asm.label(), self.asm.label());
        self.asm.branch(Cond::SignedGe, R1, 0, inside);
        self.asm.add(R1, R6);
        self.asm.branch(Cond::SignedGe, R1, 0, inside);
        // The start is before the string: cut the length accordingly.
        self.asm.branch(Cond::SignedLe, R2, 0, empty);
        self.asm.add(R2, R1);
        self.asm.branch(Cond::SignedLe, R2, 0, empty);
        self.asm.mov(R1, 0);
        self.asm.bind(inside);
        self.asm.branch(Cond::SignedGe, R1, R6, empty);
        self.asm.mov(R3, R6);
        self.asm.alu(Alu::Sub, R3, R1);
        self.asm.branch(Cond::SignedLt, R2, 0, backwards);
        self.asm.branch(Cond::SignedLe, R2, R3, known);
        self.asm.mov(R2, R3);
        self.asm.jump(known);
        self.asm.bind(backwards);
        self.asm.mov(R4, R6);
        self.asm.neg(R4);
        self.asm.branch(Cond::SignedLt, R2, R4, empty);
        self.asm.add(R2, R3);
        self.asm.branch(Cond::SignedGt, R2, 0, known);
        self.asm.bind(empty);
        self.asm.mov(R1, 0);
        self.asm.mov(R2, 0);
        self.asm.bind(known);
        self.give_text(0);
    }
}
