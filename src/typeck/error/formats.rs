//! typeck/error/formats.rs: messages about formats and their arguments.

use super::{Error, error, operand};
use crate::diag::{Diagnostic, tags};
use crate::types::Type;

impl Error {
    pub(super) fn of_formats(&self) -> Option<Diagnostic> {
        Some(match self {
            Error::FormatConstant { action, span } => {
                error(tags::PRINTF_ARG_FMT, format!("the format of {action}() must be a string constant"))
                    .at(*span, "not a string constant")
                    .help(format!("print it with `{action}(\"%s\", …)`"))
            }
            Error::FormatEmpty { action, span } => {
                error(tags::PRINTF_FMT_EMPTY, format!("the format of {action}() is empty")).at(*span, "empty")
            }
            Error::FormatSyntax { title, span } => error(tags::SYNTAX, title.clone())
                .at(*span, "in this format")
                .help("a percent sign itself is written `%%`"),
            Error::FormatMissing { letter, span, call } => {
                error(tags::PRINTF_ARG_PROTO, format!("there is no argument for `%{letter}`"))
                    .at(*span, "takes an argument")
                    .and(*call, "too few arguments")
            }
            Error::FormatExtra { action, span, format } => {
                error(tags::PRINTF_ARG_EXTRA, format!("{action}() has more arguments than its format takes"))
                    .at(*span, "not printed")
                    .and(*format, "all conversions have their arguments")
            }
            Error::FormatType { letter, expected, found, span, format } => {
                let title = format!("`%{letter}` prints {expected}, not {found}");
                let diagnostic = error(tags::PRINTF_ARG_TYPE, title)
                    .at(*span, format!("this is {found}"))
                    .and(*format, format!("takes {expected}"));
                format_help(diagnostic, *letter, found)
            }
            Error::FormatLeft { letter, expected, found, span, format } => {
                error(tags::PRINTF_ARG_TYPE, format!("`%{letter}` prints {expected}, not {found}"))
                    .at(*span, format!("this is {found}"))
                    .and(*format, format!("takes {expected}"))
                    .help("`%k` prints stacks, `%a` addresses of the kernel and `%A` those of programs")
            }
            Error::FormatKeyType { letter, expected, span } => {
                error(tags::PRINTF_ARG_TYPE, format!("`%{letter}` prints {expected}, not what the key is"))
                    .at(*span, format!("takes {expected}"))
                    .note("the conversions take the elements of the key in order; `%@…` takes the value")
            }
            Error::CountMissing { what, span, call } => {
                error(tags::PRINTF_DYN_PROTO, format!("there is no argument for the {what} `*`"))
                    .at(*span, format!("the {what} is an argument"))
                    .and(*call, "too few arguments")
            }
            Error::CountType { what, found, span } => {
                let title = format!("the {what} `*` must be an integer, not {found}");
                operand(tags::PRINTF_DYN_TYPE, title, found, *span)
            }
            Error::AggregationConversion { action, span } => {
                error(tags::PRINTF_AGG_CONV, format!("`%@` is for printa(), not for {action}()"))
                    .at(*span, "the value of an aggregation")
            }
            Error::FreopenName { span } => error(tags::FREOPEN_INVALID, "freopen() cannot write to `.`")
                .at(*span, "a directory")
                .help("freopen(\"\") gives standard output back"),
            _ => return None,
        })
    }
}

fn format_help(diagnostic: Diagnostic, letter: char, found: &Type) -> Diagnostic {
    match letter {
        's' | 'S' if found.is_string_compatible() => {
            diagnostic.help("a `char *` is only an address: print `stringof(…)` of it")
        }
        's' | 'S' if found.is_integer() => diagnostic.help("print a number with `%d` or `%x`"),
        'd' | 'i' | 'u' | 'x' | 'X' | 'o' if found.is_string_compatible() => {
            diagnostic.help("print a string with `%s`")
        }
        'd' | 'i' | 'u' | 'x' | 'X' | 'o' if found.is_pointer() => {
            diagnostic.help("print a pointer with `%p`, or its symbol with `%a`")
        }
        _ => diagnostic,
    }
}
