//! sugar/: [`ast::Program`](crate::parser::ast::Program) → [`plain::Program`]: the ordered table of passes.

pub mod error_guard;
pub mod if_else;
pub mod inline_probes;
pub mod plain;
mod synth;

use crate::diag::Diagnostic;
use crate::parser::ast;
use crate::sites::SiteIndex;

pub use error_guard::Session;

/// A pass over the plain tree.
type Pass = fn(plain::Program, &dyn SiteIndex) -> Result<plain::Program, Vec<Diagnostic>>;

/// The passes that follow if_else, in their order: a row a pass.
const PASSES: &[Pass] = &[inline_probes::expand];

/// Runs every pass once over one program.
///
/// `session` is what earlier programs of the same run have already caused; the caller hands it on.
pub fn desugar(
    program: ast::Program,
    sites: &dyn SiteIndex,
    session: Session,
) -> Result<(plain::Program, Session), Vec<Diagnostic>> {
    let (mut plain, session) = if_else::expand(program, session);
    for pass in PASSES {
        plain = pass(plain, sites)?;
    }
    Ok((plain, session))
}
