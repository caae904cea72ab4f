//! typeck/error/: what can be wrong with a program that parses; one enum a file, one message a variant.

mod actions;
mod aggregating;
mod aggregations;
mod arguments;
mod arrays;
mod assignments;
mod calls;
mod declarations;
mod definitions;
mod formats;
mod kernel;
mod locals;
mod memory;
mod misplaced;
mod names;
mod operators;
mod parameters;
mod pragmas;
mod providers;
mod specs;
mod traces;
mod translators;
mod unavailable;

use crate::diag::{Diagnostic, Tag};
use crate::source::Span;
use crate::types::Type;

pub use actions::Action;
pub use aggregating::Aggregating;
pub use aggregations::Aggregation;
pub use arguments::Args;
pub use arrays::Array;
pub use assignments::{Assignment, narrowing};
pub use calls::Call;
pub use declarations::Declaration;
pub use definitions::Definition;
pub use formats::Format;
pub use kernel::Kernel;
pub use locals::{Absence, Local, Unknown};
pub use memory::{Argument, Memory};
pub use misplaced::Misplaced;
pub use names::{Meant, Name};
pub use operators::Operator;
pub use parameters::Parameter;
pub use pragmas::Pragma;
pub use providers::Provider;
pub use specs::TypeSpec;
pub use traces::Trace;
pub use translators::Translator;
pub use unavailable::Unavailable;

/// Where a variable was declared, and its type there.
type Declared<T> = Option<(T, Span)>;

/// An error in a program, by its subject. Each subject is an enum that has a message for each of its variants and
/// converts into a `Box<Error>`. Errors of actions are subjects of their own (`is_of_action`).
#[derive(Clone, Debug, PartialEq)]
pub enum Error {
    Name(Name),
    Unavailable(Unavailable),
    Kernel(Kernel),
    Args(Args),
    Local(Local),
    Call(Call),
    Misplaced(Misplaced),
    Operator(Operator),
    Memory(Memory),
    Assignment(Assignment),
    Array(Array),
    Aggregation(Aggregation),
    Aggregating(Aggregating),
    Trace(Trace),
    Action(Action),
    Format(Format),
    Declaration(Declaration),
    TypeSpec(TypeSpec),
    Definition(Definition),
    Parameter(Parameter),
    Pragma(Pragma),
    Translator(Translator),
    Provider(Provider),
    /// An error about a void value, where that value is a misplaced call.
    OfAction {
        error: Box<Error>,
        action: Misplaced,
    },
}

impl Error {
    /// Whether a name is used that is not assigned so far.
    pub fn is_undefined(&self) -> bool {
        matches!(self, Error::Name(Name::Undefined { .. } | Name::Unassigned { .. }))
    }

    /// Whether the descriptions of a clause have different `args[]`, so that each must be checked alone.
    pub fn is_of_several_probes(&self) -> bool {
        matches!(self, Error::Args(Args::Differ { .. }))
    }

    /// Whether another place may have what this one lacks: a variable of the kernel's code, or a parameter.
    pub fn is_of_place(&self) -> bool {
        match self {
            Error::Local(Local::NoScope { .. } | Local::Absent { .. }) | Error::Args(Args::Index { .. }) => {
                true
            }
            Error::Local(Local::Undefined { unknown, .. }) => unknown.elsewhere.is_some(),
            _ => false,
        }
    }

    pub fn is_undefined_aggregation(&self) -> bool {
        matches!(self, Error::Name(Name::Undefined { name, .. }) if name.starts_with('@'))
    }

    /// Whether an action takes an aggregation that is not assigned so far.
    pub fn is_unassigned_aggregation(&self) -> bool {
        matches!(self, Error::Action(Action::AggregationUndefined { .. }))
    }

    /// Whether an action or aggregating function rejects its arguments. Such an error is reported only if all
    /// expressions of the clause are correct.
    pub fn is_of_action(&self) -> bool {
        match self {
            Error::OfAction { error, .. } => error.is_of_action(),
            Error::Misplaced(_)
            | Error::Aggregating(_)
            | Error::Trace(_)
            | Error::Action(_)
            | Error::Format(_) => true,
            Error::Name(_)
            | Error::Unavailable(_)
            | Error::Kernel(_)
            | Error::Args(_)
            | Error::Local(_)
            | Error::Call(_)
            | Error::Operator(_)
            | Error::Memory(_)
            | Error::Assignment(_)
            | Error::Array(_)
            | Error::Aggregation(_)
            | Error::Declaration(_)
            | Error::TypeSpec(_)
            | Error::Definition(_)
            | Error::Parameter(_)
            | Error::Pragma(_)
            | Error::Translator(_)
            | Error::Provider(_) => false,
        }
    }

    /// Whether something is void where a value is wanted.
    pub fn is_about_void(&self) -> bool {
        match self {
            Error::Call(error) => error.is_about_void(),
            Error::Operator(error) => error.is_about_void(),
            Error::Memory(error) => error.is_about_void(),
            Error::Assignment(error) => error.is_about_void(),
            Error::Array(error) => error.is_about_void(),
            Error::Aggregating(error) => error.is_about_void(),
            Error::Trace(error) => error.is_about_void(),
            Error::Action(error) => error.is_about_void(),
            Error::Format(error) => error.is_about_void(),
            Error::Definition(error) => error.is_about_void(),
            Error::Translator(error) => error.is_about_void(),
            Error::Name(_)
            | Error::Unavailable(_)
            | Error::Kernel(_)
            | Error::Args(_)
            | Error::Local(_)
            | Error::Misplaced(_)
            | Error::Aggregation(_)
            | Error::Declaration(_)
            | Error::TypeSpec(_)
            | Error::Parameter(_)
            | Error::Pragma(_)
            | Error::Provider(_)
            | Error::OfAction { .. } => false,
        }
    }

    pub fn diagnostic(&self) -> Diagnostic {
        match self {
            Error::Name(error) => error.diagnostic(),
            Error::Unavailable(error) => error.diagnostic(),
            Error::Kernel(error) => error.diagnostic(),
            Error::Args(error) => error.diagnostic(),
            Error::Local(error) => error.diagnostic(),
            Error::Call(error) => error.diagnostic(),
            Error::Misplaced(error) => error.diagnostic(),
            Error::Operator(error) => error.diagnostic(),
            Error::Memory(error) => error.diagnostic(),
            Error::Assignment(error) => error.diagnostic(),
            Error::Array(error) => error.diagnostic(),
            Error::Aggregation(error) => error.diagnostic(),
            Error::Aggregating(error) => error.diagnostic(),
            Error::Trace(error) => error.diagnostic(),
            Error::Action(error) => error.diagnostic(),
            Error::Format(error) => error.diagnostic(),
            Error::Declaration(error) => error.diagnostic(),
            Error::TypeSpec(error) => error.diagnostic(),
            Error::Definition(error) => error.diagnostic(),
            Error::Parameter(error) => error.diagnostic(),
            Error::Pragma(error) => error.diagnostic(),
            Error::Translator(error) => error.diagnostic(),
            Error::Provider(error) => error.diagnostic(),
            // The message is about the value, the help about the action.
            Error::OfAction { error, action } => {
                let mut diagnostic = error.diagnostic();
                diagnostic.help.clear();
                action.diagnostic().help.into_iter().fold(diagnostic, Diagnostic::help)
            }
        }
    }
}

fn error(tag: Tag, title: impl Into<String>) -> Diagnostic {
    Diagnostic::error(tag, title)
}

fn operand(tag: Tag, title: String, found: &Type, span: Span) -> Diagnostic {
    error(tag, title).at(span, format!("this is {found}"))
}

fn did_you_mean(diagnostic: Diagnostic, similar: &Option<String>) -> Diagnostic {
    match similar {
        Some(similar) => diagnostic.help(format!("did you mean `{similar}`?")),
        None => diagnostic,
    }
}

fn because(diagnostic: Diagnostic, why: &Option<String>) -> Diagnostic {
    match why {
        Some(why) => diagnostic.note(why.clone()),
        None => diagnostic,
    }
}

fn arguments(count: usize) -> String {
    match count {
        0 => "no arguments".into(),
        1 => "1 argument".into(),
        count => format!("{count} arguments"),
    }
}
