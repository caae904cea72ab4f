//! sugar/: [`ast::Program`](crate::parser::ast::Program) → [`plain::Program`]: the rewrites, in their order.

pub mod error_guard;
pub mod if_else;
pub mod inline_probes;
pub mod plain;
mod synth;

use crate::diag::Diagnostic;
use crate::parser::ast;
use crate::sites::SiteIndex;

pub use error_guard::Session;

/// Every rewrite once over one program. Each takes what the one before it makes, so that none can be left out. What a
/// clause means at each of its places is no rewrite of the text, but a question of types: typeck/place/fan_out.rs.
///
/// `session` is what earlier programs of the same run have already caused; the caller hands it on.
pub fn desugar(
    program: ast::Program,
    sites: &dyn SiteIndex,
    session: Session,
) -> Result<(plain::Program, Session), Vec<Diagnostic>> {
    // ast::Program → plain::Program<ast::ProbeDesc>: no `if`.
    let (program, session) = if_else::expand(program, session);
    // → plain::Program: no inline probes.
    let program = inline_probes::expand(program, sites)?;
    Ok((program, session))
}

/// With the descriptions as they were written, for a program that is only checked: no site is looked for.
pub fn as_written(program: ast::Program, session: Session) -> (plain::Program, Session) {
    let (program, session) = if_else::expand(program, session);
    (program.with_probes(|probes| probes.into_iter().map(plain::ProbeDesc::from).collect()), session)
}
