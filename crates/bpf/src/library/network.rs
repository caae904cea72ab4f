//! bpf/library/network.rs: formats a network address (second buffer) as text in the first buffer.

use super::function::Lib;
use crate::insn::Reg::{R0, R1, R2, R3, R6, R8, R9};
use crate::insn::{Alu, Cond, Helper, Operand, Width};
use kinst_base::uapi::Flt;

const ARPHRD_ETHER: i32 = 1;
const ARPHRD_INFINIBAND: i32 = 32;
const INFINIBAND_BYTES: u32 = 20;

/// Words: the length of the text; the current and the longest run of zeros, and the latter's start; where to
/// continue.
const LENGTH: i16 = 0;
const RUN: i16 = 1;
const LONGEST: i16 = 2;
const ZEROS: i16 = 3;
const SKIP: i16 = 4;

impl Lib<'_> {
    /// Copies the address that an argument points at; R6 is its size.
    fn address(&mut self, number: u8) {
        let bad = self.fault(Flt::BADADDR);
        self.set_word(LENGTH, 0);
        self.asm.point(R1, self.memory.texts[1]);
        self.asm.mov(R2, R6);
        self.argument(R3, number);
        self.asm.call(Helper::ProbeReadKernel);
        self.argument(R1, number);
        self.asm.branch(Cond::Ne, R0, 0, bad);
    }

    /// Appends a character to the text; clobbers R1 and R3.
    fn put_character(&mut self, character: impl Into<Operand>) {
        self.word(R1, LENGTH);
        self.point(R3, 0, R1);
        self.asm.store(Width::Byte, R3, 0, character);
        self.add_word(LENGTH, 1);
    }

    fn give_network_text(&mut self) {
        self.asm.mov(R1, 0);
        self.word(R2, LENGTH);
        self.give_text(0);
    }

    /// Loads a part of the address into R6.
    fn part(&mut self, width: Width, offset: u32) {
        self.asm.point(R6, self.memory.texts[1] + offset);
        self.asm.load(width, R6, R6, 0);
    }

    /// Appends the digits of the number in R6, without leading zeros.
    fn put_number(&mut self, base: i32, most: u32) {
        for place in (0..most).rev() {
            let skip = self.asm.label();
            let worth = base.pow(place);
            if place > 0 {
                self.asm.branch(Cond::Lt, R6, worth, skip);
            }
            self.asm.mov(R2, R6);
            self.asm.alu(Alu::Div, R2, worth);
            self.asm.alu(Alu::Mod, R2, base);
            self.put_digit();
            self.asm.bind(skip);
        }
    }

    /// Appends the digit in R2.
    fn put_digit(&mut self) {
        let decimal = self.asm.label();
        self.asm.add(R2, i32::from(b'0'));
        self.asm.branch(Cond::Le, R2, i32::from(b'9'), decimal);
        self.asm.add(R2, i32::from(b'a') - 10 - i32::from(b'0'));
        self.asm.bind(decimal);
        self.put_character(R2);
    }

    fn put_ipv4(&mut self, offset: u32) {
        for byte in 0..4 {
            if byte > 0 {
                self.put_character(i32::from(b'.'));
            }
            self.part(Width::Byte, offset + byte);
            self.put_number(10, 3);
        }
    }

    pub(super) fn inet_ntoa(&mut self) {
        self.asm.mov(R6, 4);
        self.address(0);
        self.put_ipv4(0);
        self.give_network_text();
    }

    /// RFC 5952: the first longest run of two or more zeros becomes "::". An address with an embedded IPv4
    /// address (RFC 4291, 2.5.5) ends in dotted form, except 0.0.x.y, so that ::1 stays as it is written.
    pub(super) fn inet_ntoa6(&mut self) {
        self.asm.mov(R6, 16);
        self.address(0);
        let (own, compatible, mapped) = (self.asm.label(), self.asm.label(), self.asm.label());
        self.part(Width::Double, 0);
        self.asm.branch(Cond::Ne, R6, 0, own);
        self.part(Width::Word, 8);
        self.asm.branch(Cond::Eq, R6, 0, compatible);
        self.asm.to_big_endian(R6, 32);
        self.asm.branch(Cond::Eq, R6, 0xffff, mapped);
        self.asm.jump(own);
        self.asm.bind(compatible);
        self.part(Width::Half, 12);
        self.asm.branch(Cond::Eq, R6, 0, own);
        "::".bytes().for_each(|byte| self.put_character(i32::from(byte)));
        self.put_ipv4(12);
        self.give_network_text();
        self.asm.bind(mapped);
        "::ffff:".bytes().for_each(|byte| self.put_character(i32::from(byte)));
        self.put_ipv4(12);
        self.give_network_text();
        self.asm.bind(own);
        self.find_zeros();
        self.put_groups();
        self.give_network_text();
    }

    /// Finds the longest run of zero groups.
    fn find_zeros(&mut self) {
        [RUN, LONGEST].into_iter().for_each(|word| self.set_word(word, 0));
        self.set_word(ZEROS, 8);
        for group in 0..8 {
            let (zero, next) = (self.asm.label(), self.asm.label());
            self.part(Width::Half, 2 * group);
            self.asm.branch(Cond::Eq, R6, 0, zero);
            self.set_word(RUN, 0);
            self.asm.jump(next);
            self.asm.bind(zero);
            self.add_word(RUN, 1);
            self.word(R2, LONGEST);
            self.asm.branch(Cond::Le, R1, 1, next);
            self.asm.branch(Cond::Le, R1, R2, next);
            self.set_word(LONGEST, R1);
            self.asm.mov(R2, group as i32 + 1);
            self.asm.alu(Alu::Sub, R2, R1);
            self.set_word(ZEROS, R2);
            self.asm.bind(next);
        }
    }

    fn put_groups(&mut self) {
        self.set_word(SKIP, 0);
        for group in 0..8 {
            let (shown, next) = (self.asm.label(), self.asm.label());
            self.word(R1, SKIP);
            self.asm.branch(Cond::Gt, R1, group, next);
            self.word(R2, ZEROS);
            self.asm.branch(Cond::Ne, R2, group, shown);
            self.word(R9, LONGEST);
            self.asm.add(R9, group);
            self.set_word(SKIP, R9);
            self.put_character(i32::from(b':'));
            self.asm.branch(Cond::Ne, R9, 8, next);
            self.put_character(i32::from(b':'));
            self.asm.jump(next);
            self.asm.bind(shown);
            if group > 0 {
                self.put_character(i32::from(b':'));
            }
            self.part(Width::Half, 2 * group as u32);
            self.asm.to_big_endian(R6, 16);
            self.put_number(16, 4);
            self.asm.bind(next);
        }
    }

    pub(super) fn link_ntop(&mut self) {
        let (ether, known) = (self.asm.label(), self.asm.label());
        let bad = self.fault(Flt::ILLOP);
        self.argument(R1, 0);
        self.asm.alu(Alu::Lsh, R1, 32);
        self.asm.alu(Alu::Rsh, R1, 32);
        self.asm.mov(R6, INFINIBAND_BYTES as i32);
        self.asm.branch(Cond::Eq, R1, ARPHRD_INFINIBAND, known);
        self.asm.branch(Cond::Eq, R1, ARPHRD_ETHER, ether);
        self.asm.jump(bad);
        self.asm.bind(ether);
        self.asm.mov(R6, 6);
        self.asm.bind(known);
        self.address(1);
        self.repeat(INFINIBAND_BYTES, |lib, _, end| {
            let first = lib.asm.label();
            lib.branch(Cond::Ge, R8, R6, end);
            lib.branch(Cond::Eq, R8, 0, first);
            lib.put_character(i32::from(b':'));
            lib.asm.bind(first);
            for shift in [4, 0] {
                lib.byte(R2, 1, R8);
                lib.asm.alu(Alu::Rsh, R2, shift);
                lib.asm.alu(Alu::And, R2, 15);
                lib.put_digit();
            }
        });
        self.give_network_text();
    }
}
