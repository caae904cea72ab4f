//! codegen/error.rs: reasons why a checked program cannot become DIF: limits of DIF.

use kinst_base::diag::{Diagnostic, tags};
use kinst_base::source::Span;
use kinst_dif::asm::AsmError;

/// The result of generating a part of a program: the first error found.
pub type Result<T> = std::result::Result<T, Box<Error>>;

/// A limit of DIF that a program exceeds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Error {
    /// An expression needs more registers than exist, even with spilling.
    NoRegisters {
        /// The whole expression.
        span: Span,
    },
    /// The keys of an array or the arguments of a subroutine do not fit the tuple stack.
    TooManyKeys {
        /// The number of keys or arguments.
        found: usize,
        /// The entries of the tuple stack.
        most: usize,
        /// The whole expression.
        span: Span,
    },
    /// A variable whose type is too large for any variable.
    LargeVariable {
        /// The variable's name without `self->` or `this->`.
        name: String,
        /// The size of its type.
        bytes: u64,
        /// The largest size, [`kinst_dif::MAX_VALUE`].
        most: u64,
        /// The place where its type was fixed.
        span: Span,
    },
    /// A limit of the object: its size or its tables.
    Object {
        /// The limit.
        error: AsmError,
        /// The whole expression.
        span: Span,
    },
}

impl Error {
    /// Returns the message, with its place and its help.
    pub fn diagnostic(&self) -> Diagnostic {
        match self {
            Error::NoRegisters { span } => {
                Diagnostic::error(tags::NOREG, "the expression needs more registers than DIF has")
                    .at(*span, "too complex")
                    .help("split it with variables: `this->part = …;`")
            }
            Error::TooManyKeys { found, most, span } => {
                Diagnostic::error(tags::UNKNOWN, format!("{found} keys are too many: DIF permits {most}"))
                    .at(*span, "too many keys")
                    .help("join some of them into one, for example with strjoin()")
            }
            Error::LargeVariable { name, bytes, most, span } => {
                let title = format!("the variable `{name}` has {bytes} bytes: the limit is {most}");
                Diagnostic::error(tags::UNKNOWN, title)
                    .at(*span, "too large")
                    .help("keep a pointer to it, or an associative array of its parts")
            }
            Error::Object { error, span } => {
                Diagnostic::error(tags::UNKNOWN, format!("the expression does not fit a DIF object: {error}"))
                    .at(*span, "too large")
                    .help("split it into several statements")
            }
        }
    }
}
