//! typeck/error/formats.rs: messages about formats and their arguments.

use super::text::{error, operand};
use kinst_base::diag::{Diagnostic, tags};
use kinst_base::source::Span;
use kinst_types::Type;

/// A format that is malformed, or does not fit its arguments.
#[derive(Clone, Debug, PartialEq)]
pub enum Format {
    Constant { action: &'static str, span: Span },
    Empty { action: &'static str, span: Span },
    Syntax { title: String, span: Span },
    Missing { conversion: String, span: Span, call: Span },
    Extra { action: &'static str, span: Span, format: Span },
    Type { conversion: String, expected: &'static str, found: Type, span: Span, format: Span },
    Left { conversion: String, expected: &'static str, found: &'static str, span: Span, format: Span },
    KeyType { conversion: String, expected: &'static str, span: Span },
    CountMissing { what: &'static str, span: Span, call: Span },
    CountType { what: &'static str, found: Type, span: Span },
    CountKey { what: &'static str, span: Span },
    AggregationConversion { action: &'static str, span: Span },
    FreopenName { span: Span },
}

impl Format {
    pub(super) fn diagnostic(&self) -> Diagnostic {
        match self {
            Self::Constant { action, span } => {
                error(tags::PRINTF_ARG_FMT, format!("the format of {action}() must be a string constant"))
                    .at(*span, "not a string constant")
                    .help(format!("print it with `{action}(\"%s\", …)`"))
            }
            Self::Empty { action, span } => {
                error(tags::PRINTF_FMT_EMPTY, format!("the format of {action}() is empty")).at(*span, "empty")
            }
            Self::Syntax { title, span } => error(tags::SYNTAX, title.clone())
                .at(*span, "in this format")
                .help("a percent sign itself is written `%%`"),
            Self::Missing { conversion, span, call } => {
                error(tags::PRINTF_ARG_PROTO, format!("no argument for `{conversion}`"))
                    .at(*span, "takes an argument")
                    .and(*call, "too few arguments")
            }
            Self::Extra { action, span, format } => {
                error(tags::PRINTF_ARG_EXTRA, format!("{action}() has more arguments than its format takes"))
                    .at(*span, "not printed")
                    .and(*format, "all conversions have their arguments")
            }
            Self::Type { conversion, expected, found, span, format } => {
                let title = format!("`{conversion}` prints {expected}, not {found}");
                let diagnostic = error(tags::PRINTF_ARG_TYPE, title)
                    .at(*span, format!("this is {found}"))
                    .and(*format, format!("takes {expected}"));
                format_help(diagnostic, conversion, found)
            }
            Self::Left { conversion, expected, found, span, format } => {
                error(tags::PRINTF_ARG_TYPE, format!("`{conversion}` prints {expected}, not {found}"))
                    .at(*span, format!("this is {found}"))
                    .and(*format, format!("takes {expected}"))
                    .help("`%k` prints stacks, `%a` kernel addresses, `%A` user addresses")
            }
            Self::KeyType { conversion, expected, span } => {
                error(tags::PRINTF_ARG_TYPE, format!("`{conversion}` prints {expected}, not the key's type"))
                    .at(*span, format!("takes {expected}"))
                    .note("the conversions take the elements of the key in order; `%@…` takes the value")
            }
            Self::CountMissing { what, span, call } => {
                error(tags::PRINTF_DYN_PROTO, format!("no argument for the {what} `*`"))
                    .at(*span, format!("the {what} is an argument"))
                    .and(*call, "too few arguments")
            }
            Self::CountType { what, found, span } => {
                let title = format!("the {what} `*` must be an integer, not {found}");
                operand(tags::PRINTF_DYN_TYPE, title, found, *span)
            }
            Self::CountKey { what, span } => count_key(what, *span),
            Self::AggregationConversion { action, span } => {
                error(tags::PRINTF_AGG_CONV, format!("`%@` is for printa(), not for {action}()"))
                    .at(*span, "the value of an aggregation")
            }
            Self::FreopenName { span } => error(tags::FREOPEN_INVALID, "freopen() cannot write to `.`")
                .at(*span, "a directory")
                .help("freopen(\"\") restores standard output"),
        }
    }

    pub(super) fn is_about_void(&self) -> bool {
        match self {
            Self::Type { found, .. } => found.is_void(),
            Self::Constant { .. }
            | Self::Empty { .. }
            | Self::Syntax { .. }
            | Self::Missing { .. }
            | Self::Extra { .. }
            | Self::Left { .. }
            | Self::KeyType { .. }
            | Self::CountMissing { .. }
            | Self::CountType { .. }
            | Self::CountKey { .. }
            | Self::AggregationConversion { .. }
            | Self::FreopenName { .. } => false,
        }
    }
}

fn count_key(what: &str, span: Span) -> Diagnostic {
    let title = format!("the key that is the {what} `*` must be an integer");
    error(tags::PRINTF_DYN_TYPE, title).at(span, format!("the {what} is the next key"))
}

fn format_help(diagnostic: Diagnostic, conversion: &str, found: &Type) -> Diagnostic {
    let letter = conversion.chars().last().unwrap_or_default();
    let has_size = conversion.trim_end_matches(letter).ends_with(['h', 'l', 'L', 'w']);
    match letter {
        's' | 'S' if found.referent().is_some_and(Type::is_byte) => diagnostic.help(format!(
            "`{found}` is only an address: print `stringof(…)` of it, or `copyinstr((uintptr_t)…)` if it is of the process"
        )),
        's' | 'S' if found.is_integer() => diagnostic.help(
            "print a number with `%d` or `%x`; if it is the address of a string in the process, print `copyinstr(…)` of it",
        ),
        'd' | 'i' | 'u' | 'x' | 'X' | 'o' if found.is_string_compatible() => {
            diagnostic.help("print a string with `%s`")
        }
        'd' | 'i' | 'u' | 'x' | 'X' | 'o' if found.is_pointer() => {
            diagnostic.help("print a pointer with `%p`, or its symbol with `%a`")
        }
        'd' | 'i' | 'u' | 'x' | 'X' | 'o' if found.is_integer() && has_size => {
            diagnostic.help(format!("`%{letter}` prints integers of any size"))
        }
        _ => diagnostic,
    }
}
