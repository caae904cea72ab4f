//! typeck/error/aggregating.rs: messages about aggregating functions and their arguments.

use super::text::{error, operand};
use kinst_base::diag::{Diagnostic, Tag, tags};
use kinst_base::source::Span;
use kinst_types::Type;

/// An aggregating function that is missing or rejects its arguments.
#[derive(Clone, Debug, PartialEq)]
pub enum Aggregating {
    Missing { span: Span },
    NotScalar { function: &'static str, found: Type, span: Span },
    Quantize { tag: Tag, title: String, span: Span },
}

impl Aggregating {
    pub(super) fn diagnostic(&self) -> Diagnostic {
        match self {
            Self::Missing { span } => error(tags::AGG_NULL, "an aggregation by itself does nothing")
                .at(*span, "no function is applied")
                .help("feed it with `@name = count();` or print it with `printa(@name);`"),
            Self::NotScalar { function, found, span } => operand(
                tags::AGG_SCALAR,
                format!("{function}() aggregates integers and pointers, not {found}"),
                found,
                *span,
            ),
            Self::Quantize { tag, title, span } => error(*tag, title.clone()).at(*span, "here"),
        }
    }

    pub(super) fn is_about_void(&self) -> bool {
        match self {
            Self::NotScalar { found, .. } => found.is_void(),
            Self::Missing { .. } | Self::Quantize { .. } => false,
        }
    }
}
