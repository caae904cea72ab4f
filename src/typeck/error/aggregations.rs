//! typeck/error/aggregations.rs: messages about assignments to aggregations.

use super::text::error;
use kinst_base::diag::{Diagnostic, tags};
use kinst_base::source::Span;

/// An invalid assignment to an aggregation.
#[derive(Clone, Debug, PartialEq)]
pub enum Aggregation {
    InExpression { span: Span },
    Update { span: Span },
    Dimensions { span: Span },
    Redefined { name: String, function: String, before: &'static str, span: Span, declared: Span },
    NotAggregating { found: Option<String>, span: Span },
}

impl Aggregation {
    pub(super) fn diagnostic(&self) -> Diagnostic {
        match self {
            Self::InExpression { span } => {
                error(tags::CG_EXPR, "assigning an aggregation is a statement, not an expression")
                    .at(*span, "cannot be part of an expression")
            }
            Self::Update { span } => error(tags::OP_INCOMPAT, "an aggregation is only assigned with `=`")
                .at(*span, "an aggregation")
                .help("aggregating functions add up by themselves: `@name = sum(…);`"),
            Self::Dimensions { span } => error(tags::AGG_MDIM, "an aggregation has one list of keys")
                .at(*span, "two pairs of brackets")
                .help("write the keys in one list: `@name[a, b]`"),
            Self::Redefined { name, function, before, span, declared } => {
                let title = format!("`{name}` cannot have both {before}() and {function}()");
                error(tags::AGG_REDEF, title)
                    .at(*span, format!("{function}() here"))
                    .and(*declared, format!("{before}() here"))
                    .help("use an aggregation with another name")
            }
            Self::NotAggregating { found, span } => {
                let title = match found {
                    Some(function) => format!("{function}() is not an aggregating function"),
                    None => "an aggregation is assigned a call of an aggregating function".to_string(),
                };
                error(tags::AGG_FUNC, title)
                    .at(*span, "not an aggregating function")
                    .help("count() sum() avg() min() max() stddev() quantize() lquantize() llquantize()")
            }
        }
    }
}
