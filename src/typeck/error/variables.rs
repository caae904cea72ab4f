//! typeck/error/variables.rs: messages about assignments, keys and indices.

use super::{Error, error};
use crate::diag::{Diagnostic, tags};

impl Error {
    pub(super) fn of_assignments(&self) -> Option<Diagnostic> {
        Some(match self {
            Error::NotLvalue { span } => {
                error(tags::OP_LVAL, "this cannot be assigned").at(*span, "not a variable, nor memory")
            }
            Error::ReadOnly { name, span } => error(tags::OP_WRITE, format!("`{name}` cannot be written"))
                .at(*span, "read only")
                .help("use a variable of your own, for example `this->value = …;`"),
            Error::ArrayAssign { found, span } => {
                let diagnostic = error(tags::OP_ARRFUN, format!("{found} cannot be assigned"));
                let diagnostic = diagnostic.at(*span, format!("this is {found}"));
                match found.is_string_compatible() {
                    true => diagnostic.help("to keep the text, assign `stringof(…)` of it"),
                    false => diagnostic,
                }
            }
            Error::AssignType { expected, found, span, declared } => {
                let title = format!("{found} cannot be assigned to {expected}");
                let diagnostic = error(tags::OP_INCOMPAT, title).at(*span, format!("this is {found}"));
                match declared {
                    Some((name, at)) => {
                        diagnostic.and(*at, format!("`{name}` became {expected} here, for the whole program"))
                    }
                    None => diagnostic,
                }
            }
            Error::NoValue { found, span, .. } => {
                let what =
                    if found.is_void() { "this has no value (void)" } else { "an aggregation has no value" };
                error(tags::OP_INCOMPAT, format!("{what} to assign")).at(*span, "no value")
            }
            Error::StepVoid { op, found, span } => {
                error(tags::OP_VFPTR, format!("`{op}` cannot step a {found}: what it points to has no size"))
                    .at(*span, format!("this is {found}"))
                    .help("cast the pointer to the type that it points to")
            }
            Error::PredicateNotScalar { found, span } => {
                let title = format!("a predicate must be an integer or a pointer, not {found}");
                let diagnostic = error(tags::PRED_SCALAR, title).at(*span, format!("this is {found}"));
                match found.is_string() {
                    true => diagnostic.help("compare it: `/ … != \"\"/`"),
                    false => diagnostic,
                }
            }
            _ => return None,
        })
    }

    pub(super) fn of_arrays(&self) -> Option<Diagnostic> {
        Some(match self {
            Error::LocalArray { name, span } => {
                error(tags::ARR_LOCAL, format!("`{name}` cannot be an associative array"))
                    .at(*span, "`this->` has no associative arrays")
                    .help(format!("use a thread-local one: `{}`", name.replace("this->", "self->")))
            }
            Error::SeveralIndices { span } => {
                error(tags::ARR_BADREF, "a pointer or a scalar array takes one index")
                    .at(*span, "several indices")
            }
            Error::OutOfBounds { index, len, span } => {
                error(tags::ARR_BOUNDS, format!("index {index} is beyond an array of {len}"))
                    .at(*span, format!("0 to {} are possible", len - 1))
            }
            Error::RegisterIndex { array, span } => error(
                tags::REGS_IDX,
                format!("the index of `{array}[]` must be an integer constant, 0 or more"),
            )
            .at(*span, "not such a constant"),
            Error::KeyCount { name, expected, found, span, declared } => {
                let keys = if *expected == 1 { "key" } else { "keys" };
                let title = format!("`{name}` has {expected} {keys}, not {found}");
                error(tags::PROTO_LEN, title)
                    .at(*span, format!("{found} given"))
                    .and(*declared, "first used so")
            }
            Error::KeyType { name, number, expected, found, span, declared } => {
                let title = format!("key {number} of `{name}` is {expected}, not {found}");
                error(tags::PROTO_ARG, title)
                    .at(*span, format!("this is {found}"))
                    .and(*declared, "first used so")
            }
            Error::KeyKind { name, number, span, declared } => {
                let title = format!("key {number} of `{name}` was of another kind before");
                error(tags::PROTO_ARG, title)
                    .at(*span, "stack, symbol and value keys do not mix")
                    .and(*declared, "first used so")
            }
            Error::KeyVoid { found, span } => error(tags::KEY_TYPE, format!("{found} cannot be a key"))
                .at(*span, format!("this is {found}")),
            _ => return None,
        })
    }
}
