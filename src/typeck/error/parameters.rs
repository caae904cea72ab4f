//! typeck/error/parameters.rs: messages about parameters of functions, inlines, arrays and probes.

use super::text::error;
use kinst_base::diag::{Diagnostic, tags};
use kinst_base::source::Span;
use kinst_types::Type;

/// An invalid parameter of a function, inline, associative array or probe.
#[derive(Clone, Debug, PartialEq)]
pub enum Parameter {
    Storage { span: Span },
    Void { kind: &'static str, span: Span },
    VoidName { kind: &'static str, span: Span },
    Type { kind: &'static str, found: Type, span: Span },
    Name { kind: &'static str, span: Span },
    Variadic { kind: &'static str, span: Span },
}

impl Parameter {
    pub(super) fn diagnostic(&self) -> Diagnostic {
        match self {
            Self::Storage { span } => {
                error(tags::DECL_PARMCLASS, "a parameter has no storage class").at(*span, "not allowed here")
            }
            Self::Void { kind, span } => {
                error(tags::DECL_PROTO_VOID, format!("void among other parameters of this {kind}"))
                    .at(*span, "no object can be void")
                    .help("`(void)` by itself means no parameters")
            }
            Self::VoidName { kind, span } => {
                error(tags::DECL_PROTO_NAME, format!("a void parameter of this {kind} has a name"))
                    .at(*span, "void has no value to name")
            }
            Self::Type { kind, found, span } => {
                let found = match found {
                    Type::Dynamic => "an associative array".to_string(),
                    found => found.to_string(),
                };
                error(tags::DECL_PROTO_TYPE, format!("a parameter of this {kind} cannot be {found}"))
                    .at(*span, format!("this is {found}"))
            }
            Self::Name { kind, span } => {
                error(tags::DECL_PROTO_NAME, format!("a parameter of this {kind} needs a name"))
                    .at(*span, "a name is missing after this")
            }
            Self::Variadic { kind, span } => error(
                tags::DECL_PROTO_VARARGS,
                format!("this {kind} cannot take a variable number of arguments"),
            )
            .at(*span, "followed by `...`"),
        }
    }
}
