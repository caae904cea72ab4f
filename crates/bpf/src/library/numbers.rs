//! bpf/library/numbers.rs: conversion between numbers and strings.

use super::function::{Function, Lib};
use crate::insn::Reg::{R0, R1, R2, R3, R6, R8, R9};
use crate::insn::{Alu, Cond, Width};
use kinst_base::uapi::Flt;

/// End of a number in its buffer: 64 binary digits and a prefix fit before it.
const NUMBER_END: i32 = 72;
/// Words: the start of the number's text; the read position, whether the number is negative, and its value.
const START: i16 = 0;
const AT: i16 = 0;
const NEGATIVE: i16 = 1;
const VALUE: i16 = 2;

impl Lib<'_> {
    /// Loads the base, an argument, into R9.
    fn base(&mut self) {
        let bad = self.fault(Flt::ILLOP);
        self.argument(R9, 1);
        self.asm.mov(R1, R9);
        self.asm.branch(Cond::Lt, R1, 2, bad);
        self.asm.branch(Cond::Gt, R1, 36, bad);
    }

    /// Base 10 is signed; base 8 has the prefix 0, base 16 the prefix 0x.
    pub(super) fn lltostr(&mut self) {
        self.base();
        self.argument(R6, 0);
        let positive = self.asm.label();
        self.asm.branch(Cond::Ne, R9, 10, positive);
        self.asm.branch(Cond::SignedGe, R6, 0, positive);
        self.asm.neg(R6);
        self.asm.bind(positive);
        self.repeat(64, |lib, _, end| {
            let decimal = lib.asm.label();
            lib.branch(Cond::Eq, R6, 0, end);
            lib.asm.mov(R2, R6);
            lib.asm.alu(Alu::Mod, R2, R9);
            lib.asm.alu(Alu::Div, R6, R9);
            lib.asm.add(R2, i32::from(b'0'));
            lib.branch(Cond::Le, R2, i32::from(b'9'), decimal);
            lib.asm.add(R2, i32::from(b'a') - 10 - i32::from(b'0'));
            lib.asm.bind(decimal);
            lib.asm.mov(R1, NUMBER_END - 1);
            lib.asm.alu(Alu::Sub, R1, R8);
            lib.point(R3, 0, R1);
            lib.asm.store(Width::Byte, R3, 0, R2);
        });
        self.asm.mov(R1, NUMBER_END);
        self.asm.alu(Alu::Sub, R1, R8);
        self.set_word(START, R1);
        self.prefix();
        self.word(R1, START);
        self.asm.mov(R2, NUMBER_END);
        self.asm.alu(Alu::Sub, R2, R1);
        self.give_text(0);
    }

    /// Writes the prefix.
    fn prefix(&mut self) {
        let (some, not_16, zero, sign, done) =
            (self.asm.label(), self.asm.label(), self.asm.label(), self.asm.label(), self.asm.label());
        self.argument(R6, 0);
        self.asm.branch(Cond::Ne, R9, 16, not_16);
        self.asm.branch(Cond::Ne, R6, 0, some);
        self.put_before(b'0');
        self.asm.bind(some);
        self.put_before(b'x');
        self.asm.jump(zero);
        self.asm.bind(not_16);
        self.asm.branch(Cond::Eq, R9, 8, zero);
        self.asm.branch(Cond::Ne, R6, 0, sign);
        self.asm.bind(zero);
        self.put_before(b'0');
        self.asm.bind(sign);
        self.asm.branch(Cond::Ne, R9, 10, done);
        self.asm.branch(Cond::SignedGe, R6, 0, done);
        self.put_before(b'-');
        self.asm.bind(done);
    }

    fn put_before(&mut self, character: u8) {
        self.add_word(START, -1);
        self.point(R3, 0, R1);
        self.asm.store(Width::Byte, R3, 0, i32::from(character));
    }

    /// Accepts blanks, a sign, 0x with base 16, and digits; stops at the first other character; wraps on overflow.
    pub(super) fn strtoll(&mut self) {
        self.base();
        self.fetch(0, 0);
        [AT, NEGATIVE, VALUE].into_iter().for_each(|word| self.set_word(word, 0));
        self.repeat(self.memory.strsize, |lib, _, end| {
            lib.set_word(AT, R8);
            lib.byte(R1, 0, R8);
            lib.call_unchecked(Function::IsBlank);
            lib.branch(Cond::Eq, R0, 0, end);
        });
        self.sign();
        self.word(R6, AT);
        self.repeat(self.memory.strsize, |lib, _, end| {
            lib.asm.mov(R2, R6);
            lib.asm.add(R2, R8);
            lib.byte(R1, 0, R2);
            lib.asm.mov(R2, R9);
            lib.call_unchecked(Function::Digit);
            lib.branch(Cond::SignedLt, R0, 0, end);
            lib.word(R1, VALUE);
            lib.asm.alu(Alu::Mul, R1, R9);
            lib.asm.add(R1, R0);
            lib.set_word(VALUE, R1);
        });
        let positive = self.asm.label();
        self.word(R0, VALUE);
        self.word(R1, NEGATIVE);
        self.asm.branch(Cond::Eq, R1, 0, positive);
        self.asm.neg(R0);
        self.asm.bind(positive);
        self.asm.exit();
    }

    /// Skips a sign and the prefix of base 16.
    fn sign(&mut self) {
        let (plus, digits, skip) = (self.asm.label(), self.asm.label(), self.asm.label());
        self.word(R6, AT);
        self.byte(R2, 0, R6);
        self.asm.branch(Cond::Eq, R2, i32::from(b'+'), plus);
        self.asm.branch(Cond::Ne, R2, i32::from(b'-'), skip);
        self.set_word(NEGATIVE, 1);
        self.asm.bind(plus);
        self.add_word(AT, 1);
        self.asm.bind(skip);
        self.asm.branch(Cond::Ne, R9, 16, digits);
        self.word(R6, AT);
        self.byte(R2, 0, R6);
        self.asm.branch(Cond::Ne, R2, i32::from(b'0'), digits);
        self.asm.add(R6, 1);
        self.byte(R2, 0, R6);
        self.asm.alu(Alu::Or, R2, 0x20);
        self.asm.branch(Cond::Ne, R2, i32::from(b'x'), digits);
        self.add_word(AT, 2);
        self.asm.bind(digits);
    }

    pub(super) fn is_blank(&mut self) {
        let blank = self.asm.label();
        self.argument(R1, 0);
        self.asm.branch(Cond::Eq, R1, i32::from(b' '), blank);
        self.asm.branch(Cond::Lt, R1, 9, self.none);
        self.asm.branch(Cond::Gt, R1, 13, self.none);
        self.asm.bind(blank);
        self.asm.mov(R0, 1);
        self.asm.exit();
    }

    pub(super) fn digit(&mut self) {
        let (other, letter, known) = (self.asm.label(), self.asm.label(), self.asm.label());
        self.argument(R0, 0);
        self.argument(R1, 1);
        self.asm.branch(Cond::Lt, R0, i32::from(b'0'), other);
        self.asm.branch(Cond::Gt, R0, i32::from(b'9'), letter);
        self.asm.add(R0, -i32::from(b'0'));
        self.asm.jump(known);
        self.asm.bind(letter);
        self.asm.alu(Alu::Or, R0, 0x20);
        self.asm.branch(Cond::Lt, R0, i32::from(b'a'), other);
        self.asm.branch(Cond::Gt, R0, i32::from(b'z'), other);
        self.asm.add(R0, 10 - i32::from(b'a'));
        self.asm.bind(known);
        self.asm.branch(Cond::Ge, R0, R1, other);
        self.asm.exit();
        self.asm.bind(other);
        self.asm.mov(R0, -1);
        self.asm.exit();
    }
}
