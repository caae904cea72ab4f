//! sites/code/x86/: the instructions of x86-64; the only user of iced-x86.

mod argument;
mod classes;
mod deciding;
mod decode;
mod guard;
mod operand;
mod received;
mod shape;
mod tables;
mod unhandled;

pub(crate) use shape::{Encoding, Shape, shape};

use std::ops::Range;

use super::deciding::Operand;
use super::operand::{Around, Unreadable};
use super::refusal::Refusal;
use super::set::{FtraceEntry, IndirectJump, InstructionSet, Step, Takes, Unhandled};
use kinst_base::probe::{Condition, Jump, When};
use kinst_dwarf::variables::term::{Register, Term};

/// x86-64 in 64-bit mode.
#[derive(Debug)]
pub(crate) struct X86;

impl InstructionSet for X86 {
    fn steps<'c>(&self, code: &'c [u8], address: u64) -> Box<dyn Iterator<Item = Step> + 'c> {
        Box::new(decode::steps(code, address))
    }

    fn fills(&self, bytes: &[u8]) -> bool {
        decode::fills(bytes)
    }

    fn calls(&self, bytes: &[u8]) -> bool {
        decode::calls(bytes)
    }

    fn takes(&self, bytes: &[u8]) -> Takes {
        decode::takes(bytes)
    }

    fn writes(&self, bytes: &[u8]) -> bool {
        classes::writes(bytes)
    }

    fn text_with(&self, bytes: &[u8], address: u64, name: &dyn Fn(u64) -> Option<String>) -> String {
        decode::text_with(bytes, address, name)
    }

    fn refusal(&self, code: &[u8], address: u64) -> Option<Refusal> {
        classes::refusal(code, address)
    }

    fn deciding(&self, code: &[u8], address: u64) -> Vec<Operand> {
        deciding::deciding(code, address)
    }

    fn guarded(&self, code: &[u8], at: usize) -> Vec<u8> {
        guard::guarded(code, at)
    }

    fn argument(&self, code: &[u8], address: u64, bytes: u8) -> Option<Term> {
        argument::value(code, address, bytes)
    }

    fn operand(&self, text: &str, bytes: u8, around: &Around<'_>) -> Result<Term, Unreadable> {
        operand::value(text, bytes, around)
    }

    fn received(&self, code: &[u8], address: u64) -> Option<Vec<Register>> {
        Some(received::received(code, address))
    }

    /// ud2, or ud1 with up to two prefixes.
    fn is_trap(&self, code: &[u8]) -> bool {
        (0..3).any(|skip| matches!(code.get(skip..skip + 2), Some([0x0f, 0x0b | 0xb9])))
    }

    fn indirect_jumps(
        &self,
        code: &[u8],
        address: u64,
        data: &dyn Fn(u64, usize) -> Option<Vec<u8>>,
    ) -> Vec<IndirectJump> {
        tables::indirect_jumps(code, address, data)
    }

    fn branch(&self, code: &[u8]) -> Option<[When; 2]> {
        let condition = Condition(decode::condition(code)?);
        Some([When::Taken(condition), When::NotTaken(condition)])
    }

    fn jump(&self, code: &[u8], address: u64) -> Option<Jump> {
        decode::jump(code, address)
    }

    fn breakpoint(&self, code: &[u8]) -> Option<usize> {
        code.starts_with(&[0xcc]).then_some(1)
    }

    /// The five-byte call.
    fn ftrace_site(&self, _: &[u8], _: u64, listed: u64) -> Range<u64> {
        listed..listed.saturating_add(5)
    }

    fn ftrace_before(&self) -> u64 {
        0
    }

    fn unhandled(&self) -> &'static Unhandled {
        &unhandled::UNHANDLED
    }

    fn ftrace_entry(&self, code: &[u8], address: u64) -> Option<FtraceEntry> {
        /// endbr64, and what the kernel replaces it with if the function is never called indirectly.
        const MARKS: [[u8; 4]; 3] =
            [[0xf3, 0x0f, 0x1e, 0xfa], [0x66, 0x0f, 0x1f, 0x00], [0x0f, 0x1f, 0x40, 0xd6]];
        const NOP: [u8; 5] = [0x0f, 0x1f, 0x44, 0x00, 0x00];
        let skipped = usize::from(MARKS.iter().any(|mark| code.starts_with(mark))) * 4;
        let site = code.get(skipped..skipped + NOP.len())?;
        let [CALL | JUMP, distance @ ..] = site else {
            return (site == NOP).then_some(FtraceEntry::Nop);
        };
        let distance = i32::from_le_bytes(distance.try_into().ok()?);
        let next = address.wrapping_add((skipped + NOP.len()) as u64);
        Some(FtraceEntry::Goes(next.wrapping_add_signed(distance.into())))
    }
}

/// Opcodes of a 5-byte call and a 5-byte jump.
const CALL: u8 = 0xe8;
const JUMP: u8 = 0xe9;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_ftrace_has_where_functions_begin() {
        let nop = [0x0f, 0x1f, 0x44, 0x00, 0x00];
        let call = [0xe8, 0xfb, 0xff, 0xff, 0xff];
        let jump = [0xe9, 0x10, 0x00, 0x00, 0x00];
        let endbr = [0xf3, 0x0f, 0x1e, 0xfa];
        let entry = |parts: &[&[u8]]| X86.ftrace_entry(&parts.concat(), 0x1000);
        assert_eq!(entry(&[&nop, &[0x55]]), Some(FtraceEntry::Nop));
        assert_eq!(entry(&[&endbr, &nop]), Some(FtraceEntry::Nop));
        assert_eq!(entry(&[&[0x66, 0x0f, 0x1f, 0x00], &nop]), Some(FtraceEntry::Nop));
        assert_eq!(entry(&[&call]), Some(FtraceEntry::Goes(0x1000)));
        assert_eq!(entry(&[&endbr, &jump]), Some(FtraceEntry::Goes(0x1019)));
        for other in [&[0x55, 0x48, 0x89, 0xe5, 0x41][..], &endbr, &nop[..4], &[]] {
            assert_eq!(entry(&[other]), None, "{other:x?}");
        }
    }
}
