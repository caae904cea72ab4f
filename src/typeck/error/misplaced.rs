//! typeck/error/misplaced.rs: messages about calls without a value where a value is required.

use super::text::error;
use kinst_base::diag::{Diagnostic, tags};
use kinst_base::source::Span;

/// A call without a value where a value is required.
#[derive(Clone, Debug, PartialEq)]
pub enum Misplaced {
    Action { action: String, span: Span },
    Aggregating { function: String, span: Span },
}

impl Misplaced {
    pub(super) fn diagnostic(&self) -> Diagnostic {
        match self {
            Self::Action { action, span } => {
                error(tags::CG_EXPR, format!("the action {action}() cannot be part of an expression"))
                    .at(*span, "an action has no value")
                    .help(format!("make it a separate statement: `{action}(…);`"))
            }
            Self::Aggregating { function, span } => {
                let title = format!("the aggregating function {function}() has no value");
                error(tags::CG_EXPR, title)
                    .at(*span, "only an aggregation takes it")
                    .help(format!("assign it to an aggregation: `@name = {function}(…);`"))
            }
        }
    }
}
