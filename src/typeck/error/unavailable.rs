//! typeck/error/unavailable.rs: messages about parts of D that a program cannot use.

use super::text::error;
use kinst_base::attributes::Attributes;
use kinst_base::diag::{Diagnostic, Tag, tags};
use kinst_base::source::Span;

/// A part of D that is not supported, does not exist on Linux, or is less stable than the program may use.
#[derive(Clone, Debug, PartialEq)]
pub enum Unavailable {
    NotYet { what: String, span: Span },
    Absent { tag: Tag, what: String, reason: &'static str, span: Span },
    Library { name: &'static str, why: Option<String>, span: Span },
    Unstable { what: String, found: Attributes, least: Attributes, span: Span },
}

impl Unavailable {
    pub(super) fn diagnostic(&self) -> Diagnostic {
        match self {
            Self::NotYet { what, span } => {
                error(tags::UNKNOWN, format!("{what} is not supported yet")).at(*span, "not supported yet")
            }
            Self::Absent { tag, what, reason, span } => {
                error(*tag, format!("{what} does not exist on Linux"))
                    .at(*span, "not on this system")
                    .note(*reason)
            }
            Self::Library { name, why, span } => {
                let title = format!(
                    "`{name}` is not defined: its library was not read, or does not fit this kernel's types"
                );
                let diagnostic = error(tags::IDENT_UNDEF, title).at(*span, "a variable of a D library");
                match why {
                    Some(why) => diagnostic.note(why.clone()),
                    None => diagnostic
                        .help("-xnolibs skips all libraries, and -xsyslibdir=DIR replaces the built-in ones"),
                }
            }
            Self::Unstable { what, found, least, span } => {
                error(tags::ATTR_MIN, format!("{what} is less stable than -x amin requires"))
                    .at(*span, format!("this is {found}"))
                    .help(format!("use something that is {least} at least, or set a lower -x amin"))
            }
        }
    }
}
