//! typeck/error/assignments.rs: messages about assignments.

use super::text::error;
use crate::typeck::typed::Variable;
use kinst_base::diag::{Diagnostic, tags};
use kinst_base::source::Span;
use kinst_types::Type;

/// An assignment to something that cannot be written, or of a value that it cannot hold.
#[derive(Clone, Debug, PartialEq)]
pub enum Assignment {
    NotLvalue { span: Span },
    ReadOnly { name: String, span: Span },
    InPredicate { name: String, span: Span },
    Array { found: Type, span: Span },
    Type { expected: Type, found: Type, span: Span, declared: Option<(String, Span)> },
    NoValue { found: Type, span: Span },
    StepVoid { op: &'static str, found: Type, span: Span },
}

/// The warning that a variable which nothing declares is too small for what it gets.
pub(crate) fn narrowing(variable: &Variable, found: &Type, span: Span) -> Diagnostic {
    let Variable { scope, name, keys, ty, .. } = variable;
    let keys = keys.iter().map(|keys| {
        let keys: Vec<String> = keys.iter().map(Type::to_string).collect();
        format!("[{}]", keys.join(", "))
    });
    let scope = scope.prefix().replace("->", " ");
    let declaration = format!("{scope}{found} {name}{}", keys.collect::<String>());
    Diagnostic::warning(
        tags::OP_INCOMPAT,
        format!("{found} is cut to {ty}, the type of `{}`", variable.full_name()),
    )
    .at(span, format!("this is {found}"))
    .and(variable.span, "its first value determines the type")
    .help(format!("declare it before the clauses: `{declaration};`"))
}

impl Assignment {
    pub(super) fn diagnostic(&self) -> Diagnostic {
        match self {
            Self::NotLvalue { span } => {
                error(tags::OP_LVAL, "this cannot be assigned").at(*span, "neither a variable nor memory")
            }
            Self::ReadOnly { name, span } => error(tags::OP_WRITE, format!("`{name}` cannot be written"))
                .at(*span, "read only")
                .help("use a variable of your own, for example `this->value = …;`"),
            Self::InPredicate { name, span } => {
                error(tags::OP_WRITE, format!("`{name}` cannot be written, and a predicate compares"))
                    .at(*span, "read only")
                    .help(format!("`=` assigns; write `{name} == …`"))
            }
            Self::Array { found, span } => {
                let diagnostic = error(tags::OP_ARRFUN, format!("{found} cannot be assigned"));
                let diagnostic = diagnostic.at(*span, format!("this is {found}"));
                match found.is_string_compatible() {
                    true => diagnostic.help("to keep the string, assign its `stringof(…)`"),
                    false => diagnostic,
                }
            }
            Self::Type { expected, found, span, declared } => {
                let title = format!("{found} cannot be assigned to {expected}");
                let diagnostic = error(tags::OP_INCOMPAT, title).at(*span, format!("this is {found}"));
                match declared {
                    Some((name, at)) => {
                        diagnostic.and(*at, format!("`{name}` became {expected} here, for the whole program"))
                    }
                    None => diagnostic,
                }
            }
            Self::NoValue { found, span } => {
                let what =
                    if found.is_void() { "this has no value (void)" } else { "an aggregation has no value" };
                let diagnostic = error(tags::OP_INCOMPAT, format!("{what} to assign")).at(*span, "no value");
                match found.is_void() {
                    true => diagnostic,
                    false => diagnostic.help(
                        "D cannot read an aggregation; print it with printa(@name), or count in a variable",
                    ),
                }
            }
            Self::StepVoid { op, found, span } => {
                error(tags::OP_VFPTR, format!("`{op}` cannot step a {found}: what it points to has no size"))
                    .at(*span, format!("this is {found}"))
                    .help("cast the pointer to the type that it points to")
            }
        }
    }

    pub(super) fn is_about_void(&self) -> bool {
        match self {
            Self::Type { found, .. } | Self::NoValue { found, .. } => found.is_void(),
            Self::NotLvalue { .. }
            | Self::ReadOnly { .. }
            | Self::InPredicate { .. }
            | Self::Array { .. }
            | Self::StepVoid { .. } => false,
        }
    }
}
