//! typeck/error/providers.rs: messages about declarations of providers.

use super::text::error;
use kinst_base::diag::{Diagnostic, tags};
use kinst_base::source::Span;
use kinst_types::Type;

/// An invalid declaration of a provider or its probes.
#[derive(Clone, Debug, PartialEq)]
pub enum Provider {
    Name { name: String, span: Span },
    ProbeTwice { name: String, span: Span },
    ProbeArguments { most: usize, span: Span },
    TranslatedParameter { name: String, span: Span },
    ProbeTranslator { input: Type, output: Type, span: Span },
    Redefined { name: String, span: Span },
}

impl Provider {
    pub(super) fn diagnostic(&self) -> Diagnostic {
        match self {
            Self::Name { name, span } => {
                error(tags::PROV_BADNAME, format!("`{name}` cannot be the name of a provider"))
                    .at(*span, "at most 63 bytes, no backtick, no digit at the end")
            }
            Self::ProbeTwice { name, span } => {
                error(tags::PROV_PRDUP, format!("two probes are called `{name}`")).at(*span, "the second one")
            }
            Self::ProbeArguments { most, span } => {
                error(tags::PROV_PRARGLEN, format!("a probe has at most {most} arguments"))
                    .at(*span, "this one has more")
            }
            Self::TranslatedParameter { name, span } => {
                error(tags::DECL_PROTO_FORM, format!("`{name}` is not a parameter of the probe's input"))
                    .at(*span, "not in the first list")
                    .help("a translated parameter has the name of its source parameter")
            }
            Self::ProbeTranslator { input, output, span } => {
                error(tags::PROV_PRXLATOR, format!("no translator from {input} to {output}"))
                    .at(*span, "translated here")
            }
            Self::Redefined { name, span } => {
                error(tags::PROV_INCOMPAT, format!("provider `{name}` is already defined with other probes"))
                    .at(*span, "defined again")
            }
        }
    }
}
