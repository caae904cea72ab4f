//! typeck/error/arrays.rs: messages about indices and keys.

use super::text::error;
use kinst_base::diag::{Diagnostic, tags};
use kinst_base::source::Span;
use kinst_types::Type;

/// An invalid index of an array, or key of an associative array or aggregation.
#[derive(Clone, Debug, PartialEq)]
pub enum Array {
    Local { name: String, span: Span },
    SeveralIndices { span: Span },
    OutOfBounds { index: i128, len: u64, span: Span },
    RegisterIndex { array: &'static str, span: Span },
    KeyCount { name: String, expected: usize, found: usize, span: Span, declared: Span },
    KeyType { name: String, number: usize, expected: Type, found: Type, span: Span, declared: Span },
    KeyKind { name: String, number: usize, span: Span, declared: Span },
    KeyVoid { found: Type, span: Span },
}

impl Array {
    pub(super) fn diagnostic(&self) -> Diagnostic {
        match self {
            Self::Local { name, span } => {
                error(tags::ARR_LOCAL, format!("`{name}` cannot be an associative array"))
                    .at(*span, "`this->` has no associative arrays")
                    .help(format!("use a thread-local one: `{}`", name.replace("this->", "self->")))
            }
            Self::SeveralIndices { span } => {
                error(tags::ARR_BADREF, "a pointer or a scalar array takes one index")
                    .at(*span, "several indices")
            }
            Self::OutOfBounds { index, len, span } => {
                let label = match len.checked_sub(1) {
                    Some(last) => format!("0 to {last} are possible"),
                    None => "it has no elements".to_owned(),
                };
                error(tags::ARR_BOUNDS, format!("index {index} is beyond an array of {len}")).at(*span, label)
            }
            Self::RegisterIndex { array, span } => error(
                tags::REGS_IDX,
                format!("the index of `{array}[]` must be an integer constant, 0 or more"),
            )
            .at(*span, "not such a constant"),
            Self::KeyCount { name, expected, found, span, declared } => {
                let keys = if *expected == 1 { "key" } else { "keys" };
                let title = format!("`{name}` has {expected} {keys}, not {found}");
                error(tags::PROTO_LEN, title)
                    .at(*span, format!("{found} given"))
                    .and(*declared, "its first use")
            }
            Self::KeyType { name, number, expected, found, span, declared } => {
                let title = format!("key {number} of `{name}` is {expected}, not {found}");
                error(tags::PROTO_ARG, title)
                    .at(*span, format!("this is {found}"))
                    .and(*declared, "its first use")
            }
            Self::KeyKind { name, number, span, declared } => {
                let title = format!("key {number} of `{name}` had another kind before");
                error(tags::PROTO_ARG, title)
                    .at(*span, "stack, symbol and value keys do not mix")
                    .and(*declared, "its first use")
            }
            Self::KeyVoid { found, span } => error(tags::KEY_TYPE, format!("{found} cannot be a key"))
                .at(*span, format!("this is {found}")),
        }
    }

    pub(super) fn is_about_void(&self) -> bool {
        match self {
            Self::KeyVoid { found, .. } => found.is_void(),
            Self::Local { .. }
            | Self::SeveralIndices { .. }
            | Self::OutOfBounds { .. }
            | Self::RegisterIndex { .. }
            | Self::KeyCount { .. }
            | Self::KeyType { .. }
            | Self::KeyKind { .. } => false,
        }
    }
}
