//! typeck/error/specs.rs: messages about type specifiers.

use super::text::{did_you_mean, error};
use kinst_base::diag::{Diagnostic, tags};
use kinst_base::source::Span;

/// A type name that is unknown, or specifiers that do not make a type.
#[derive(Clone, Debug, PartialEq)]
pub enum TypeSpec {
    Unknown { name: String, similar: Option<String>, span: Span },
    NoModule { name: String, module: String, span: Span },
    BadMix { span: Span },
    CharLength { span: Span },
    SignedNonInteger { span: Span },
    VoidModified { span: Span },
    LongNonArithmetic { span: Span },
}

impl TypeSpec {
    pub(super) fn diagnostic(&self) -> Diagnostic {
        match self {
            Self::Unknown { name, similar, span } => {
                let diagnostic = error(tags::UNKNOWN, format!("type `{name}` is not defined"));
                did_you_mean(diagnostic.at(*span, "unknown type"), similar)
            }
            Self::NoModule { name, module, span } => error(
                tags::UNKNOWN,
                format!("type `{name}` is not defined: the kernel has no module `{module}`"),
            )
            .at(*span, "unknown type")
            .help(format!("load the module first, if it exists: modprobe {module}")),
            Self::BadMix { span } => {
                error(tags::DECL_COMBO, "invalid combination of type specifiers").at(*span, "this type")
            }
            Self::CharLength { span } => {
                error(tags::DECL_CHARATTR, "char is neither short nor long").at(*span, "this type")
            }
            Self::SignedNonInteger { span } => {
                error(tags::DECL_SIGNINT, "only an integer is signed or unsigned").at(*span, "this type")
            }
            Self::VoidModified { span } => {
                error(tags::DECL_VOIDATTR, "void is neither signed nor short nor long").at(*span, "this type")
            }
            Self::LongNonArithmetic { span } => {
                error(tags::DECL_LONGINT, "only an integer or floating-point type is long")
                    .at(*span, "this type")
            }
        }
    }
}
