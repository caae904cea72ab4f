//! parser/lex/control.rs: control lines: pragmas, `#error`, line markers.

use logos::Logos;

use super::token::ControlToken;
use crate::parser::ast::{Pragma, PragmaSubject};
use crate::parser::error::{ControlError, ParseError};
use kinst_base::source::{FileId, Span, Spanned};

/// The effect of a control line.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Control {
    /// None, or a line marker, which source.rs finds itself when a message needs a line number.
    Nothing,
    Pragma(Pragma),
}

/// A word of the line, with its text and span.
type Word<'a> = (ControlToken, &'a str, Span);

/// Reads the control line from its `#` up to the newline or the end of the text.
pub(crate) fn control_line(text: &str, file: FileId, start: usize) -> Result<Control, ParseError> {
    let line = text[start..].split('\n').next().unwrap_or_default();
    let whole = Span::new(file, start, start + line.trim_end().len());
    let words: Vec<Word<'_>> = ControlToken::lexer(&line[1..])
        .spanned()
        .filter_map(|(token, range)| {
            let span = Span::new(file, start + 1 + range.start, start + 1 + range.end);
            Some((token.ok()?, &line[1..][range], span))
        })
        .collect();
    if start + line.len() == text.len() {
        return Err(ParseError::Control { problem: ControlError::NoNewline, span: whole });
    }
    match words.as_slice() {
        [] | [(_, "ident", _), ..] => Ok(Control::Nothing),
        [(_, "line", _), rest @ ..] => line_marker(rest, whole),
        [(ControlToken::Number, ..), ..] => line_marker(&words, whole),
        [(_, "error", _), rest @ ..] => Err(user_error(rest, whole)),
        [(_, "pragma", _), rest @ ..] => pragma(rest, whole),
        [(_, word, span), ..] => {
            Err(ParseError::Control { problem: ControlError::UnknownLine((*word).to_owned()), span: *span })
        }
    }
}

/// Whether the control line is a directive of the C preprocessor.
pub(crate) fn is_directive(line: &str) -> bool {
    let rest = line.trim_start_matches(['#', ' ', '\t']);
    let word = rest.split(|c: char| !c.is_ascii_alphabetic()).next().unwrap_or_default();
    matches!(
        word,
        "include" | "define" | "undef" | "if" | "ifdef" | "ifndef" | "elif" | "else" | "endif" | "warning"
    )
}

/// `N ["file" flags]`
fn line_marker(words: &[Word<'_>], whole: Span) -> Result<Control, ParseError> {
    let number = |word: &&str| word.parse::<u32>().is_ok();
    let fine = match words {
        [(ControlToken::Number, n, _)] => number(n),
        [(ControlToken::Number, n, _), (ControlToken::Str, ..), flags @ ..] => {
            number(n) && flags.iter().all(|(token, ..)| *token == ControlToken::Number)
        }
        _ => false,
    };
    match fine {
        true => Ok(Control::Nothing),
        false => malformed("#line NUMBER \"FILE\"", whole),
    }
}

fn pragma(words: &[Word<'_>], whole: Span) -> Result<Control, ParseError> {
    match words {
        [(_, "error", _), rest @ ..] => Err(user_error(rest, whole)),
        [(_, "line", _), rest @ ..] => line_marker(rest, whole),
        [(_, "D", _), rest @ ..] => d_pragma(rest, whole),
        _ => Ok(Control::Nothing),
    }
}

fn d_pragma(words: &[Word<'_>], whole: Span) -> Result<Control, ParseError> {
    match words {
        [] | [(_, "ident", _), ..] => Ok(Control::Nothing),
        [(_, "error", _), rest @ ..] => Err(user_error(rest, whole)),
        [(_, "line", _), rest @ ..] => line_marker(rest, whole),
        [(_, "option", _), (_, setting, span)] if !setting.starts_with('=') => {
            let (name, value) = match setting.split_once('=') {
                Some((name, value)) => (name, Some(value)),
                None => (*setting, None),
            };
            let name_end = span.start as usize + name.len();
            Ok(Control::Pragma(Pragma::Option {
                name: Spanned::new(name.to_owned(), Span::new(span.file, span.start as usize, name_end)),
                value: value.map(|value| {
                    Spanned::new(value.to_owned(), Span::new(span.file, name_end + 1, span.end as usize))
                }),
                span: whole,
            }))
        }
        [(_, "option", _), ..] => malformed("#pragma D option NAME[=VALUE]", whole),
        [(_, "attributes", _), attributes, (_, "provider", _), name, part] => {
            let of = PragmaSubject::Provider { name: spanned(name), part: spanned(part) };
            Ok(Control::Pragma(Pragma::Attributes { attributes: spanned(attributes), of, span: whole }))
        }
        [(_, "attributes", _), attributes, name] => {
            let of = PragmaSubject::Identifier(spanned(name));
            Ok(Control::Pragma(Pragma::Attributes { attributes: spanned(attributes), of, span: whole }))
        }
        [(_, "attributes", _), ..] => malformed("#pragma D attributes NAME/DATA/CLASS IDENTIFIER", whole),
        [(_, "binding", _), version @ (ControlToken::Str, ..), name] => {
            Ok(Control::Pragma(Pragma::Binding {
                version: spanned(version),
                name: spanned(name),
                span: whole,
            }))
        }
        [(_, "binding", _), ..] => malformed("#pragma D binding \"VERSION\" IDENTIFIER", whole),
        [(_, "depends_on", _), class, name] => {
            Ok(Control::Pragma(Pragma::DependsOn { class: spanned(class), name: spanned(name), span: whole }))
        }
        [(_, "depends_on", _), ..] => malformed("#pragma D depends_on provider|module|library NAME", whole),
        [(_, word, span), ..] => {
            Err(ParseError::Control { problem: ControlError::UnknownPragma((*word).to_owned()), span: *span })
        }
    }
}

/// Returns a word, or a string without its quotes.
fn spanned((_, text, span): &Word<'_>) -> Spanned<String> {
    let inner = text.strip_prefix('"').and_then(|text| text.strip_suffix('"')).unwrap_or(text);
    Spanned::new(inner.to_owned(), *span)
}

fn user_error(words: &[Word<'_>], whole: Span) -> ParseError {
    let words: Vec<&str> = words.iter().map(|(_, text, _)| *text).collect();
    ParseError::Control { problem: ControlError::User(words.join(" ")), span: whole }
}

fn malformed(shape: &'static str, span: Span) -> Result<Control, ParseError> {
    Err(ParseError::Control { problem: ControlError::Malformed { shape }, span })
}

/// Returns the length up to the newline, not counting newlines escaped by a backslash.
pub(crate) fn control_length(text: &str) -> usize {
    let mut at = 0;
    loop {
        let Some(newline) = text[at..].find('\n') else { return text.len() };
        let line = text[at..at + newline].trim_end_matches('\r');
        if !line.ends_with('\\') {
            return at + newline;
        }
        at += newline + 1;
    }
}
