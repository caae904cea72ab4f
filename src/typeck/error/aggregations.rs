//! typeck/error/aggregations.rs: messages about aggregations and their functions.

use super::{Error, arguments, did_you_mean, error, operand};
use crate::diag::{Diagnostic, tags};

impl Error {
    pub(super) fn of_aggregations(&self) -> Option<Diagnostic> {
        Some(match self {
            Error::AggregationInExpression { span } => {
                error(tags::CG_EXPR, "assigning an aggregation is a statement, not an expression")
                    .at(*span, "cannot be part of an expression")
            }
            Error::AggregationUpdate { span } => {
                error(tags::OP_INCOMPAT, "an aggregation is only assigned with `=`")
                    .at(*span, "an aggregation")
                    .help("aggregating functions add up by themselves: `@name = sum(…);`")
            }
            Error::BareAggregation { span } => error(tags::AGG_NULL, "an aggregation alone does nothing")
                .at(*span, "no function is applied")
                .help("feed it with `@name = count();` or print it with `printa(@name);`"),
            Error::AggregationDimensions { span } => {
                error(tags::AGG_MDIM, "an aggregation has one list of keys")
                    .at(*span, "two pairs of brackets")
                    .help("write the keys in one list: `@name[a, b]`")
            }
            Error::AggregationRedefined { name, function, before, span, declared } => {
                let title = format!("`@{name}` cannot have both {before}() and {function}()");
                error(tags::AGG_REDEF, title)
                    .at(*span, format!("{function}() here"))
                    .and(*declared, format!("{before}() here"))
                    .help("use an aggregation of another name")
            }
            Error::NotAggregating { found, span } => {
                let title = match found {
                    Some(function) => format!("{function}() is not an aggregating function"),
                    None => "an aggregation takes the call of an aggregating function".to_string(),
                };
                error(tags::AGG_FUNC, title)
                    .at(*span, "not an aggregating function")
                    .help("count() sum() avg() min() max() stddev() quantize() lquantize() llquantize()")
            }
            Error::AggregatedScalar { function, found, span } => operand(
                tags::AGG_SCALAR,
                format!("{function}() aggregates integers and pointers, not {found}"),
                found,
                *span,
            ),
            Error::Quantize { tag, title, span } => error(*tag, title.clone()).at(*span, "here"),
            Error::NotAggregation { tag, name, span } => {
                error(*tag, format!("{name}() needs an aggregation by its name, without keys"))
                    .at(*span, "not the name of an aggregation")
                    .help(format!("write `{name}(@name)`"))
            }
            Error::AggregationUndefined { tag, aggregation, similar, span } => {
                let diagnostic = error(*tag, format!("nothing is assigned to `@{aggregation}`"));
                let similar = similar.as_ref().map(|similar| format!("@{similar}"));
                did_you_mean(diagnostic.at(*span, "not assigned so far"), &similar)
            }
            Error::AggregationArgCount { tag, action, expected, found, span } => {
                error(*tag, format!("{action}() takes {expected}"))
                    .at(*span, format!("{} given", arguments(*found)))
            }
            _ => return None,
        })
    }
}
