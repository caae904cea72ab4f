//! sites/code/arm64/set.rs: the instruction set of aarch64.

use super::words::{LEN, first, target, words};
use super::{classes, deciding, exclusive, flow, guard, operand, tables, text};
use crate::code::deciding::Operand;
use crate::code::operand::{Around, Unreadable};
use crate::code::refusal::Refusal;
use crate::code::set::{FtraceEntry, IndirectJump, InstructionSet, Step, Takes, Unhandled};
use kinst_base::probe::{Jump, When};
use kinst_dwarf::variables::term::Term;
use std::collections::BTreeSet;
use std::ops::Range;

/// 64-bit Arm, whose instructions are four bytes long.
#[derive(Debug)]
pub(crate) struct Arm64;

impl InstructionSet for Arm64 {
    /// Invalid words are steps too: the processor would trap there.
    fn steps<'c>(&self, code: &'c [u8], address: u64) -> Box<dyn Iterator<Item = Step> + 'c> {
        // Addresses must not overflow.
        let addresses = (0..).map_while(move |index: u64| address.checked_add(index * u64::from(LEN)));
        let step = |(word, address)| Step { address, len: LEN, control: flow::control(word, address) };
        Box::new(words(code).zip(addresses).map(step))
    }

    /// A nop, or zeros from the linker.
    fn fills(&self, bytes: &[u8]) -> bool {
        matches!(first(bytes), Some(flow::NOP | 0))
    }

    fn calls(&self, bytes: &[u8]) -> bool {
        first(bytes).is_some_and(flow::calls)
    }

    fn takes(&self, bytes: &[u8]) -> Takes {
        first(bytes).map_or(Takes::More, classes::takes)
    }

    fn writes(&self, bytes: &[u8]) -> bool {
        first(bytes).is_some_and(classes::writes)
    }

    fn text_with(&self, bytes: &[u8], address: u64, name: &dyn Fn(u64) -> Option<String>) -> String {
        first(bytes).map_or_else(|| "(bad)".to_owned(), |word| text::of(word, address, name))
    }

    fn refusal(&self, code: &[u8], _: u64) -> Option<Refusal> {
        classes::refusal(first(code))
    }

    fn deciding(&self, code: &[u8], _: u64) -> Vec<Operand> {
        deciding::deciding(code)
    }

    fn guarded(&self, code: &[u8], at: usize) -> Vec<u8> {
        guard::guarded(code, at)
    }

    /// No driver has such notes: kinst/sdt.h is only for x86-64.
    fn argument(&self, _: &[u8], _: u64, _: u8) -> Option<Term> {
        None
    }

    fn operand(&self, text: &str, bytes: u8, around: &Around<'_>) -> Result<Term, Unreadable> {
        operand::value(text, bytes, around)
    }

    /// `brk #0x800` (arch/arm64/include/asm/brk-imm.h, BUG_BRK_IMM).
    fn is_trap(&self, code: &[u8]) -> bool {
        first(code) == Some(flow::brk(0x800))
    }

    fn indirect_jumps(
        &self,
        code: &[u8],
        address: u64,
        data: &dyn Fn(u64, usize) -> Option<Vec<u8>>,
    ) -> Vec<IndirectJump> {
        tables::indirect_jumps(code, address, data)
    }

    fn uninterrupted(&self, code: &[u8]) -> BTreeSet<usize> {
        exclusive::indices(code)
    }

    fn branch(&self, code: &[u8]) -> Option<[When; 2]> {
        first(code).and_then(flow::branch)
    }

    fn jump(&self, code: &[u8], _: u64) -> Option<Jump> {
        let base = first(code).and_then(flow::jump)?;
        Some(Jump { base: Some(base), ..Jump::default() })
    }

    /// `brk #4` (arch/arm64/include/asm/brk-imm.h, KPROBES_BRK_IMM).
    fn breakpoint(&self, code: &[u8]) -> Option<usize> {
        (first(code) == Some(flow::brk(4))).then_some(LEN.into())
    }

    /// The second of two nops (-fpatchable-function-entry=2), after a bti. With two more nops before the
    /// function (=4,2), those are in the list (arch/arm64/kernel/ftrace.c, ftrace_call_adjust).
    fn ftrace_site(&self, code: &[u8], start: u64, listed: u64) -> Range<u64> {
        const BTI_C: u32 = 0xd503_245f;
        let nops = match (listed < start, first(code)) {
            (false, _) => listed,
            (true, Some(BTI_C)) => start.saturating_add(LEN.into()),
            (true, _) => start,
        };
        let call = nops.saturating_add(LEN.into());
        call..call.saturating_add(LEN.into())
    }

    fn ftrace_before(&self) -> u64 {
        8
    }

    fn unhandled(&self) -> &'static Unhandled {
        &super::unhandled::UNHANDLED
    }

    fn ftrace_entry(&self, code: &[u8], address: u64) -> Option<FtraceEntry> {
        /// `bti c` and `paciasp`, either of which may begin a function; then the link is saved, and a nop
        /// takes the place of the call.
        const MARKS: [u32; 2] = [0xd503_245f, 0xd503_233f];
        const KEEP_LINK: u32 = 0xaa1e_03e9;
        const NOP: u32 = 0xd503_201f;
        let word = |at: usize| code.get(at * LEN as usize..).and_then(first);
        let at = usize::from(word(0).is_some_and(|word| MARKS.contains(&word)));
        (word(at)? == KEEP_LINK).then_some(())?;
        let site = word(at + 1)?;
        match target(site, address.wrapping_add((at as u64 + 1) * u64::from(LEN))) {
            _ if site == NOP => Some(FtraceEntry::Nop),
            Some(to) => Some(FtraceEntry::Goes(to)),
            None => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_ftrace_has_where_functions_begin() {
        const KEEP_LINK: u32 = 0xaa1e_03e9;
        let entry = |words: &[u32]| {
            let code: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
            Arm64.ftrace_entry(&code, 0x1000)
        };
        assert_eq!(entry(&[KEEP_LINK, 0xd503_201f]), Some(FtraceEntry::Nop));
        assert_eq!(entry(&[0xd503_245f, KEEP_LINK, 0xd503_201f]), Some(FtraceEntry::Nop));
        // bl .+8
        assert_eq!(entry(&[KEEP_LINK, 0x9400_0002]), Some(FtraceEntry::Goes(0x100c)));
        for other in [&[0xd503_201f][..], &[KEEP_LINK], &[KEEP_LINK, 0xd65f_03c0], &[]] {
            assert_eq!(entry(other), None, "{other:x?}");
        }
    }

    /// One word in every 65,521, each also as a part of some code.
    #[test]
    fn any_words_are_read() {
        let mut code = Vec::new();
        for word in (0..=u32::MAX).step_by(65_521) {
            let bytes = word.to_le_bytes();
            for address in [0x1000, u64::MAX - 7] {
                assert!(!Arm64.text_with(&bytes, address, &|_| None).is_empty(), "{word:#x}");
                Arm64.refusal(&bytes, address);
                Arm64.takes(&bytes);
            }
            code.extend(bytes);
            if code.len() >= 1 << 12 {
                assert_eq!(Arm64.steps(&code, 0).count(), code.len() / 4);
                assert!(Arm64.steps(&code, u64::MAX - 16).count() < 8);
                Arm64.deciding(&code, 0);
                for jump in Arm64.indirect_jumps(&code, 0x1000, &|_, len| Some(vec![0; len])) {
                    assert!(jump.targets.is_sorted());
                }
                code.clear();
            }
        }
        assert_eq!(Arm64.text_with(&[0; 3], 0, &|_| None), "(bad)");
        assert_eq!(Arm64.steps(&[0; 3], 0).count(), 0);
    }
}
