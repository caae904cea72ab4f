//! consumer/output/escape.rs: escapes bytes as in D strings, and control characters for a terminal.

use std::borrow::Cow;

/// Escapes everything that a terminal might interpret, as in a D string: control characters, including non-ASCII ones,
/// and invalid UTF-8. Line breaks and tabs stay.
pub(crate) fn visible(text: &[u8]) -> Cow<'_, [u8]> {
    let harmless = |c: char| !c.is_control() || matches!(c, '\n' | '\t');
    if str::from_utf8(text).is_ok_and(|text| text.chars().all(harmless)) {
        return Cow::Borrowed(text);
    }
    let mut shown = Vec::with_capacity(text.len() + 16);
    for chunk in text.utf8_chunks() {
        for c in chunk.valid().chars() {
            let mut utf8 = [0; 4];
            let c_bytes = c.encode_utf8(&mut utf8).as_bytes();
            match harmless(c) {
                true => shown.extend_from_slice(c_bytes),
                false => shown.extend(escaped(c_bytes)),
            }
        }
        shown.extend(escaped(chunk.invalid()));
    }
    Cow::Owned(shown)
}

/// Like [`escaped`], but leaves characters of UTF-8 that are not control characters. Bytes at the end that begin a
/// character are left out, as text may have been cut there.
pub(crate) fn escaped_utf8(text: &[u8]) -> Vec<u8> {
    let mut shown = Vec::with_capacity(text.len());
    let mut chunks = text.utf8_chunks().peekable();
    while let Some(chunk) = chunks.next() {
        for c in chunk.valid().chars() {
            let mut utf8 = [0; 4];
            let c_bytes = c.encode_utf8(&mut utf8).as_bytes();
            match c.is_ascii() || c.is_control() {
                true => shown.extend(escaped(c_bytes)),
                false => shown.extend_from_slice(c_bytes),
            }
        }
        let is_begun = std::str::from_utf8(chunk.invalid()).is_err_and(|error| error.error_len().is_none());
        if chunks.peek().is_some() || !is_begun {
            shown.extend(escaped(chunk.invalid()));
        }
    }
    shown
}

/// Escapes text as in a D string: in octal, unless a shorter escape exists.
pub(crate) fn escaped(text: &[u8]) -> Vec<u8> {
    let mut shown = Vec::with_capacity(text.len());
    for byte in text {
        match byte {
            0x07 => shown.extend(b"\\a"),
            0x08 => shown.extend(b"\\b"),
            0x0c => shown.extend(b"\\f"),
            b'\n' => shown.extend(b"\\n"),
            b'\r' => shown.extend(b"\\r"),
            b'\t' => shown.extend(b"\\t"),
            0x0b => shown.extend(b"\\v"),
            0 => shown.extend(b"\\0"),
            b'"' => shown.extend(b"\\\""),
            b'\\' => shown.extend(b"\\\\"),
            0x20..=0x7e => shown.push(*byte),
            _ => shown.extend(format!("\\{byte:03o}").bytes()),
        }
    }
    shown
}
