//! sugar/passes.rs: the rewrites, in their order.

use super::aliases::Aliases;
use super::inline_probes::{MakeIndex, Stopped};
use super::{conditional, if_else, inline_probes, plain};
use crate::parser::ast;
use crate::sites::Places;

/// The inputs of the rewrites besides the programs.
#[derive(Clone, Copy)]
pub struct Env<'a> {
    pub aliases: &'a Aliases,
    pub places: &'a dyn Places,
    pub index: &'a MakeIndex<'a>,
    /// Option zdefs: descriptions that match nothing stay as they are.
    pub zdefs: bool,
}

/// Applies every rewrite once to the programs of a run. Each takes the output of the one before it.
///
/// The order:
/// - Aliases come first: an alias has a condition, which becomes part of the predicate before `if` splits the clause,
///   and values, which may decide a `?:`. Its places may be inline probes.
/// - `?:` between actions becomes `if`, so it comes before `if`.
/// - `if` splits a clause into parts with the same descriptions, which is simpler while they are few.
/// - Inline probes come last: they make many descriptions of one, and their index is for all programs together.
///
/// The meaning of a clause at each of its places is no rewrite of the text, but follows from types: fan_out.rs of typeck.
pub fn desugar(programs: Vec<ast::Program>, env: &Env<'_>) -> Result<Vec<plain::Program>, Stopped> {
    let programs = env.aliases.expand(programs, env.places, env.zdefs)?;
    let programs = conditional::expand(programs);
    let programs = if_else::expand(programs);
    inline_probes::expand(programs, env.index, env.zdefs)
}

/// Keeps the descriptions as they were written, for programs that are only checked, together: nothing is looked up.
pub fn as_written(programs: Vec<ast::Program>) -> plain::Program {
    let programs = if_else::expand(conditional::expand(programs)).into_iter();
    let written = |probes: Vec<ast::ProbeDesc>| probes.into_iter().map(plain::ProbeDesc::from).collect();
    plain::Program { items: programs.flat_map(|program| program.with_probes(written).items).collect() }
}
