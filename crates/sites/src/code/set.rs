//! sites/code/set.rs: what is asked of the instructions of a kind of machine.

use std::ops::Range;

use super::deciding::Operand;
use super::refusal::Refusal;
use kinst_base::probe::{Jump, When};
use kinst_dwarf::variables::term::Term;

/// What is known of the instructions of one kind of machine. All else that is found in code is found with it.
///
/// `code` begins with the instruction that is meant, and may be longer; `address` is where it runs.
pub(crate) trait InstructionSet: Sync {
    /// The control flow of `code`, instruction by instruction, up to the first bytes that do not decode.
    fn steps<'c>(&self, code: &'c [u8], address: u64) -> Box<dyn Iterator<Item = Step> + 'c>;

    /// Whether an instruction is one that fills the room between others: a nop, or a trap.
    fn fills(&self, bytes: &[u8]) -> bool;

    /// Whether an instruction calls a function.
    fn calls(&self, bytes: &[u8]) -> bool;

    fn takes(&self, bytes: &[u8]) -> Takes;

    /// Whether an instruction writes memory other than the stack, or changes the processor: a compiler never moves one to a
    /// path on which it would not be executed.
    fn writes(&self, bytes: &[u8]) -> bool;

    /// The instruction as the GNU assembler has it; `name` returns the name of the target of a jump or call.
    fn text_with(&self, bytes: &[u8], address: u64, name: &dyn Fn(u64) -> Option<String>) -> String;

    /// Why no breakpoint may be put on the first instruction of `code`.
    fn refusal(&self, code: &[u8], address: u64) -> Option<Refusal>;

    /// The operands that decide where the branch at the end of a block goes; empty if they are not known.
    fn deciding(&self, code: &[u8], address: u64) -> Vec<Operand>;

    /// The value of so many bytes that an instruction moves: how a driver's note has an argument.
    fn argument(&self, code: &[u8], address: u64, bytes: u8) -> Option<Term>;

    /// Whether it is the instruction that a WARN() or BUG() consists of.
    fn is_trap(&self, code: &[u8]) -> bool;

    /// The indirect jumps of a section that do not leave their function, by address. `data` reads what is at an address.
    fn indirect_jumps(
        &self,
        code: &[u8],
        address: u64,
        data: &dyn Fn(u64, usize) -> Option<Vec<u8>>,
    ) -> Vec<IndirectJump>;

    /// The hits of a conditional branch at which it is taken, and those at which it is not.
    fn branch(&self, code: &[u8]) -> Option<[When; 2]>;

    /// The operand of an indirect jump; `None` if it is none, or cannot be calculated.
    fn jump(&self, code: &[u8], address: u64) -> Option<Jump>;

    /// The length of the breakpoint that kprobes put on an instruction, if `code` begins with one.
    fn breakpoint(&self, code: &[u8]) -> Option<usize>;

    /// What ftrace rewrites at the start of a function, by the address that the kernel's list has for it. `code` is that
    /// of the function, which begins at `start`.
    fn ftrace_site(&self, code: &[u8], start: u64, listed: u64) -> Range<u64>;

    /// How far before a function that address may be.
    fn ftrace_before(&self) -> u64;

    /// The code that ftrace has at the beginning of a function; `None` if it does not trace it.
    fn ftrace_entry(&self, code: &[u8], address: u64) -> Option<FtraceEntry>;
}

/// The code at the beginning of a function that ftrace traces.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FtraceEntry {
    /// Nothing traces it now.
    Nop,
    /// A call of, or a jump to, the address: ftrace's if that is in no function, or in one of its own.
    Goes(u64),
}

/// The control flow after an instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Control {
    Next,
    /// Goes to the address and comes back.
    Call(u64),
    Jump(u64),
    /// Goes to the address or to the next instruction.
    Branch(u64),
    /// Goes through a pointer at a fixed address, never into the middle of a function.
    JumpThrough,
    /// Goes to an unknown target.
    JumpIndirect,
    Return,
    /// An instruction that is not meant to be executed: ud2, int3, brk.
    Trap,
}

/// An instruction's address, its length, and where control goes after it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Step {
    pub address: u64,
    pub len: u8,
    pub control: Control,
}

/// An indirect jump within a function.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IndirectJump {
    pub at: u64,
    /// Empty if they are not known; sorted.
    pub targets: Vec<u64>,
}

/// How little time an instruction takes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Takes {
    /// About none: it works on registers.
    Nothing,
    /// About none, if memory is in the cache.
    Memory,
    /// A noticeable time: any other instruction, such as a division or a locked one.
    #[default]
    More,
}

impl Step {
    /// The address of the instruction after it.
    pub(crate) fn next(&self) -> u64 {
        self.address.saturating_add(self.len.into())
    }
}
