//! typeck/error/names.rs: messages about names that mean nothing, or something else.

use super::{Error, did_you_mean, error};
use crate::diag::{Diagnostic, tags};
use crate::vocabulary::callee;

impl Error {
    pub(super) fn of_names(&self) -> Option<Diagnostic> {
        Some(match self {
            Error::Undefined { name, similar, span } => {
                let diagnostic = error(tags::IDENT_UNDEF, format!("`{name}` is not defined"));
                let diagnostic = diagnostic.at(*span, "no variable of this name is assigned so far");
                did_you_mean(diagnostic, similar).help(format!(
                    "a variable begins to exist where it is assigned, in the order of the program: `{name} = …;`"
                ))
            }
            Error::Unassigned { name, similar, span } => {
                let diagnostic = error(tags::VAR_UNDEF, format!("`{name}` is read but nothing assigns it"));
                let diagnostic = diagnostic.at(*span, "not assigned or declared so far");
                did_you_mean(diagnostic, similar)
                    .help("assign it in this clause or in one before it, in the order of the program")
            }
            Error::FunctionUndefined { name, similar, span } => {
                callee::undefined(name, similar.as_deref(), *span)
            }
            Error::NotFunction { name, span } => callee::not_a_function(name, *span),
            Error::FunctionAsVariable { name, span } => {
                error(tags::IDENT_BADREF, format!("`{name}` is a function, not a variable"))
                    .at(*span, "used without being called")
                    .help(format!("call it: `{name}(…)`"))
            }
            Error::ArrayAsScalar { name, span } => {
                error(tags::IDENT_BADREF, format!("`{name}` is an array and needs an index"))
                    .at(*span, "used without an index")
                    .help(format!("name one element: `{name}[…]`"))
            }
            Error::BareScope { span } => {
                error(tags::IDENT_BADREF, "`self` and `this` are no values by themselves")
                    .at(*span, "a variable must follow")
                    .help("write `self->name` or `this->name`")
            }
            Error::TooManyVariables { span } => {
                error(tags::ID_OFLOW, "the program has more variables than DIF can number")
                    .at(*span, "one variable too many")
                    .note("each scope has 64,256 numbers for variables")
            }
            Error::LibraryVariable { name, why, span } => {
                let title = format!(
                    "`{name}` is not defined: its library was not read, or does not fit this kernel's types"
                );
                let diagnostic = error(tags::IDENT_UNDEF, title).at(*span, "a variable of a D library");
                match why {
                    Some(why) => diagnostic.note(why.clone()),
                    None => diagnostic.help("-xnolibs reads no libraries, and -xsyslibdir=DIR others than those that come with the compiler"),
                }
            }
            Error::Unsupported { what, span } => {
                error(tags::UNKNOWN, format!("{what} is not supported yet")).at(*span, "not supported yet")
            }
            _ => return None,
        })
    }
}
