//! bpf/library/json.rs: json(), which extracts one value from a JSON string.
//!
//! The JSON is in the first buffer, the path in the second. Values off the path are skipped and validated
//! only where they are examined. Malformed JSON has no value.

use super::function::{Function, Lib};
use crate::asm::Label;
use crate::insn::Reg::{self, R0, R1, R2, R3, R6, R8, R9};
use crate::insn::{Alu, Cond};

/// Words of the search: its mode, its position in the JSON, the start and end of the current step of the
/// path, and the number of elements still to skip.
const MODE: i16 = 0;
const TEXT: i16 = 1;
const STEP: i16 = 2;
const STEP_END: i16 = 3;
const INDEX: i16 = 4;
/// Words of a skipped value: the state, and the number of open brackets.
const STATE: i16 = 6;
const DEPTH: i16 = 7;

/// Modes of the search: enter a value, examine a member, count elements, leave a step.
const ENTER: i32 = 0;
const MEMBER: i32 = 1;
const ELEMENT: i32 = 2;
const LEAVE: i32 = 3;

/// States of a skipped value: outside, in a string, after a backslash in a string, in a word.
const NOTHING: i32 = 0;
const STRING: i32 = 1;
const ESCAPE: i32 = 2;
const WORD: i32 = 3;

/// An index above the maximum length of a string; all larger ones are equivalent.
const MAX_INDEX: i32 = 1 << 20;

fn character(byte: u8) -> i32 {
    byte.into()
}

impl Lib<'_> {
    pub(super) fn json(&mut self) {
        self.fetch(0, 0);
        self.fetch(1, 1);
        let (found, start) = (self.asm.label(), self.asm.label());
        [MODE, TEXT, STEP].into_iter().for_each(|word| self.set_word(word, 0));
        self.asm.mov(R1, 0);
        self.byte(R2, 1, R1);
        self.asm.branch(Cond::Ne, R2, character(b'['), start);
        self.set_word(STEP, 1);
        self.asm.bind(start);
        // Each round advances in the JSON or in the path.
        self.repeat(3 * self.memory.strsize, |lib, next, _| {
            let (member, element, leave) = (lib.asm.label(), lib.asm.label(), lib.asm.label());
            lib.word(R1, MODE);
            lib.branch(Cond::Eq, R1, MEMBER, member);
            lib.branch(Cond::Eq, R1, ELEMENT, element);
            lib.branch(Cond::Eq, R1, LEAVE, leave);
            lib.enter();
            lib.asm.jump(next);
            lib.asm.bind(member);
            lib.member();
            lib.asm.jump(next);
            lib.asm.bind(element);
            lib.element();
            lib.asm.jump(next);
            lib.asm.bind(leave);
            lib.leave(found);
        });
        self.asm.jump(self.none);
        self.asm.bind(found);
        self.value();
    }

    /// Calls a function with its argument in R1. It returns a position in R0, or −1, which ends the search.
    fn position(&mut self, function: Function) {
        self.call_unchecked(function);
        self.asm.branch(Cond::SignedLt, R0, 0, self.none);
    }

    /// Moves from the opening bracket at R6 to the next byte that is not blank.
    fn inside(&mut self, mode: i32) {
        self.asm.mov(R1, R6);
        self.asm.add(R1, 1);
        self.call_unchecked(Function::SkipBlanks);
        self.set_word(TEXT, R0);
        self.set_word(MODE, mode);
    }

    /// Moves from the position in R0 past `sign` and the blanks around it; jumps to `absent` if it is missing.
    fn after(&mut self, sign: u8, absent: Label) {
        self.asm.mov(R1, R0);
        self.call_unchecked(Function::SkipBlanks);
        self.asm.mov(R1, R0);
        self.byte(R2, 0, R1);
        self.asm.branch(Cond::Ne, R2, character(sign), absent);
        self.asm.add(R1, 1);
        self.call_unchecked(Function::SkipBlanks);
    }

    fn enter(&mut self) {
        let (object, done) = (self.asm.label(), self.asm.label());
        self.word(R1, STEP);
        self.call_unchecked(Function::StepEnd);
        self.set_word(STEP_END, R0);
        self.word(R1, TEXT);
        self.call_unchecked(Function::SkipBlanks);
        self.asm.mov(R6, R0);
        self.byte(R2, 0, R6);
        self.asm.branch(Cond::Eq, R2, character(b'{'), object);
        self.asm.branch(Cond::Ne, R2, character(b'['), self.none);
        self.word(R1, STEP);
        self.word(R2, STEP_END);
        self.position(Function::StepIndex);
        self.set_word(INDEX, R0);
        self.inside(ELEMENT);
        self.asm.jump(done);
        self.asm.bind(object);
        self.inside(MEMBER);
        self.asm.bind(done);
    }

    fn member(&mut self) {
        let (other, done) = (self.asm.label(), self.asm.label());
        self.word(R6, TEXT);
        self.byte(R2, 0, R6);
        self.asm.branch(Cond::Ne, R2, character(b'"'), self.none);
        self.asm.mov(R1, R6);
        self.position(Function::SkipString);
        self.asm.mov(R9, R0);
        self.after(b':', self.none);
        self.set_word(TEXT, R0);
        // The key is the text between the quotes.
        self.asm.add(R6, 1);
        self.asm.add(R9, -1);
        self.asm.alu(Alu::Sub, R9, R6);
        self.word(R2, STEP);
        self.word(R3, STEP_END);
        self.asm.alu(Alu::Sub, R3, R2);
        self.asm.branch(Cond::Ne, R3, R9, other);
        self.asm.mov(R1, R6);
        self.call_unchecked(Function::IsKey);
        self.asm.branch(Cond::Eq, R0, 0, other);
        self.set_word(MODE, LEAVE);
        self.asm.jump(done);
        self.asm.bind(other);
        self.word(R1, TEXT);
        self.position(Function::NextValue);
        self.set_word(TEXT, R0);
        self.asm.bind(done);
    }

    fn element(&mut self) {
        let (there, done) = (self.asm.label(), self.asm.label());
        self.word(R1, INDEX);
        self.asm.branch(Cond::Eq, R1, 0, there);
        self.add_word(INDEX, -1);
        self.word(R1, TEXT);
        self.position(Function::NextValue);
        self.set_word(TEXT, R0);
        self.asm.jump(done);
        self.asm.bind(there);
        self.set_word(MODE, LEAVE);
        self.asm.bind(done);
    }

    fn leave(&mut self, found: Label) {
        let plain = self.asm.label();
        self.word(R6, STEP_END);
        self.byte(R2, 1, R6);
        self.asm.branch(Cond::Ne, R2, character(b']'), plain);
        self.asm.add(R6, 1);
        self.byte(R2, 1, R6);
        self.asm.bind(plain);
        self.asm.branch(Cond::Eq, R2, 0, found);
        self.asm.branch(Cond::Eq, R2, character(b']'), self.none);
        let next = self.asm.label();
        self.asm.branch(Cond::Eq, R2, character(b'.'), next);
        self.asm.branch(Cond::Ne, R2, character(b'['), self.none);
        self.asm.bind(next);
        self.asm.add(R6, 1);
        self.set_word(STEP, R6);
        self.set_word(MODE, ENTER);
    }

    /// Returns the value: a string without its quotes, anything else as written.
    fn value(&mut self) {
        let whole = self.asm.label();
        self.word(R6, TEXT);
        self.asm.mov(R1, R6);
        self.position(Function::SkipValue);
        self.asm.mov(R9, R0);
        self.byte(R2, 0, R6);
        self.asm.branch(Cond::Ne, R2, character(b'"'), whole);
        self.asm.add(R6, 1);
        self.asm.add(R9, -1);
        self.asm.bind(whole);
        self.asm.mov(R1, R6);
        self.asm.mov(R2, R9);
        self.asm.alu(Alu::Sub, R2, R6);
        self.give_text(0);
    }

    /// Repeats the body with R9 = the position in the argument and up, and R2 = the byte there, until the
    /// buffer's end.
    fn walk(&mut self, buffer: usize, body: impl FnOnce(&mut Self, Label)) {
        self.argument(R6, 0);
        self.repeat(self.memory.strsize, |lib, next, _| {
            lib.asm.mov(R9, R6);
            lib.asm.add(R9, R8);
            lib.byte(R2, buffer, R9);
            body(lib, next);
        });
        self.asm.mov(R0, -1);
        self.asm.exit();
    }

    pub(super) fn skip_blanks(&mut self) {
        self.walk(0, |lib, next| {
            b" \t\n\r".iter().for_each(|blank| lib.branch(Cond::Eq, R2, character(*blank), next));
            lib.give(R9);
        });
    }

    /// Returns the position after R9.
    fn give_after(&mut self) {
        self.asm.add(R9, 1);
        self.give(R9);
    }

    fn give_absent(&mut self) {
        self.asm.mov(R0, -1);
        self.asm.exit();
    }

    /// Returns the end of the string whose opening quote is at the position.
    pub(super) fn skip_string(&mut self) {
        // The opening quote and escaped characters are ordinary.
        self.set_word(STATE, ESCAPE);
        self.walk(0, |lib, next| {
            let (open, escape, other) = (lib.asm.label(), lib.asm.label(), lib.asm.label());
            lib.branch(Cond::Ne, R2, 0, open);
            lib.give_absent();
            lib.asm.bind(open);
            lib.word(R3, STATE);
            lib.set_word(STATE, STRING);
            lib.branch(Cond::Eq, R3, ESCAPE, next);
            lib.branch(Cond::Eq, R2, character(b'\\'), escape);
            lib.branch(Cond::Ne, R2, character(b'"'), other);
            lib.give_after();
            lib.asm.bind(escape);
            lib.set_word(STATE, ESCAPE);
            lib.asm.bind(other);
        });
    }

    /// Returns the end of the value at the position.
    pub(super) fn skip_value(&mut self) {
        self.set_word(STATE, NOTHING);
        self.set_word(DEPTH, 0);
        self.walk(0, |lib, next| {
            let (string, escape, word, ended) =
                (lib.asm.label(), lib.asm.label(), lib.asm.label(), lib.asm.label());
            lib.word(R3, STATE);
            lib.branch(Cond::Eq, R3, WORD, word);
            lib.branch(Cond::Eq, R2, 0, ended);
            lib.branch(Cond::Eq, R3, STRING, string);
            lib.branch(Cond::Eq, R3, ESCAPE, escape);
            lib.begin_value(next, ended);
            lib.asm.bind(string);
            lib.in_string(next);
            lib.asm.bind(escape);
            lib.set_word(STATE, STRING);
            lib.asm.jump(next);
            lib.asm.bind(ended);
            lib.give_absent();
            lib.asm.bind(word);
            lib.in_word(R2, next);
            lib.give(R9);
        });
    }

    /// Handles a byte outside strings and words.
    fn begin_value(&mut self, next: Label, absent: Label) {
        let (quote, open, nested) = (self.asm.label(), self.asm.label(), self.asm.label());
        let (close, word) = (self.asm.label(), self.asm.label());
        self.asm.branch(Cond::Eq, R2, character(b'"'), quote);
        self.asm.branch(Cond::Eq, R2, character(b'{'), open);
        self.asm.branch(Cond::Eq, R2, character(b'['), open);
        self.word(R1, DEPTH);
        self.asm.branch(Cond::Ne, R1, 0, nested);
        self.in_word(R2, word);
        self.asm.jump(absent);
        self.asm.bind(word);
        self.set_word(STATE, WORD);
        self.asm.jump(next);
        self.asm.bind(quote);
        self.set_word(STATE, STRING);
        self.asm.jump(next);
        self.asm.bind(open);
        self.add_word(DEPTH, 1);
        self.asm.jump(next);
        self.asm.bind(nested);
        self.asm.branch(Cond::Eq, R2, character(b'}'), close);
        self.asm.branch(Cond::Ne, R2, character(b']'), next);
        self.asm.bind(close);
        self.add_word(DEPTH, -1);
        self.asm.branch(Cond::Ne, R1, 0, next);
        self.give_after();
    }

    /// Handles a byte of a string.
    fn in_string(&mut self, next: Label) {
        let (quote, plain) = (self.asm.label(), self.asm.label());
        self.asm.branch(Cond::Eq, R2, character(b'"'), quote);
        self.asm.branch(Cond::Ne, R2, character(b'\\'), plain);
        self.set_word(STATE, ESCAPE);
        self.asm.bind(plain);
        self.asm.jump(next);
        self.asm.bind(quote);
        self.set_word(STATE, NOTHING);
        self.word(R1, DEPTH);
        self.asm.branch(Cond::Ne, R1, 0, next);
        self.give_after();
    }

    /// Jumps to `to` if the byte may be part of a number, true, false or null.
    fn in_word(&mut self, byte: Reg, to: Label) {
        for range in [b'0'..=b'9', b'a'..=b'z', b'A'..=b'Z'] {
            let other = self.asm.label();
            self.asm.branch(Cond::Lt, byte, character(*range.start()), other);
            self.asm.branch(Cond::Le, byte, character(*range.end()), to);
            self.asm.bind(other);
        }
        b"-+.".iter().for_each(|sign| self.asm.branch(Cond::Eq, byte, character(*sign), to));
    }

    /// Returns the position of the next value in the same object or array.
    pub(super) fn next_value(&mut self) {
        let absent = self.asm.label();
        self.argument(R1, 0);
        self.call_unchecked(Function::SkipValue);
        self.asm.branch(Cond::SignedLt, R0, 0, absent);
        self.after(b',', absent);
        self.asm.exit();
        self.asm.bind(absent);
        self.give_absent();
    }

    pub(super) fn step_end(&mut self) {
        self.walk(1, |lib, next| {
            let end = lib.asm.label();
            b"\0.[]".iter().for_each(|byte| lib.branch(Cond::Eq, R2, character(*byte), end));
            lib.asm.jump(next);
            lib.asm.bind(end);
            lib.give(R9);
        });
    }

    pub(super) fn step_index(&mut self) {
        let absent = self.asm.label();
        self.argument(R6, 0);
        self.argument(R9, 1);
        self.asm.branch(Cond::Ge, R6, R9, absent);
        self.set_word(INDEX, 0);
        self.repeat(self.memory.strsize, |lib, next, end| {
            lib.asm.mov(R1, R6);
            lib.asm.add(R1, R8);
            lib.branch(Cond::Ge, R1, R9, end);
            lib.byte(R2, 1, R1);
            lib.branch(Cond::Lt, R2, character(b'0'), absent);
            lib.branch(Cond::Gt, R2, character(b'9'), absent);
            lib.word(R1, INDEX);
            lib.branch(Cond::Gt, R1, MAX_INDEX, next);
            lib.asm.alu(Alu::Mul, R1, 10);
            lib.asm.add(R1, R2);
            lib.asm.add(R1, -character(b'0'));
            lib.set_word(INDEX, R1);
        });
        self.word(R0, INDEX);
        self.asm.exit();
        self.asm.bind(absent);
        self.give_absent();
    }

    pub(super) fn is_key(&mut self) {
        self.argument(R6, 2);
        self.repeat(self.memory.strsize, |lib, _, end| {
            lib.branch(Cond::Ge, R8, R6, end);
            for (into, number, buffer) in [(R9, 0, 0), (R3, 1, 1)] {
                lib.argument(R1, number);
                lib.asm.add(R1, R8);
                lib.byte(into, buffer, R1);
            }
            lib.branch(Cond::Ne, R9, R3, lib.none);
        });
        self.asm.mov(R0, 1);
        self.asm.exit();
    }
}
