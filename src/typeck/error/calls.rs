//! typeck/error/calls.rs: messages about calls of subroutines and actions.

use super::text::{arguments, error};
use crate::vocabulary::{builtin, callee};
use kinst_base::diag::{Diagnostic, tags};
use kinst_base::source::Span;
use kinst_types::Type;

/// A call of something that is not a function, or with the wrong arguments.
#[derive(Clone, Debug, PartialEq)]
pub enum Call {
    Undefined { name: String, similar: Option<String>, span: Span },
    NotFunction { name: String, span: Span },
    ArgumentCount { function: String, found: usize, least: usize, most: Option<usize>, span: Span },
    Prefix { constant: bool, span: Span },
    ArgumentType { function: String, number: usize, expected: String, found: Type, span: Span },
}

impl Call {
    pub(super) fn diagnostic(&self) -> Diagnostic {
        match self {
            Self::Undefined { name, similar, span } => callee::undefined(name, similar.as_deref(), *span),
            Self::NotFunction { name, span } => callee::not_a_function(name, *span),
            Self::ArgumentCount { function, found, least, most, span } => {
                let expected = match most {
                    None => format!("at least {}", arguments(*least)),
                    Some(most) if most == least => arguments(*most),
                    Some(most) => format!("{least} to {}", arguments(*most)),
                };
                let title = format!("{function}() takes {expected}, not {found}");
                usage(error(tags::PROTO_LEN, title).at(*span, "wrong number of arguments"), function)
            }
            Self::Prefix { constant: true, span } => {
                error(tags::PROTO_ARG, "inet_ntoa6() always writes IPv4 addresses with their prefix")
                    .at(*span, "0 would drop the prefix")
                    .note("::ffff:127.0.0.1 rather than 127.0.0.1")
                    .help("without the prefix: `substr(t, rindex(t, \":\") + 1)` for such a string `t`")
            }
            Self::Prefix { constant: false, span } => {
                error(tags::PROTO_ARG, "argument 2 of inet_ntoa6() must be an integer constant")
                    .at(*span, "not a constant")
            }
            Self::ArgumentType { function, number, expected, found, span } => {
                let title = format!("argument {number} of {function}() must be {expected}, not {found}");
                usage(error(tags::PROTO_ARG, title).at(*span, format!("this is {found}")), function)
            }
        }
    }

    pub(super) fn is_about_void(&self) -> bool {
        match self {
            Self::ArgumentType { found, .. } => found.is_void(),
            Self::Undefined { .. }
            | Self::NotFunction { .. }
            | Self::Prefix { .. }
            | Self::ArgumentCount { .. } => false,
        }
    }
}

/// Adds the prototype of a subroutine as a note.
fn usage(diagnostic: Diagnostic, function: &str) -> Diagnostic {
    let Some(builtin::What::Subroutine(prototype)) = builtin::lookup(function).map(|entry| entry.what) else {
        return diagnostic;
    };
    let required = prototype.params.len() - prototype.optional;
    let params: Vec<String> = (prototype.params.iter().enumerate())
        .map(|(i, param)| if i < required { param.to_string() } else { format!("[{param}]") })
        .collect();
    diagnostic.note(format!("{} {function}({})", prototype.returns, params.join(", ")))
}
