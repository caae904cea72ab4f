//! base/diag/diagnostic.rs: a diagnostic: one cause, its places in D text, and help.

use super::tag::Tag;
use super::tags;
use crate::source::Span;

/// The weight of a diagnostic.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Severity {
    /// Work on the program or file stops.
    Error,
    /// Work continues.
    Warning,
}

/// A piece of D text that a message points at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Label {
    /// Bytes that are underlined.
    pub span: Span,
    /// Text beside the underline; may be empty.
    pub text: String,
    /// Whether this is the place of the error itself; the others explain it.
    pub primary: bool,
}

/// One cause, one message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Diagnostic {
    /// Stable tag: `D_DIV_ZERO`.
    pub tag: Tag,
    /// Color of the title, and the word before it.
    pub severity: Severity,
    /// One sentence, lower case, no full stop, without place or tag.
    pub title: String,
    /// Places in D text; empty if the cause is not in D text.
    pub labels: Vec<Label>,
    /// Facts that explain the error.
    pub notes: Vec<String>,
    /// The next step, something to paste where possible.
    pub help: Vec<String>,
}

impl Diagnostic {
    /// An error without a place; the title is as in [`Diagnostic::title`].
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

    /// Makes the error that the parser reports for a constant, and the checker for a named constant.
    pub fn division_by_zero(span: Span) -> Diagnostic {
        Diagnostic::error(tags::DIV_ZERO, "division by zero").at(span, "this is 0")
    }

    /// A warning without a place; the title is as in [`Diagnostic::title`].
    pub fn warning(tag: Tag, title: impl Into<String>) -> Diagnostic {
        Diagnostic { severity: Severity::Warning, ..Diagnostic::error(tag, title) }
    }

    /// Adds the place of the error itself.
    pub fn at(mut self, span: Span, text: impl Into<String>) -> Diagnostic {
        self.labels.push(Label { span, text: text.into(), primary: true });
        self
    }

    /// Adds another place, which explains the error.
    pub fn and(mut self, span: Span, text: impl Into<String>) -> Diagnostic {
        self.labels.push(Label { span, text: text.into(), primary: false });
        self
    }

    /// Adds a fact that explains the error.
    pub fn note(mut self, text: impl Into<String>) -> Diagnostic {
        self.notes.push(text.into());
        self
    }

    /// Adds a next step, or something to paste.
    pub fn help(mut self, text: impl Into<String>) -> Diagnostic {
        self.help.push(text.into());
        self
    }
}
