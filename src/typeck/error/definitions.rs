//! typeck/error/definitions.rs: messages about structs, enums and inlines.

use super::text::{error, operand};
use kinst_base::diag::{Diagnostic, tags};
use kinst_base::source::Span;
use kinst_types::Type;

/// An invalid definition of a struct, union, enum or inline.
#[derive(Clone, Debug, PartialEq)]
pub enum Definition {
    TagRedefined { name: String, span: Span, declared: Span },
    MemberTwice { name: String, span: Span },
    Incomplete { found: Type, span: Span },
    LargeRecord { name: String, span: Span },
    BitsConstant { span: Span },
    BitsType { found: Type, span: Span },
    BitsSize { bits: u64, most: u64, found: Type, span: Span },
    EnumeratorConstant { span: Span },
    EnumeratorRange { span: Span },
    EnumeratorTwice { name: String, span: Span },
    InlineType { expected: Type, found: Type, span: Span },
    TooManyExpansions { most: u32, span: Span },
}

impl Definition {
    pub(super) fn diagnostic(&self) -> Diagnostic {
        match self {
            Self::TagRedefined { name, span, declared } => {
                error(tags::DECL_TYPERED, format!("`{name}` is already defined"))
                    .at(*span, "defined again")
                    .and(*declared, "defined here")
            }
            Self::MemberTwice { name, span } => {
                error(tags::UNKNOWN, format!("two members are called `{name}`")).at(*span, "the second one")
            }
            Self::Incomplete { found, span } => {
                error(tags::DECL_INCOMPLETE, format!("the size of {found} is not known here"))
                    .at(*span, "an object of this type")
                    .help("define the type first, or declare a pointer to it")
            }
            Self::LargeRecord { name, span } => error(tags::DECL_ARRBIG, format!("{name} is too large"))
                .at(*span, "with this member it has more than 2^32 - 1 bytes"),
            Self::BitsConstant { span } => {
                error(tags::DECL_BFCONST, "the size of a bit-field must be a positive integer constant")
                    .at(*span, "not such a constant")
            }
            Self::BitsType { found, span } => {
                operand(tags::DECL_BFTYPE, "a bit-field must be an integer".into(), found, *span)
            }
            Self::BitsSize { bits, most, found, span } => {
                error(tags::DECL_BFSIZE, format!("a bit-field of {bits} bits is larger than its type"))
                    .at(*span, format!("{found} has {most} bits"))
            }
            Self::EnumeratorConstant { span } => {
                error(tags::DECL_ENCONST, "the value of an enumerator must be an integer constant")
                    .at(*span, "not such a constant")
            }
            Self::EnumeratorRange { span } => {
                error(tags::DECL_ENOFLOW, "the value of the enumerator does not fit an int")
                    .at(*span, "below -2147483648 or above 2147483647")
            }
            Self::EnumeratorTwice { name, span } => {
                error(tags::UNKNOWN, format!("two enumerators are called `{name}`"))
                    .at(*span, "the second one")
            }
            Self::InlineType { expected, found, span } => {
                error(tags::OP_INCOMPAT, format!("the inline is {expected}, but its value is {found}"))
                    .at(*span, format!("this is {found}"))
            }
            Self::TooManyExpansions { most, span } => {
                error(tags::UNKNOWN, format!("inlines are expanded more than {most} times"))
                    .at(*span, "the limit is reached here")
                    .help("keep parts of the result in clause-local variables (this->x)")
            }
        }
    }

    pub(super) fn is_about_void(&self) -> bool {
        match self {
            Self::InlineType { found, .. } => found.is_void(),
            Self::TagRedefined { .. }
            | Self::MemberTwice { .. }
            | Self::Incomplete { .. }
            | Self::LargeRecord { .. }
            | Self::BitsConstant { .. }
            | Self::BitsType { .. }
            | Self::BitsSize { .. }
            | Self::EnumeratorConstant { .. }
            | Self::EnumeratorRange { .. }
            | Self::EnumeratorTwice { .. }
            | Self::TooManyExpansions { .. } => false,
        }
    }
}
