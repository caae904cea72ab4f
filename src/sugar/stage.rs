//! sugar/stage.rs: the descriptions that rewrites of bodies copy, before or after the expansion of aliases.

use crate::parser::ast::{ProbeDesc, ProbeDescKind};
use kinst_base::probe::Fields;
use kinst_base::source::Span;

/// A probe description, before or after the expansion of aliases.
pub(super) trait Stage: Clone {
    fn span(&self) -> Span;

    /// `dtrace:::ERROR`, which is not an alias.
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
