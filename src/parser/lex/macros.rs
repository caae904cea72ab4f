//! parser/lex/macros.rs: the meaning of `$1`, `$$1`, `$pid` and `$target`.

use super::literal;
use super::token::Token;
use crate::parser::error::{MacroError, ParseError};
use kinst_base::source::Span;

/// The macro arguments and variables of a compilation. They are inputs: the parser does not read the
/// environment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Macros {
    /// `$0`: the script's name as it was invoked.
    pub script: String,
    /// `$1`, `$2` …
    pub arguments: Vec<String>,
    /// Values of the vocabulary's `MACRO_VARIABLES`; a missing `target` is 0.
    pub variables: Vec<(String, i64)>,
    /// Whether the program is traced without a process for `$target`.
    pub targetless: bool,
}

impl Macros {
    /// Returns the value of `$name`.
    pub fn variable(&self, name: &str) -> Option<i64> {
        let known = self.variables.iter().find(|(known, _)| known == name).map(|&(_, value)| value);
        known.or((name == "target" && self.variables.is_empty()).then_some(0))
    }

    /// Returns the text of `$index`.
    pub fn argument(&self, index: usize) -> Option<&str> {
        match index {
            0 => Some(&self.script),
            n => self.arguments.get(n - 1).map(String::as_str),
        }
    }
}

/// Parses the index in `$12` or `$$12`, without the dollar signs.
pub(crate) fn index(digits: &str, span: Span) -> Result<usize, ParseError> {
    digits
        .parse()
        .map_err(|_| ParseError::Macro { problem: MacroError::IndexTooLarge(digits.to_owned()), span })
}

/// Returns the token that replaces `$1`, from the argument's text.
pub(crate) fn argument_token(
    text: &str,
    is_type: impl Fn(&str) -> bool,
    span: Span,
) -> Result<Token, ParseError> {
    if let Some(integer) = integer_argument(text, span)? {
        return Ok(integer);
    }
    let mut chars = text.chars();
    let is_name = chars.next().is_some_and(|c| c.is_ascii_alphabetic() || matches!(c, '_' | '`'))
        && chars.all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '`'));
    if is_name {
        return Ok(match super::token::keyword(text) {
            Some(keyword) => keyword,
            None if is_type(text) => Token::TypeName(text.to_owned()),
            None => Token::Ident(text.to_owned()),
        });
    }
    let inner = text.strip_prefix('"').and_then(|t| t.strip_suffix('"')).unwrap_or(text);
    Ok(string_token(&literal::unescape(inner)))
}

/// Makes a string token for bytes that the source does not quote.
pub(crate) fn string_token(bytes: &[u8]) -> Token {
    Token::Str { value: bytes.to_vec(), text: literal::quote(bytes) }
}

/// Makes an integer token for a number that the source does not spell.
pub(crate) fn number_token(value: i64) -> Token {
    let text = value.unsigned_abs().to_string();
    if value < 0 {
        Token::NegativeInt { value: value.unsigned_abs(), text }
    } else {
        Token::Int { value: value as u64, text }
    }
}

fn integer_argument(text: &str, span: Span) -> Result<Option<Token>, ParseError> {
    let digits = text.strip_prefix(['+', '-']).unwrap_or(text);
    if !digits.starts_with(|c: char| c.is_ascii_digit()) {
        return Ok(None);
    }
    let value = match literal::integer(digits, span) {
        Ok(value) => value,
        Err(error) if error.is_overflow() => {
            return Err(ParseError::Macro { problem: MacroError::ValueTooLarge(text.to_owned()), span });
        }
        Err(_) => return Ok(None),
    };
    let digits = digits.to_owned();
    Ok(Some(if text.starts_with('-') {
        Token::NegativeInt { value, text: digits }
    } else {
        Token::Int { value, text: digits }
    }))
}
