//! sugar/stage.rs: the requirements of the rewrites of bodies on descriptions, which they copy whatever rewrites these have passed.

use crate::parser::ast::{ProbeDesc, ProbeDescKind};
use kinst_base::probe::Fields;
use kinst_base::source::Span;

/// A probe description, before or after the expansion of aliases.
pub(super) trait Stage: Clone {
    fn span(&self) -> Span;

    /// `dtrace:::ERROR`, which is of no alias.
    fn on_error(span: Span) -> Self;
}

impl Stage for ProbeDesc {
    fn span(&self) -> Span {
        self.span
    }

    fn on_error(span: Span) -> ProbeDesc {
        let fields = Fields { provider: "dtrace".to_owned(), name: "ERROR".to_owned(), ..Fields::default() };
        ProbeDesc { kind: ProbeDescKind::Fields(Box::new(fields)), span }
    }
}
