//! typeck/error/translators.rs: messages about translators and what they translate.

use super::text::{did_you_mean, error, operand};
use kinst_base::diag::{Diagnostic, tags};
use kinst_base::source::Span;
use kinst_types::Type;

/// An invalid definition or use of a translator.
#[derive(Clone, Debug, PartialEq)]
pub enum Translator {
    Output { found: Type, span: Span },
    Redefined { output: Type, input: Type, span: Span, declared: Span },
    Member { member: String, record: Type, similar: Option<String>, span: Span },
    Type { member: String, expected: Type, found: Type, span: Span },
    Missing { output: Type, input: Type, span: Span },
    NotTranslated { member: String, record: Type, span: Span, declared: Span },
    Value { found: Type, span: Span },
}

impl Translator {
    pub(super) fn diagnostic(&self) -> Diagnostic {
        match self {
            Self::Output { found, span } => {
                let title = "the output of a translator must be a defined struct or union".to_string();
                operand(tags::XLATE_SOU, title, found, *span)
            }
            Self::Redefined { output, input, span, declared } => {
                error(tags::XLATE_REDECL, format!("a translator from {input} to {output} is already defined"))
                    .at(*span, "defined again")
                    .and(*declared, "defined here")
            }
            Self::Member { member, record, similar, span } => {
                let diagnostic = error(tags::XLATE_MEMB, format!("{record} has no member `{member}`"));
                did_you_mean(diagnostic.at(*span, "no such member"), similar)
            }
            Self::Type { member, expected, found, span } => error(
                tags::XLATE_INCOMPAT,
                format!("member `{member}` is {expected}, but its value is {found}"),
            )
            .at(*span, format!("this is {found}")),
            Self::Missing { output, input, span } => {
                error(tags::XLATE_NONE, format!("no translator from {input} to {output}"))
                    .at(*span, "translated here")
                    .help("define one: translator output < input name > { member = value; };")
            }
            Self::NotTranslated { member, record, span, declared } => error(
                tags::XLATE_NOCONV,
                format!("the translator does not define member `{member}` of {record}"),
            )
            .at(*span, "used here")
            .and(*declared, "the translator"),
            Self::Value { found, span } => {
                error(tags::CG_DYN, format!("a translated {found} is not a value"))
                    .at(*span, "only its members exist")
                    .help("use a member of it")
            }
        }
    }

    pub(super) fn is_about_void(&self) -> bool {
        match self {
            Self::Type { found, .. } => found.is_void(),
            Self::Output { .. }
            | Self::Redefined { .. }
            | Self::Member { .. }
            | Self::Missing { .. }
            | Self::NotTranslated { .. }
            | Self::Value { .. } => false,
        }
    }
}
