//! base/diag/diagnostic.rs: a diagnostic: one cause, its places in D text, and help.

use super::tag::Tag;
use super::tags;
use crate::source::Span;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Severity {
    Error,
    Warning,
}

/// A piece of D text that a message points at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Label {
    pub span: Span,
    pub text: String,
    /// Whether this is the place of the error itself; others explain it.
    pub primary: bool,
}

/// One cause, one message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Diagnostic {
    pub tag: Tag,
    pub severity: Severity,
    /// One sentence, lower case, no full stop, without place or tag.
    pub title: String,
    pub labels: Vec<Label>,
    /// Facts that explain the error.
    pub notes: Vec<String>,
    /// What to do next, something to paste where possible.
    pub help: Vec<String>,
}

impl Diagnostic {
    pub fn error(tag: Tag, title: impl Into<String>) -> Diagnostic {
        Diagnostic {
            tag,
            severity: Severity::Error,
            title: title.into(),
            labels: Vec::new(),
            notes: Vec::new(),
            help: Vec::new(),
        }
    }

    /// Makes the error that the parser reports for a constant, and the checker for a name of one.
    pub fn division_by_zero(span: Span) -> Diagnostic {
        Diagnostic::error(tags::DIV_ZERO, "division by zero").at(span, "this is 0")
    }

    pub fn warning(tag: Tag, title: impl Into<String>) -> Diagnostic {
        Diagnostic { severity: Severity::Warning, ..Diagnostic::error(tag, title) }
    }

    /// Adds the place of the error itself.
    pub fn at(mut self, span: Span, text: impl Into<String>) -> Diagnostic {
        self.labels.push(Label { span, text: text.into(), primary: true });
        self
    }

    /// Adds another place that explains it.
    pub fn and(mut self, span: Span, text: impl Into<String>) -> Diagnostic {
        self.labels.push(Label { span, text: text.into(), primary: false });
        self
    }

    pub fn note(mut self, text: impl Into<String>) -> Diagnostic {
        self.notes.push(text.into());
        self
    }

    pub fn help(mut self, text: impl Into<String>) -> Diagnostic {
        self.help.push(text.into());
        self
    }
}
