//! typeck/error/program.rs: an error in a program, by its subject.

use super::actions::Action;
use super::aggregating::Aggregating;
use super::aggregations::Aggregation;
use super::arguments::Args;
use super::arrays::Array;
use super::assignments::Assignment;
use super::calls::Call;
use super::declarations::Declaration;
use super::definitions::Definition;
use super::formats::Format;
use super::kernel::Kernel;
use super::locals::Local;
use super::memory::Memory;
use super::misplaced::Misplaced;
use super::names::Name;
use super::operators::Operator;
use super::parameters::Parameter;
use super::pragmas::Pragma;
use super::providers::Provider;
use super::specs::TypeSpec;
use super::traces::Trace;
use super::translators::Translator;
use super::unavailable::Unavailable;
use kinst_base::diag::Diagnostic;

/// Why a program was refused: the first error found.
pub type Result<T> = std::result::Result<T, Box<Error>>;

/// An error in a program, by its subject. Each subject is an enum that has a message for each of its
/// variants and converts into a `Box<Error>`. Errors of actions are separate subjects (`is_of_action`).
#[derive(Clone, Debug, PartialEq)]
pub enum Error {
    /// A name that has no meaning where it is used.
    Name(Name),
    /// A part of D that is not supported, not on Linux, or less stable than option amin requires.
    Unavailable(Unavailable),
    /// A type or symbol of the kernel that is unknown, incomplete or too large.
    Kernel(Kernel),
    /// A use of `args[]` without a single meaning.
    Args(Args),
    /// A use of `locals->`, or of `args[]` at an instruction, that has no value.
    Local(Local),
    /// A call of something that is not a function, or with the wrong arguments.
    Call(Call),
    /// A call without a value where a value is required.
    Misplaced(Misplaced),
    /// An operator, cast or condition with an operand that it does not take.
    Operator(Operator),
    /// An access to memory, or a query of its layout, that its type does not allow.
    Memory(Memory),
    /// An assignment to something that cannot be written, or of a value that it cannot hold.
    Assignment(Assignment),
    /// An invalid index of an array, or key of an associative array or aggregation.
    Array(Array),
    /// An invalid assignment to an aggregation.
    Aggregation(Aggregation),
    /// An aggregating function that is missing or rejects its arguments.
    Aggregating(Aggregating),
    /// trace(), print(), tracemem() or printm() with the wrong arguments.
    Trace(Trace),
    /// Another action with the wrong arguments, or after one that it cannot follow.
    Action(Action),
    /// A format that is malformed, or does not fit its arguments.
    Format(Format),
    /// An invalid declaration.
    Declaration(Declaration),
    /// A type name that is unknown, or specifiers that do not make a type.
    TypeSpec(TypeSpec),
    /// An invalid definition of a struct, union, enum or inline.
    Definition(Definition),
    /// An invalid parameter of a function, inline, associative array or probe.
    Parameter(Parameter),
    /// A pragma with an unknown word, or about a name that pragmas may not describe.
    Pragma(Pragma),
    /// An invalid definition or use of a translator.
    Translator(Translator),
    /// An invalid declaration of a provider or its probes.
    Provider(Provider),
    /// An error about a void value that a misplaced call causes.
    OfAction {
        /// The error about the void value.
        error: Box<Error>,
        /// The call without a value; its help replaces the help of the error.
        action: Misplaced,
    },
}

macro_rules! subjects {
    ($($subject:ident),*) => {$(
        impl From<$subject> for Box<Error> {
            fn from(error: $subject) -> Self {
                Box::new(Error::$subject(error))
            }
        }
    )*};
}

subjects!(
    Name,
    Unavailable,
    Kernel,
    Args,
    Local,
    Call,
    Misplaced,
    Operator,
    Memory,
    Assignment,
    Array,
    Aggregation,
    Aggregating,
    Trace,
    Action,
    Format,
    Declaration,
    TypeSpec,
    Definition,
    Parameter,
    Pragma,
    Translator,
    Provider
);

impl Error {
    /// Whether a name is used that has not been assigned so far.
    pub fn is_undefined(&self) -> bool {
        matches!(self, Error::Name(Name::Undefined { .. } | Name::Unassigned { .. }))
    }

    /// Whether the descriptions of a clause have different `args[]`, so that each must be checked separately.
    pub fn is_of_several_probes(&self) -> bool {
        matches!(self, Error::Args(Args::Differ { .. }))
    }

    /// Whether another place may have the missing item: a variable of the kernel's code, or a parameter.
    pub fn is_of_place(&self) -> bool {
        match self {
            Error::Local(Local::NoScope { .. } | Local::Absent { .. }) | Error::Args(Args::Index { .. }) => {
                true
            }
            Error::Local(Local::Undefined { unknown, .. }) => unknown.elsewhere.is_some(),
            _ => false,
        }
    }

    /// Whether an expression names an aggregation that has not been assigned so far.
    pub fn is_undefined_aggregation(&self) -> bool {
        matches!(self, Error::Name(Name::Undefined { name, .. }) if name.starts_with('@'))
    }

    /// Whether an action takes an aggregation that has not been assigned so far.
    pub fn is_unassigned_aggregation(&self) -> bool {
        matches!(self, Error::Action(Action::AggregationUndefined { .. }))
    }

    /// Whether an action or aggregating function rejects its arguments. Such an error is reported only if
    /// all expressions of the clause are correct.
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

    /// Returns the vector register of an argument that is in one, and its type.
    pub(in crate::typeck) fn vector_register(&self) -> Option<(usize, &kinst_types::Type)> {
        match self {
            Error::Args(Args::InVector { register, ty, .. }) => Some((*register, ty)),
            _ => None,
        }
    }

    /// Whether a void operand is used where a value is required.
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

    /// Returns the message, with its places and its help.
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
