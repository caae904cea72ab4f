//! typeck/error/text.rs: parts that the messages of several subjects share.

use kinst_base::diag::{Diagnostic, Tag};
use kinst_base::source::Span;
use kinst_types::Type;

/// The place where a variable was declared, and its type there.
pub(super) type Declared<T> = Option<(T, Span)>;

pub(super) fn error(tag: Tag, title: impl Into<String>) -> Diagnostic {
    Diagnostic::error(tag, title)
}

pub(super) fn operand(tag: Tag, title: String, found: &Type, span: Span) -> Diagnostic {
    error(tag, title).at(span, format!("this is {found}"))
}

pub(super) fn did_you_mean(diagnostic: Diagnostic, similar: &Option<String>) -> Diagnostic {
    match similar {
        Some(similar) => diagnostic.help(format!("did you mean `{similar}`?")),
        None => diagnostic,
    }
}

pub(super) fn because(diagnostic: Diagnostic, why: &Option<String>) -> Diagnostic {
    match why {
        Some(why) => diagnostic.note(why.clone()),
        None => diagnostic,
    }
}

pub(super) fn arguments(count: usize) -> String {
    match count {
        0 => "no arguments".into(),
        1 => "1 argument".into(),
        count => format!("{count} arguments"),
    }
}
