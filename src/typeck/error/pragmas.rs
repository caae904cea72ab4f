//! typeck/error/pragmas.rs: messages about pragmas.

use super::text::{did_you_mean, error};
use kinst_base::diag::{Diagnostic, tags};
use kinst_base::source::Span;

/// A pragma with an unknown word, or about a name that pragmas may not describe.
#[derive(Clone, Debug, PartialEq)]
pub enum Pragma {
    Word { what: &'static str, found: String, similar: Option<String>, span: Span },
    Scope { name: String, span: Span },
    Unused { name: String, span: Span },
    Dependency { class: String, name: String, span: Span },
}

impl Pragma {
    pub(super) fn diagnostic(&self) -> Diagnostic {
        match self {
            Self::Word { what, found, similar, span } => {
                let diagnostic = error(tags::PRAGMA_INVAL, format!("invalid {what} `{found}`"));
                did_you_mean(diagnostic.at(*span, format!("unknown {what}")), similar)
            }
            Self::Scope { name, span } => {
                error(tags::PRAGMA_SCOPE, format!("`{name}` is not defined by this program"))
                    .at(*span, "the name belongs to D itself")
            }
            Self::Unused { name, span } => {
                error(tags::PRAGMA_UNUSED, format!("the pragma names `{name}`, which nothing declares"))
                    .at(*span, "never declared")
            }
            Self::Dependency { class, name, span } => {
                let diagnostic = error(
                    tags::PRAGMA_DEPEND,
                    format!("the program depends on {class} `{name}`, which is missing"),
                )
                .at(*span, "the dependency");
                match class.as_str() {
                    "library" => diagnostic.note("only a library can depend on a library"),
                    _ => diagnostic,
                }
            }
        }
    }
}
