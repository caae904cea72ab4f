//! codegen/error.rs: reasons why a checked program cannot become DIF: limits of the machine.

use kinst_base::diag::{Diagnostic, tags};
use kinst_base::source::Span;
use kinst_dif::asm::AsmError;

pub type Result<T> = std::result::Result<T, Box<Error>>;

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Error {
    /// An expression needs more registers than exist, even with spilling.
    NoRegisters { span: Span },
    /// The keys of an array or the arguments of a subroutine do not fit the tuple stack.
    TooManyKeys { found: usize, most: usize, span: Span },
    /// A variable of a type too large for any variable.
    LargeVariable { name: String, bytes: u64, most: u64, span: Span },
    /// A limit of the object: its size or its tables.
    Object { error: AsmError, span: Span },
}

impl Error {
    pub fn diagnostic(&self) -> Diagnostic {
        match self {
            Error::NoRegisters { span } => {
                Diagnostic::error(tags::NOREG, "the expression needs more registers than DIF has")
                    .at(*span, "too complex")
                    .help("split it with variables: `this->part = …;`")
            }
            Error::TooManyKeys { found, most, span } => {
                Diagnostic::error(tags::UNKNOWN, format!("{found} keys are too many: DIF holds {most}"))
                    .at(*span, "too many keys")
                    .help("join some of them into one, for example with strjoin()")
            }
            Error::LargeVariable { name, bytes, most, span } => {
                let title = format!("the variable `{name}` has {bytes} bytes: one can hold {most}");
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
