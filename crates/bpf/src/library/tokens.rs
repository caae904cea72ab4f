//! bpf/library/tokens.rs: strtok(). Its position in the string is saved for the next call in the same hit.

use super::function::{Function, Lib};
use crate::asm::Label;
use crate::insn::Reg::{R0, R1, R2, R3, R4, R5, R6, R7, R8};
use crate::insn::{Alu, Cond, Width};
use crate::memory::cpu;

/// Words: four of a set of bytes, then the string, its limit, its length, and the token's start and length.
const SET: i16 = 0;
const STRING: i16 = 4;
const LIMIT: i16 = 5;
const LENGTH: i16 = 6;
const START: i16 = 7;
const COUNT: i16 = 8;

impl Lib<'_> {
    pub(super) fn strtok(&mut self) {
        let (given, none, found) = (self.asm.label(), self.asm.label(), self.asm.label());
        self.argument(R1, 0);
        self.asm.mov(R2, self.memory.strsize as i32);
        self.asm.branch(Cond::Ne, R1, 0, given);
        self.asm.load(Width::Double, R1, R7, cpu::TOKEN);
        self.asm.load(Width::Double, R2, R7, cpu::TOKEN_LIMIT);
        // The string is used up, or none was given.
        self.asm.branch(Cond::Eq, R1, 0, self.none);
        self.asm.bind(given);
        self.set_word(STRING, R1);
        self.set_word(LIMIT, R2);
        self.separators();
        self.word(R1, STRING);
        self.word(R2, LIMIT);
        self.call(Function::First);
        self.set_word(LENGTH, R0);
        self.repeat(self.memory.strsize, |lib, next, _| {
            lib.word(R1, LENGTH);
            lib.branch(Cond::Ge, R8, R1, none);
            lib.byte(R2, 0, R8);
            lib.separates(next);
            lib.set_word(START, R8);
            lib.asm.jump(found);
        });
        self.asm.bind(none);
        self.asm.store(Width::Double, R7, cpu::TOKEN, 0);
        self.asm.jump(self.none);
        self.asm.bind(found);
        self.repeat(self.memory.strsize - 1, |lib, _, end| {
            lib.word(R6, START);
            lib.asm.add(R6, R8);
            lib.word(R1, LENGTH);
            lib.branch(Cond::Ge, R6, R1, end);
            lib.byte(R2, 0, R6);
            lib.separates(end);
        });
        self.set_word(COUNT, R8);
        self.token();
    }

    /// Makes the set of separators from the second argument.
    fn separators(&mut self) {
        self.fetch(1, 1);
        (SET..SET + 4).for_each(|word| self.set_word(word, 0));
        self.repeat(self.memory.strsize, |lib, _, end| {
            lib.byte(R2, 1, R8);
            lib.branch(Cond::Eq, R2, 0, end);
            lib.place();
            lib.asm.load(Width::Double, R5, R3, cpu::WORDS + 8 * SET);
            lib.asm.alu(Alu::Or, R5, R4);
            lib.asm.store(Width::Double, R3, cpu::WORDS + 8 * SET, R5);
        });
    }

    /// For the byte in R2, computes its word in the set (R3, an address) and its bit (R4).
    fn place(&mut self) {
        self.asm.mov(R3, R2);
        self.asm.alu(Alu::Rsh, R3, 6);
        self.asm.alu(Alu::And, R3, 3);
        self.asm.alu(Alu::Lsh, R3, 3);
        self.asm.add(R3, R7);
        self.asm.alu(Alu::And, R2, 63);
        self.asm.mov(R4, 1);
        self.asm.alu(Alu::Lsh, R4, R2);
    }

    /// Jumps to `to` if the byte in R2 is in the set.
    fn separates(&mut self, to: Label) {
        self.place();
        self.asm.load(Width::Double, R5, R3, cpu::WORDS + 8 * SET);
        self.asm.alu(Alu::And, R5, R4);
        self.asm.branch(Cond::Ne, R5, 0, to);
    }

    /// Returns the token, and saves the rest of the string.
    fn token(&mut self) {
        self.word(R1, START);
        self.word(R2, COUNT);
        self.asm.mov(R3, R1);
        self.asm.add(R3, R2);
        self.word(R4, STRING);
        self.asm.add(R4, R3);
        self.asm.store(Width::Double, R7, cpu::TOKEN, R4);
        self.word(R4, LIMIT);
        self.asm.alu(Alu::Sub, R4, R3);
        self.asm.store(Width::Double, R7, cpu::TOKEN_LIMIT, R4);
        self.give_text(0);
    }
}
