//! dwarf/copies/: the inlined copies of functions: one walk over all units.

pub(super) mod finder;
pub(super) mod mention;
pub(super) mod names;
pub(super) mod scan;
pub mod walk;

use std::ops::Range;

/// One DW_TAG_inlined_subroutine; addresses are those of the [`Image`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InlineCopy {
    /// Offset of the entry in .debug_info: the order of copies.
    pub die: u64,
    /// The address where it is entered, if that is given; otherwise where its code begins.
    pub entry: u64,
    /// Whether `entry` is where control enters: the debug information gives it, or its compiler would have given it if
    /// it were not where the code begins. Otherwise it is only the lowest address.
    pub entry_is_exact: bool,
    /// Sorted, disjoint, not empty; there are none for a copy whose instructions were all optimised away.
    pub ranges: Vec<Range<u64>>,
    /// The place of the call, if the walk was to find it.
    pub call: Option<CallSite>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CallSite {
    pub file: String,
    pub line: u64,
}

/// The facts about one wanted name in the debug information.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Function {
    /// Whether there is a definition, not only declarations.
    pub defined: bool,
    /// Whether a definition has been inlined, or could be.
    pub inline: bool,
    /// The copies in the order of the debug information.
    pub copies: Vec<InlineCopy>,
    /// Second halves of a partly inlined function (`f.part.0` back in `f`): not calls of their own.
    pub split_tails: usize,
    /// Copies without any address.
    pub without_address: usize,
}

/// The result of one walk.
#[derive(Clone, Debug, Default)]
pub struct Findings {
    /// The functions in the order of the wanted names.
    pub functions: Vec<Function>,
    pub units: usize,
    /// The parts that could not be read, one line for each unit.
    pub damaged: Vec<String>,
}

/// The result of a walk for all functions.
#[derive(Clone, Debug, Default)]
pub struct AllFindings {
    /// The functions that were inlined, or could be; by name.
    pub functions: Vec<(String, Function)>,
    pub damaged: Vec<String>,
}
