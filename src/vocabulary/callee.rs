//! vocabulary/callee.rs: names that can be called, and the errors for other names.

use super::builtin::{self, Version, What};
use super::{constants, peers};
use kinst_base::diag::{Diagnostic, suggest, tags};
use kinst_base::source::Span;

/// Returns why this name cannot be called in a version of the language, or `None` if it can. `declared`:
/// whether the program itself declares it.
pub(crate) fn check(name: &str, version: Option<Version>, span: Span, declared: bool) -> Option<Diagnostic> {
    let callable = builtin::lookup_in(name, version).map(|entry| is_function(entry.what));
    match callable {
        Some(true) => None,
        None if !declared && constants::lookup(name).is_none() => {
            let newer = builtin::lookup(name).is_some();
            let diagnostic = undefined(name, similar(name).filter(|_| !newer).as_deref(), span);
            Some(match newer {
                true => diagnostic.note("the language added it after the version that option version names"),
                false => diagnostic,
            })
        }
        _ => Some(not_a_function(name, span)),
    }
}

/// Returns the function that a misspelt name may have meant.
pub(crate) fn similar(name: &str) -> Option<String> {
    let functions = builtin::TABLE.iter().filter(|entry| is_function(entry.what));
    suggest::nearest(name, functions.map(|entry| entry.name)).map(str::to_string)
}

pub(crate) fn undefined(name: &str, similar: Option<&str>, span: Span) -> Diagnostic {
    let diagnostic = Diagnostic::error(tags::FUNC_UNDEF, format!("function `{name}` is not defined"))
        .at(span, "unknown function");
    if let Some(here) = peers::function(name) {
        return diagnostic.help(here);
    }
    match similar {
        Some(similar) => diagnostic.help(format!("did you mean `{similar}()`?")),
        None => diagnostic,
    }
}

pub(crate) fn not_a_function(name: &str, span: Span) -> Diagnostic {
    Diagnostic::error(tags::FUNC_IDKIND, format!("`{name}` is a variable, not a function"))
        .at(span, "cannot be called")
}

fn is_function(what: What) -> bool {
    match what {
        What::Subroutine(_) | What::Action(_) | What::Aggregating(_) => true,
        What::Variable { .. } | What::Array(_) | What::Library => false,
    }
}
