//! typeck/error/declarations.rs: messages about declarations of variables and types.

use super::text::{Declared, error};
use kinst_base::diag::{Diagnostic, tags};
use kinst_base::source::Span;
use kinst_types::Type;

/// An invalid declaration.
#[derive(Clone, Debug, PartialEq)]
pub enum Declaration {
    BadStorage { span: Span },
    Useless { span: Span },
    Scoped { span: Span },
    LocalArray { name: String, span: Span },
    VoidObject { span: Span },
    EmptyArray { name: String, span: Span },
    ArrayLength { span: Span },
    ArrayTooBig { span: Span },
    ArrayObject { span: Span },
    Redeclared { name: String, declared: Declared<Type>, span: Span },
}

impl Declaration {
    pub(super) fn diagnostic(&self) -> Diagnostic {
        match self {
            Self::BadStorage { span } => {
                error(tags::DECL_BADCLASS, "a variable of D is global, `self` or `this`")
                    .at(*span, "not a class of a D variable")
            }
            Self::Useless { span } => {
                error(tags::DECL_USELESS, "the declaration declares nothing").at(*span, "a name is missing")
            }
            Self::Scoped { span } => {
                error(tags::DECL_SCOPE, "a declared name cannot have a scope").at(*span, "has a backtick")
            }
            Self::LocalArray { name, span } => {
                error(tags::DECL_LOCASSC, format!("`{name}` cannot be an associative array"))
                    .at(*span, "`this` has no associative arrays")
                    .help("declare it with `self`, or global")
            }
            Self::VoidObject { span } => {
                error(tags::DECL_VOIDOBJ, "a variable cannot be void").at(*span, "declared void")
            }
            Self::EmptyArray { name, span } => error(tags::DECL_ARRNULL, format!("`{name}` needs a length"))
                .at(*span, "an array without a length"),
            Self::ArrayLength { span } => {
                error(tags::DECL_ARRSUB, "the length of an array must be a positive integer constant")
                    .at(*span, "not such a constant")
            }
            Self::ArrayTooBig { span } => {
                error(tags::DECL_ARRBIG, "the array is too large").at(*span, "more than 2^32 - 1 elements")
            }
            Self::ArrayObject { span } => {
                error(tags::DECL_DYNOBJ, "an associative array cannot be part of another type")
                    .at(*span, "only a variable can be one")
            }
            Self::Redeclared { name, declared, span } => {
                let diagnostic = error(tags::DECL_IDRED, format!("`{name}` is already declared"));
                let diagnostic = diagnostic.at(*span, "declared again");
                match declared {
                    Some((ty, at)) => diagnostic.and(*at, format!("here, as {ty}")),
                    None => diagnostic.note("the name belongs to D itself"),
                }
            }
        }
    }
}
