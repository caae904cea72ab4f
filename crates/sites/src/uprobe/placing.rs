//! sites/uprobe/placing.rs: the rule by which an instruction is chosen for a probe.

use super::judge::{Way, judge};
use super::refused::Refused;
use crate::code::x86::shape;
use crate::flow::Flow;
use kinst_base::machine::Machine;
use kinst_os::uprobe::Nop5;

/// The function around a place, and the kernel that it runs on.
#[derive(Clone, Copy)]
pub struct Around<'f> {
    /// Control flow of the function.
    pub flow: &'f Flow,
    /// The kind of machine that the code is for.
    pub machine: Machine,
    /// Returns the code from an address on, with at least the instruction there.
    pub code: &'f dyn Fn(u64) -> Option<&'f [u8]>,
    /// Addresses that control may reach on ways that are not in the graph, sorted: landing pads of
    /// exceptions, and entries of copies.
    pub entries: &'f [u64],
    /// The kernel's behaviour at nops of five bytes.
    pub nop5: Nop5,
}

/// The instructions that may take a probe instead of the one that it describes, as far as no clause can see a
/// difference.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Freedom {
    /// None: a clause reads the place, or a stack.
    #[default]
    None,
    /// The next one after an instruction without effect, such as `endbr64`: clauses read registers or memory.
    PastMark,
    /// The next one: no clause reads what one instruction may change.
    Next,
    /// Any that is executed as often: the clauses only count.
    Block,
}

/// The place of a probe, and the freedom in choosing its instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wish {
    /// Address of the instruction that the probe describes.
    pub at: u64,
    /// The instructions that may take the probe instead.
    pub freedom: Freedom,
}

/// The instruction that gets the probe.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Placed {
    /// Address of the instruction.
    pub at: u64,
    /// How the kernel executes it.
    pub way: Way,
    /// Whether it is another instruction than the one of the wish.
    pub moved: bool,
}

/// Chooses the instruction for a probe.
///
/// It is the one of the wish, unless that cannot have a probe. Then it is the next one, if the clauses allow
/// it and control reaches it only from the refused one. If the clauses only count, it is the cheapest
/// instruction of the basic block that is executed exactly as often. A signal or a fault between the two
/// instructions may prevent the execution of one of them; calls, system calls and traps are never between.
pub fn place(around: &Around<'_>, wish: &Wish) -> Result<Placed, Refused> {
    if around.machine != Machine::X86_64 {
        return Err(Refused::Machine);
    }
    let insn = around.flow.insn_at(wish.at).ok_or(Refused::Inside)?;
    if wish.freedom == Freedom::Block
        && let Some(placed) = around.cheapest(insn)
    {
        return Ok(placed);
    }
    let following = || Some(around.following(insn)?).and_then(|next| Some((next, around.judge(next).ok()?)));
    let moved = |(next, way): (u32, Way)| Placed { at: around.flow.address[next as usize], way, moved: true };
    match around.judge(insn) {
        // A step over an instruction without effect costs ten times the emulation of the next one.
        Ok(Way::Stepped) if wish.freedom != Freedom::None && around.is_mark(insn) => {
            let next = following().filter(|(_, way)| *way == Way::Emulated);
            Ok(next.map_or(Placed { at: wish.at, way: Way::Stepped, moved: false }, moved))
        }
        Ok(way) => Ok(Placed { at: wish.at, way, moved: false }),
        Err(refused) => {
            let may_move =
                wish.freedom >= Freedom::Next || around.is_mark(insn) && wish.freedom != Freedom::None;
            following().filter(|_| may_move).map(moved).ok_or(refused)
        }
    }
}

impl Around<'_> {
    fn bytes(&self, insn: u32) -> &[u8] {
        (self.code)(self.flow.address[insn as usize]).unwrap_or_default()
    }

    fn judge(&self, insn: u32) -> Result<Way, Refused> {
        judge(self.machine, self.bytes(insn), self.nop5)
    }

    /// Whether an instruction has no effect on registers or memory.
    fn is_mark(&self, insn: u32) -> bool {
        is_without_effect(self.bytes(insn))
    }

    /// Whether control may go elsewhere than to the next instruction, or be away for long.
    fn leaves(&self, insn: u32) -> bool {
        shape(self.bytes(insn)).is_none_or(|shape| shape.leaves)
    }

    fn is_entered(&self, insn: u32) -> bool {
        self.entries.binary_search(&self.flow.address[insn as usize]).is_ok()
    }

    /// Returns the cheapest of the instructions that are executed exactly as often as this one; of several,
    /// the nearest.
    fn cheapest(&self, insn: u32) -> Option<Placed> {
        let block = &self.flow.blocks[self.flow.block[insn as usize] as usize];
        let mut equal = insn..insn + 1;
        while equal.start > block.first && !self.is_entered(equal.start) && !self.leaves(equal.start - 1) {
            equal.start -= 1;
        }
        while equal.end < block.end && !self.leaves(equal.end - 1) && !self.is_entered(equal.end) {
            equal.end += 1;
        }
        let judged = equal.filter_map(|other| Some((self.judge(other).ok()?, other.abs_diff(insn), other)));
        let (way, distance, chosen) = judged.min()?;
        Some(Placed { at: self.flow.address[chosen as usize], way, moved: distance != 0 })
    }

    /// Returns the next instruction, if control reaches it from this one and from nowhere else.
    fn following(&self, insn: u32) -> Option<u32> {
        let (flow, next) = (self.flow, insn + 1);
        let number = flow.block[insn as usize];
        if self.leaves(insn) || next as usize >= flow.len() || self.is_entered(next) {
            return None;
        }
        if next < flow.blocks[number as usize].end {
            return Some(next);
        }
        // A block may end for other reasons than a branch. Predecessors that seem unreachable count here:
        // they may be landing pads.
        let below = flow.block[next as usize];
        let others = (0..flow.blocks.len() as u32).filter(|other| *other != number);
        let is_lone = flow.next(number) == [below]
            && !flow.blocks[below as usize].is_root
            && others.into_iter().all(|other| !flow.next(other).contains(&below));
        is_lone.then_some(next)
    }
}

/// Whether code begins with `endbr64` or a nop.
fn is_without_effect(code: &[u8]) -> bool {
    const MARK: [u8; 4] = [0xf3, 0x0f, 0x1e, 0xfa];
    let opcode = code.iter().position(|byte| *byte != 0x66).map(|at| &code[at..]);
    code.starts_with(&MARK)
        || opcode.is_some_and(
            |code| matches!(code, [0x90, ..] | [0x0f, 0x1f, 0x00..=0x07 | 0x40..=0x47 | 0x80..=0x87, ..]),
        )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::flow::{Marks, Part};
    use Way::{Emulated, Stepped};

    const BASE: u64 = 0x1000;
    const CODE: [&[u8]; 17] = [
        &[0x55],                         // 00: push %rbp
        &[0x48, 0x89, 0xf8],             // 01: mov %rdi, %rax
        &[0xf0, 0x48, 0x0f, 0xc1, 0x06], // 04: lock xadd %rax, (%rsi)
        &[0x48, 0x83, 0xc0, 0x01],       // 09: add $1, %rax
        &[0x48, 0x83, 0xf8, 0x05],       // 0d: cmp $5, %rax
        &[0x75, 0x03],                   // 11: jne 16
        &[0xf0, 0xff, 0x07],             // 13: lock incl (%rdi)
        &[0x48, 0x89, 0x07],             // 16: mov %rax, (%rdi)
        &[0xe8, 0xe2, 0xff, 0xff, 0xff], // 19: call 00
        &[0x48, 0x89, 0xf9],             // 1e: mov %rdi, %rcx
        &[0xf0, 0xff, 0x0f],             // 21: lock decl (%rdi)
        &[0xf0, 0xff, 0x07],             // 24: lock incl (%rdi)
        &[0x48, 0x8d, 0x40, 0x01],       // 27: lea 1(%rax), %rax
        &[0x0f, 0x05],                   // 2b: syscall
        &[0xf0, 0xff, 0x0f],             // 2d: lock decl (%rdi)
        &[0xc3],                         // 30: ret
        &[0x90],                         // 31: nop, never reached
    ];

    /// Offset, whether the clauses allow the next instruction, whether they only count.
    type Asked = (u64, bool, bool);
    /// Offset, way, whether it is another instruction.
    type Answer = Result<(u64, Way, bool), Refused>;

    fn placed(cuts: &[u64], entries: &[u64], asked: Asked) -> Answer {
        let code = CODE.concat();
        let absolute = |offsets: &[u64]| offsets.iter().map(|at| BASE + at).collect::<Vec<_>>();
        let part = Part { address: BASE, code: &code };
        let flow = Flow::cut(part, &Marks::default(), &absolute(cuts), |_| None).unwrap();
        let bytes = |at: u64| code.get(usize::try_from(at.checked_sub(BASE)?).ok()?..);
        let around = Around {
            flow: &flow,
            machine: Machine::X86_64,
            code: &bytes,
            entries: &absolute(entries),
            nop5: Nop5::Overwritten,
        };
        let (at, may_move, counts_only) = asked;
        let freedom = match (may_move, counts_only) {
            (_, true) => Freedom::Block,
            (true, false) => Freedom::Next,
            (false, false) => Freedom::None,
        };
        let placed = place(&around, &Wish { at: BASE + at, freedom })?;
        Ok((placed.at - BASE, placed.way, placed.moved))
    }

    #[test]
    fn the_instruction_itself_or_the_next() {
        let cases: &[(Asked, Answer)] = &[
            ((0x00, false, false), Ok((0x00, Emulated, false))),
            ((0x01, true, false), Ok((0x01, Stepped, false))),
            ((0x04, true, false), Ok((0x09, Stepped, true))),
            ((0x04, false, false), Err(Refused::Lock)),
            // The next one is the target of a jump.
            ((0x13, true, false), Err(Refused::Lock)),
            // The next one is refused too.
            ((0x21, true, false), Err(Refused::Lock)),
            // The call may change anything.
            ((0x2b, true, false), Err(Refused::SystemCall)),
            ((0x2d, true, false), Ok((0x30, Stepped, true))),
            ((0x05, true, false), Err(Refused::Inside)),
            ((0x100, true, false), Err(Refused::Inside)),
        ];
        for (asked, expected) in cases {
            assert_eq!(placed(&[], &[], *asked), *expected, "{asked:x?}");
        }
    }

    #[test]
    fn the_cheapest_that_is_executed_as_often() {
        let cases: &[(Asked, Answer)] = &[
            ((0x00, true, true), Ok((0x00, Emulated, false))),
            ((0x01, true, true), Ok((0x00, Emulated, true))),
            ((0x04, true, true), Ok((0x00, Emulated, true))),
            ((0x0d, true, true), Ok((0x11, Emulated, true))),
            ((0x13, true, true), Err(Refused::Lock)),
            // The call itself, but nothing after it.
            ((0x16, true, true), Ok((0x19, Emulated, true))),
            ((0x1e, true, true), Ok((0x1e, Stepped, false))),
            ((0x21, true, true), Ok((0x1e, Stepped, true))),
            ((0x24, true, true), Ok((0x27, Stepped, true))),
            ((0x2b, true, true), Ok((0x27, Stepped, true))),
            ((0x2d, false, true), Ok((0x30, Stepped, true))),
        ];
        for (asked, expected) in cases {
            assert_eq!(placed(&[], &[], *asked), *expected, "{asked:x?}");
        }
    }

    #[test]
    fn marks_have_no_effect() {
        for mark in [&[0xf3, 0x0f, 0x1e, 0xfa][..], &[0x90], &[0x66, 0x90], &[0x0f, 0x1f, 0x44, 0, 0]] {
            assert!(is_without_effect(mark), "{mark:02x?}");
        }
        for other in [&[0xf3, 0x90][..], &[0x0f, 0x1e, 0xfa], &[0x55], &[0x48, 0x90], &[]] {
            assert!(!is_without_effect(other), "{other:02x?}");
        }
    }

    #[test]
    fn entries_from_elsewhere() {
        assert_eq!(placed(&[], &[0x30], (0x2d, true, false)), Err(Refused::Lock));
        assert_eq!(placed(&[], &[0x30], (0x2d, true, true)), Err(Refused::Lock));
        // The instructions before the entry are executed less often.
        assert_eq!(placed(&[], &[0x04], (0x04, true, true)), Ok((0x11, Emulated, true)));
        assert_eq!(placed(&[], &[0x11], (0x0d, true, true)), Ok((0x00, Emulated, true)));
    }

    #[test]
    fn blocks_that_end_without_a_branch() {
        assert_eq!(placed(&[0x09], &[], (0x04, true, false)), Ok((0x09, Stepped, true)));
        assert_eq!(placed(&[0x09], &[], (0x0d, true, true)), Ok((0x11, Emulated, true)));
        assert_eq!(placed(&[0x09], &[], (0x04, true, true)), Ok((0x00, Emulated, true)));
    }
}
