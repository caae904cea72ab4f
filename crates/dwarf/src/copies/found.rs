//! dwarf/copies/found.rs: the inlined copies and the functions that a walk finds.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

use crate::entries::Evidence;
use crate::recurring::Recurring;
use crate::split::Missing;

/// One DW_TAG_inlined_subroutine; addresses are those of the [`kinst_debuginfo::ElfFile`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InlineCopy {
    /// Offset of the entry in .debug_info: the order of copies.
    pub die: u64,
    /// The offset of the function's definition.
    pub origin: u64,
    /// The function's path, in languages where it has one: `alloc::vec::Vec<u8>::push`.
    pub function: Option<Arc<str>>,
    /// DW_AT_entry_pc; the lowest address if the attribute is missing.
    pub entry_pc: u64,
    /// The addresses where its calls begin, ascending; not empty.
    pub entries: Vec<u64>,
    /// The source of `entries`.
    pub evidence: Evidence,
    /// The addresses where rows of the unit's line table begin, ascending, if known.
    pub rows: Arc<[u64]>,
    /// Statements that recur; searched for only without markers.
    pub recurring: Recurring,
    /// Sorted, disjoint and non-empty; no ranges for a copy whose instructions were all optimised away.
    pub ranges: Vec<Range<u64>>,
    /// The place of the call, if the walk was to determine it.
    pub call: Option<CallSite>,
}

impl InlineCopy {
    /// The first entry in the order of addresses.
    pub fn entry(&self) -> u64 {
        self.entries.first().copied().unwrap_or_default()
    }
}

/// The place of a call in the source.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CallSite {
    /// Path without the compilation directory: `mm/gup.c`; `??` if unknown.
    pub file: String,
    /// DW_AT_call_line; 0 if missing.
    pub line: u64,
}

/// The debug information's facts about one wanted name.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Function {
    /// Whether there is a definition, not only declarations.
    pub defined: bool,
    /// Whether a definition has been inlined, or could be.
    pub inline: bool,
    /// The copies in the order of the debug information.
    pub copies: Vec<InlineCopy>,
    /// Second halves of a partly inlined function (`f.part.0` back in `f`): not separate calls.
    pub split_tails: usize,
    /// Copies without any address.
    pub without_address: usize,
}

/// The result of one walk.
#[derive(Clone, Debug, Default)]
pub struct Findings {
    /// The functions in the order of the wanted names.
    pub functions: Vec<Function>,
    /// The parts that could not be read, one line per unit.
    pub damaged: Vec<String>,
    /// The missing files with split debug information, and the number of units that each has.
    pub missing: BTreeMap<Missing, usize>,
}

/// The result of a walk for all functions.
#[derive(Clone, Debug, Default)]
pub struct AllFindings {
    /// The functions that were inlined, or could be; by name.
    pub functions: Vec<(String, Function)>,
    /// The parts that could not be read, one line per unit.
    pub damaged: Vec<String>,
}
