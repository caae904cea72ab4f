//! sugar/passes.rs: the rewrites, in their order.

use super::aliases::Aliases;
use super::inline_probes::{MakeIndex, Stopped};
use super::{conditional, if_else, inline_probes, plain};
use crate::parser::ast;
use kinst_sites::Places;

/// The inputs of the rewrites, except the programs.
#[derive(Clone, Copy)]
pub struct Env<'a> {
    /// The aliases that the libraries define.
    pub aliases: &'a Aliases,
    /// The kernel's probes, which determine the available places of an alias.
    pub places: &'a dyn Places,
    /// Makes the index of inlined copies, if a program names one.
    pub index: &'a MakeIndex<'a>,
    /// Option zdefs: descriptions that match nothing are unchanged.
    pub zdefs: bool,
}

/// Applies every rewrite once to the programs of a run. Each takes the output of the preceding one, which has
/// a separate type, so that none can be left out.
///
/// The order:
/// - Aliases come first: the condition of an alias becomes part of the predicate, which `if` moves to another clause,
///   and the parts of a clause must follow each other at each group of an alias's places.
/// - `?:` between actions becomes `if`, so it comes before `if`.
/// - Inline probes come last: the places of an alias may include some, and one index serves all programs.
///
/// The meaning of a clause at each of its places is not a rewrite of the text, but follows from types:
/// fan_out.rs of typeck.
pub fn desugar(programs: Vec<ast::Program>, env: &Env<'_>) -> Result<Vec<plain::Program>, Stopped> {
    // ast::Program<ast::ProbeDesc> → ast::Program<Unaliased>
    let programs = env.aliases.expand(programs, env.places, env.zdefs)?;
    // → Branched<Unaliased>
    let programs = conditional::expand(programs);
    // → plain::Program<Unaliased>
    let programs = if_else::expand(programs);
    // → plain::Program<plain::ProbeDesc>
    inline_probes::expand(programs, env.index, env.zdefs)
}

/// Leaves the descriptions as written, for programs that are only checked, together: nothing is looked up.
pub fn as_written(programs: Vec<ast::Program>) -> plain::Program<ast::ProbeDesc> {
    let programs = if_else::expand(conditional::expand(programs)).into_iter();
    plain::Program { items: programs.flat_map(|program| program.items).collect() }
}
