//! sites/flow/block.rs: a basic block.

/// A basic block.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Block {
    pub first: u32,
    /// Index after its last instruction.
    pub end: u32,
    pub(super) next: (u32, u32),
    pub(super) previous: (u32, u32),
    /// Address outside the function to which the last instruction jumps.
    pub outside: Option<u64>,
    /// Whether control can come from outside: the start of the function, or code without visible predecessor.
    pub is_root: bool,
    pub ending: Ending,
    /// Its number in the dominator tree, and the end of the numbers below it.
    pub tree: (u32, u32),
}

/// The kind of a block's terminator.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Ending {
    /// An instruction that falls through, jumps, branches or returns.
    #[default]
    Plain,
    /// An instruction that may fault: its last edge is the fault's, unless it equals the usual one.
    Fault,
    /// A trap, not meant to be executed.
    Trap,
}

pub(super) const NONE: u32 = u32::MAX;

/// An instruction that ends a block.
pub(super) struct Turn {
    pub(super) insn: u32,
    pub(super) falls_through: bool,
    pub(super) to: Option<u64>,
    pub(super) ending: Ending,
}
