//! sites/code/set.rs: a trait of instruction sets.

use std::collections::BTreeSet;
use std::ops::Range;

use super::deciding::Operand;
use super::operand::{Around, Unreadable};
use super::refusal::Refusal;
use kinst_base::probe::{Jump, When};
use kinst_dwarf::variables::term::{Register, Term};

/// Facts about the instructions of one kind of machine. All analysis of code is built on it.
///
/// `code` begins with the instruction in question, and may be longer; `address` is where it runs.
pub(crate) trait InstructionSet: Sync {
    /// Returns the control flow of `code`, instruction by instruction, up to the first bytes that do not decode.
    fn steps<'c>(&self, code: &'c [u8], address: u64) -> Box<dyn Iterator<Item = Step> + 'c>;

    /// Whether an instruction is padding between others: a nop or a trap.
    fn fills(&self, bytes: &[u8]) -> bool;

    /// Whether an instruction calls a function.
    fn calls(&self, bytes: &[u8]) -> bool;

    fn takes(&self, bytes: &[u8]) -> Takes;

    /// Whether an instruction writes memory other than the stack, or changes the processor's state: a
    /// compiler never moves such an instruction to a path on which it was not executed.
    fn writes(&self, bytes: &[u8]) -> bool;

    /// Disassembles in the GNU assembler's syntax; `name` returns the name of the target of a jump or call.
    fn text_with(&self, bytes: &[u8], address: u64, name: &dyn Fn(u64) -> Option<String>) -> String;

    /// Returns why the first instruction of `code` cannot have a breakpoint.
    fn refusal(&self, code: &[u8], address: u64) -> Option<Refusal>;

    /// Returns the operands that decide the branch at the end of a block; empty if unknown.
    fn deciding(&self, code: &[u8], address: u64) -> Vec<Operand>;

    /// Returns the value of this size that an instruction moves, which is how a driver's note encodes an argument.
    fn argument(&self, code: &[u8], address: u64, bytes: u8) -> Option<Term>;

    /// Returns the value of an operand in assembly, which is how the note of a program's static probe encodes an
    /// argument; one in memory is loaded with this size.
    fn operand(&self, text: &str, bytes: u8, around: &Around<'_>) -> Result<Term, Unreadable>;

    /// Returns the registers that the code of a function reads before it writes to them; `None` if that is not known.
    fn received(&self, _code: &[u8], _address: u64) -> Option<Vec<Register>> {
        None
    }

    /// Returns the registers that have the stack protector's guard at the instruction `at` bytes into a function, by
    /// their numbers in debug information. gcc takes the instructions of the check for one: its debug information says
    /// nothing about their effect on these registers until the last has been executed.
    fn guarded(&self, code: &[u8], at: usize) -> Vec<u8>;

    /// Whether it is the instruction of a WARN() or BUG().
    fn is_trap(&self, code: &[u8]) -> bool;

    /// Returns the indirect jumps of a section that stay in their function, by address. `data` reads the data
    /// at an address.
    fn indirect_jumps(
        &self,
        code: &[u8],
        address: u64,
        data: &dyn Fn(u64, usize) -> Option<Vec<u8>>,
    ) -> Vec<IndirectJump>;

    /// Returns the indices of the instructions of a function that may not be interrupted, and are not refused by themselves.
    fn uninterrupted(&self, _code: &[u8]) -> BTreeSet<usize> {
        BTreeSet::new()
    }

    /// Returns the hits at which a conditional branch is taken, and those at which it is not.
    fn branch(&self, code: &[u8]) -> Option<[When; 2]>;

    /// Returns the operand of an indirect jump; `None` if it is another instruction, or cannot be computed.
    fn jump(&self, code: &[u8], address: u64) -> Option<Jump>;

    /// Returns the length of a kprobe's breakpoint, if `code` begins with one.
    fn breakpoint(&self, code: &[u8]) -> Option<usize>;

    /// Returns the bytes that ftrace rewrites at the start of a function, from the address in the kernel's
    /// list. `code` is the function's code from `start` on.
    fn ftrace_site(&self, code: &[u8], start: u64, listed: u64) -> Range<u64>;

    /// Returns the maximum distance of that address before a function.
    fn ftrace_before(&self) -> u64;

    /// Returns the functions where a breakpoint does not reach the module's handler.
    fn unhandled(&self) -> &'static Unhandled;

    /// Returns ftrace's code at the beginning of a function; `None` if ftrace does not trace it.
    fn ftrace_entry(&self, code: &[u8], address: u64) -> Option<FtraceEntry>;
}

/// Functions where a breakpoint does not reach the module's handler, by name.
#[derive(Debug)]
pub(crate) struct Unhandled {
    /// Functions between a breakpoint and the handler.
    pub trap_path: &'static [&'static str],
    /// Functions that run while no trap is handled.
    pub no_trap: &'static [&'static str],
    /// The beginnings of more names of these.
    pub no_trap_names: &'static [&'static str],
    /// Code that compilers or alternatives substitute for returns and indirect calls, which is on the path too.
    pub thunks: &'static [Name],
}

/// A part of a name.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Name {
    Begins(&'static str),
    Has(&'static str),
}

impl Name {
    pub(crate) fn names(self, name: &str) -> bool {
        match self {
            Name::Begins(part) => name.starts_with(part),
            Name::Has(part) => name.contains(part),
        }
    }
}

/// ftrace's code at the beginning of a function.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FtraceEntry {
    /// Not traced now.
    Nop,
    /// A call or jump to the address: ftrace's, if that is in no function or in one of ftrace's functions.
    Goes(u64),
}

/// The control flow after an instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Control {
    Next,
    /// Goes to the address and returns.
    Call(u64),
    Jump(u64),
    /// Goes to the address or to the next instruction.
    Branch(u64),
    /// Goes through a pointer at a fixed address, never into the middle of a function.
    JumpThrough,
    /// Goes to an unknown target.
    JumpIndirect,
    Return,
    /// An instruction not meant to be executed: ud2, int3, brk.
    Trap,
}

/// An instruction: its address, its length, and its control flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Step {
    pub address: u64,
    pub len: u8,
    pub control: Control,
}

/// An indirect jump that stays in its function.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IndirectJump {
    pub at: u64,
    /// Sorted targets; empty if unknown.
    pub targets: Vec<u64>,
}

/// An estimate of the time an instruction takes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Takes {
    /// Almost none: it works on registers.
    Nothing,
    /// Almost none if memory is in the cache.
    Memory,
    /// A noticeable time: any other instruction, such as a division or a locked one.
    #[default]
    More,
}

impl Step {
    /// Returns the address of the next instruction.
    pub(crate) fn next(&self) -> u64 {
        self.address.saturating_add(self.len.into())
    }
}
