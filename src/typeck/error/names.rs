//! typeck/error/names.rs: messages about names without a meaning, or with another one.

use super::text::{did_you_mean, error};
use crate::vocabulary::peers;
use kinst_base::diag::{Diagnostic, tags};
use kinst_base::source::Span;

/// The likely purpose of a name without a meaning.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Meant {
    Variable,
    /// The name of a variable of the kernel.
    Kernel,
    /// A string without its quotes.
    Text,
}

/// A name that has no meaning where it is used.
#[derive(Clone, Debug, PartialEq)]
pub enum Name {
    Undefined { name: String, similar: Option<String>, meant: Meant, span: Span },
    Unassigned { name: String, similar: Option<String>, span: Span },
    ElementsUnknown { name: String, span: Span },
    FunctionAsVariable { name: String, span: Span },
    ArrayAsScalar { name: String, span: Span },
    BareScope { span: Span },
    TooManyVariables { span: Span },
    Register { name: String, of: &'static str, machine: &'static str, span: Span },
}

impl Name {
    pub(super) fn diagnostic(&self) -> Diagnostic {
        match self {
            Self::Undefined { name, similar, meant, span } => undefined(name, similar, *meant, *span),
            Self::Unassigned { name, similar, span } => {
                let diagnostic = error(tags::VAR_UNDEF, format!("`{name}` is read before it is assigned"));
                let diagnostic = diagnostic.at(*span, "not assigned or declared so far");
                did_you_mean(diagnostic, similar).help("assign it in this clause or an earlier one")
            }
            Self::ElementsUnknown { name, span } => {
                let title = format!("the type of the elements of `{name}` is unknown");
                error(tags::VAR_UNDEF, title)
                    .at(*span, "read before the first assignment, which does not determine it either")
                    .help(format!("declare the array before the clauses, as in `int {name}[string];`"))
            }
            Self::FunctionAsVariable { name, span } => {
                error(tags::IDENT_BADREF, format!("`{name}` is a function, not a variable"))
                    .at(*span, "used without being called")
                    .help(format!("call it: `{name}(…)`"))
            }
            Self::ArrayAsScalar { name, span } => {
                error(tags::IDENT_BADREF, format!("`{name}` is an array and needs an index"))
                    .at(*span, "used without an index")
                    .help(format!("name one element: `{name}[…]`"))
            }
            Self::BareScope { span } => {
                error(tags::IDENT_BADREF, "`self` and `this` are not values by themselves")
                    .at(*span, "a variable must follow")
                    .help("write `self->name` or `this->name`")
            }
            Self::Register { name, of, machine, span } => error(
                tags::IDENT_BADREF,
                format!("`{name}` is a register of {of}, but the kernel is for {machine}"),
            )
            .at(*span, "not a register there")
            .help("args[N] and locals->NAME read the registers that have variables"),
            Self::TooManyVariables { span } => {
                error(tags::ID_OFLOW, "the program has more variables than DIF can number")
                    .at(*span, "one variable too many")
                    .note("each scope has at most 64,256 variables")
            }
        }
    }
}

fn undefined(name: &str, similar: &Option<String>, meant: Meant, span: Span) -> Diagnostic {
    let diagnostic = error(tags::IDENT_UNDEF, format!("`{name}` is not defined"));
    let diagnostic = diagnostic.at(span, "no variable of this name is assigned so far");
    if let Some(here) = peers::variable(name) {
        return diagnostic.help(here);
    }
    let diagnostic = match meant {
        Meant::Kernel => {
            diagnostic.help(format!("write the kernel's variable of this name with a backquote: `{name}"))
        }
        Meant::Text => {
            return did_you_mean(diagnostic, similar)
                .help(format!("a string is written in double quotes: \"{name}\""));
        }
        Meant::Variable => did_you_mean(diagnostic, similar),
    };
    diagnostic.help(format!("a variable exists from its first assignment on: `{name} = …;`"))
}
