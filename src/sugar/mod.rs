//! sugar/: [`ast::Program`](crate::parser::ast::Program) → [`plain::Program`]: the rewrites, in their order.

pub mod aliases;
mod conditional;
pub mod error_guard;
pub mod if_else;
pub mod inline_probes;
pub mod plain;
mod synth;

use crate::diag::Diagnostic;
use crate::parser::ast;
use crate::sites::SiteIndex;

pub use aliases::Aliases;
pub use error_guard::Session;

/// Applies every rewrite once to one program whose aliases are expanded ([`Aliases::expand`]). Each takes the output of
/// the one before it, so that none can be left out. The meaning of a clause at each of its places is not a rewrite of
/// the text, but a question of types: typeck/place/fan_out.rs.
///
/// `session` is what earlier programs of the same run have already done; the caller passes it on.
pub fn desugar(
    program: ast::Program,
    sites: &dyn SiteIndex,
    session: Session,
) -> Result<(plain::Program, Session), Vec<Diagnostic>> {
    // ast::Program → plain::Program<ast::ProbeDesc>: no `if`, and no action as an arm of `?:`.
    let (program, session) = if_else::expand(program, session);
    // → plain::Program: no inline probes.
    let program = inline_probes::expand(program, sites)?;
    Ok((program, session))
}

/// Keeps the descriptions as they were written, for a program that is only checked: no sites are looked up.
pub fn as_written(program: ast::Program, session: Session) -> (plain::Program, Session) {
    let (program, session) = if_else::expand(program, session);
    (program.with_probes(|probes| probes.into_iter().map(plain::ProbeDesc::from).collect()), session)
}
