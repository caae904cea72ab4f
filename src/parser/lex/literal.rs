//! parser/lex/literal.rs: integers, characters and strings: their text, value and errors.

use crate::parser::error::{LiteralError, ParseError};
use kinst_base::source::Span;

/// Returns the value of an integer literal with its suffix.
///
/// A decimal constant without `u` has to fit a signed 64-bit integer, because no wider type exists (C99
/// 6.4.4.1).
pub(crate) fn integer(text: &str, span: Span) -> Result<u64, ParseError> {
    let fail = |problem| Err(ParseError::Literal { problem, span });
    let (digits, radix) = match text.strip_prefix("0x").or_else(|| text.strip_prefix("0X")) {
        Some(hex) => (hex, 16),
        None if text.starts_with('0') => (text, 8),
        None => (text, 10),
    };
    let end = digits
        .find(|c: char| if radix == 16 { !c.is_ascii_hexdigit() } else { !c.is_ascii_digit() })
        .unwrap_or(digits.len());
    let (digits, suffix) = digits.split_at(end);
    if digits.is_empty() {
        return fail(LiteralError::NoDigits);
    }
    let Some(unsigned) = suffix_is_unsigned(suffix) else {
        return fail(LiteralError::Suffix(suffix.to_owned()));
    };
    if radix == 8 && digits.contains(['8', '9']) {
        return fail(LiteralError::OctalDigit);
    }
    let value = u64::from_str_radix(digits, radix).ok();
    match value.filter(|&v| radix != 10 || unsigned || v <= i64::MAX as u64) {
        Some(value) => Ok(value),
        None => fail(LiteralError::TooLarge { suffix_helps: value.is_some() }),
    }
}

/// Parses `[uU]?[lL]?[lL]?`; returns whether it has the `u`.
fn suffix_is_unsigned(suffix: &str) -> Option<bool> {
    let rest = suffix.strip_prefix(['u', 'U']);
    let longs = rest.unwrap_or(suffix);
    (longs.len() <= 2 && longs.bytes().all(|b| matches!(b, b'l' | b'L'))).then_some(rest.is_some())
}

/// Returns the length in bytes of the quoted literal at the start of `text`, quotes included.
pub(crate) fn quoted_length(text: &str, quote: char, start: Span) -> Result<usize, ParseError> {
    let mut chars = text.char_indices().skip(1);
    while let Some((at, c)) = chars.next() {
        match c {
            '\\' => match chars.next() {
                Some((_, '\n')) | None => return Err(open_literal(quote, start, at, true)),
                Some(_) => {}
            },
            '\n' => return Err(open_literal(quote, start, at, true)),
            c if c == quote => return Ok(at + 1),
            _ => {}
        }
    }
    Err(open_literal(quote, start, text.len(), false))
}

fn open_literal(quote: char, start: Span, length: usize, newline: bool) -> ParseError {
    let span = Span::new(start.file, start.start as usize, start.start as usize + length);
    let problem = match (quote, newline) {
        ('"', true) => LiteralError::NewlineInString,
        (_, true) => LiteralError::NewlineInCharacter,
        (quote, false) => LiteralError::NotClosed(quote),
    };
    ParseError::Literal { problem, span }
}

/// Returns the value of a character constant: several characters are packed, with the first in the highest byte.
pub(crate) fn character(quoted: &str, span: Span) -> Result<i64, ParseError> {
    let bytes = unescape(&quoted[1..quoted.len() - 1]);
    match bytes.len() {
        0 => Err(ParseError::Literal { problem: LiteralError::EmptyCharacter, span }),
        1..=8 => Ok(bytes.iter().fold(0u64, |value, &byte| value << 8 | u64::from(byte)) as i64),
        n => Err(ParseError::Literal { problem: LiteralError::LongCharacter(n), span }),
    }
}

/// Returns the bytes that a literal stands for. Unknown escapes keep their backslash.
pub(crate) fn unescape(text: &str) -> Vec<u8> {
    let mut rest = text.as_bytes();
    let mut out = Vec::with_capacity(rest.len());
    while !rest.is_empty() {
        let (length, value) = first_value(rest);
        out.extend_from_slice(value.as_slice());
        rest = &rest[length..];
    }
    out
}

/// Reads the first byte or escape of a constant; returns its length as written, and its value.
pub fn first_value(text: &[u8]) -> (usize, Value) {
    let (byte, escape) = match text {
        [b'\\', escape, ..] => (b'\\', *escape),
        [byte, ..] => return (1, Value::Byte([*byte])),
        [] => return (0, Value::Kept([0; 2])),
    };
    match escape {
        b'0'..=b'7' => {
            let digits = text[1..].iter().take(3).take_while(|b| matches!(b, b'0'..=b'7')).count();
            (1 + digits, Value::Byte([number(&text[1..1 + digits], 8)]))
        }
        b'x' => {
            let digits = text[2..].iter().take_while(|b| b.is_ascii_hexdigit()).count();
            match digits {
                0 => (2, Value::Kept([byte, escape])),
                _ => (2 + digits, Value::Byte([number(&text[2..2 + digits], 16)])),
            }
        }
        _ => match simple_escape(escape) {
            Some(value) => (2, Value::Byte([value])),
            None => (2, Value::Kept([byte, escape])),
        },
    }
}

/// The value of a byte or an escape; an escape without a meaning is unchanged.
pub enum Value {
    Byte([u8; 1]),
    Kept([u8; 2]),
}

impl Value {
    pub fn as_slice(&self) -> &[u8] {
        match self {
            Value::Byte(byte) => byte,
            Value::Kept(kept) => kept,
        }
    }
}

/// Returns the low byte of the number, as the reference implementations do.
fn number(digits: &[u8], radix: u32) -> u8 {
    digits
        .iter()
        .fold(0u32, |value, &digit| (value * radix + (digit as char).to_digit(radix).unwrap_or(0)) & 0xff)
        as u8
}

fn simple_escape(escape: u8) -> Option<u8> {
    Some(match escape {
        b'a' => 7,
        b'b' => 8,
        b't' => b'\t',
        b'n' => b'\n',
        b'v' => 11,
        b'f' => 12,
        b'r' => b'\r',
        b'"' => b'"',
        b'\'' => b'\'',
        b'\\' => b'\\',
        _ => return None,
    })
}

/// Returns a string literal for these bytes, quotes included.
pub fn quote(bytes: &[u8]) -> String {
    let mut text = String::from("\"");
    for chunk in bytes.utf8_chunks() {
        for c in chunk.valid().chars() {
            match c {
                '\x07' => text.push_str("\\a"),
                '\x08' => text.push_str("\\b"),
                '\t' => text.push_str("\\t"),
                '\n' => text.push_str("\\n"),
                '\x0b' => text.push_str("\\v"),
                '\x0c' => text.push_str("\\f"),
                '\r' => text.push_str("\\r"),
                '"' => text.push_str("\\\""),
                '\\' => text.push_str("\\\\"),
                c if c.is_control() => {
                    for byte in c.encode_utf8(&mut [0; 4]).bytes() {
                        text.push_str(&format!("\\{byte:03o}"));
                    }
                }
                c => text.push(c),
            }
        }
        for byte in chunk.invalid() {
            text.push_str(&format!("\\{byte:03o}"));
        }
    }
    text.push('"');
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use kinst_base::source::FileId;

    const SPAN: Span = Span { file: FileId(0), start: 0, end: 0 };

    #[test]
    fn integers() {
        let value = |text| integer(text, SPAN);
        assert_eq!(value("0"), Ok(0));
        assert_eq!(value("010"), Ok(8));
        assert_eq!(value("0xffUL"), Ok(255));
        assert_eq!(value("18446744073709551615u"), Ok(u64::MAX));
        assert_eq!(value("0xffffffffffffffff"), Ok(u64::MAX));
        assert_eq!(value("9223372036854775807ll"), Ok(i64::MAX as u64));
        for (text, problem) in [
            ("9223372036854775808", LiteralError::TooLarge { suffix_helps: true }),
            ("18446744073709551616u", LiteralError::TooLarge { suffix_helps: false }),
            ("0x10000000000000000", LiteralError::TooLarge { suffix_helps: false }),
            ("0128", LiteralError::OctalDigit),
            ("1lu", LiteralError::Suffix("lu".into())),
            ("1lll", LiteralError::Suffix("lll".into())),
            ("12ab", LiteralError::Suffix("ab".into())),
            ("0x", LiteralError::NoDigits),
        ] {
            assert_eq!(value(text), Err(ParseError::Literal { problem, span: SPAN }), "{text}");
        }
    }

    #[test]
    fn escapes() {
        assert_eq!(unescape(r#"a\tb\n\"\\"#), b"a\tb\n\"\\");
        assert_eq!(unescape(r"\0\18\777\x41g\xfff"), [0, 1, b'8', 0xff, b'A', b'g', 0xff]);
        assert_eq!(unescape(r"\q\x\xg\"), br"\q\x\xg\");
    }

    #[test]
    fn characters_are_packed_from_the_left() {
        assert_eq!(character("'a'", SPAN), Ok(97));
        assert_eq!(character("'ab'", SPAN), Ok(97 * 256 + 98));
        assert_eq!(character(r"'\''", SPAN), Ok(39));
        assert_eq!(character("'12345678'", SPAN), Ok(0x3132_3334_3536_3738));
        assert!(character("''", SPAN).is_err());
        assert!(character("'123456789'", SPAN).is_err());
    }

    #[test]
    fn quoting_is_undone_by_unescape() {
        for bytes in
            [&b"plain"[..], b"a\"b\\c\n\t\x07", &[0, 1, 0x7f, 0x80, 0xff, b'7'], "é\u{85}".as_bytes()]
        {
            let text = quote(bytes);
            assert_eq!(unescape(&text[1..text.len() - 1]), bytes, "{text}");
        }
    }
}
