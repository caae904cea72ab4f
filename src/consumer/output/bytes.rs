//! consumer/output/bytes.rs: strings, byte arrays and hex dumps.

use super::text::Text;

/// The display style of a by-reference value.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Style {
    pub quiet: bool,
    /// The option rawbytes: always a hex dump.
    pub raw: bool,
    /// The option encoding=utf8: non-ASCII letters count as printable in byte arrays too, as in strings.
    pub utf8: bool,
}

/// Prints a string, up to its first NUL.
pub(crate) fn string(out: &mut Text, value: &[u8], width: usize, style: Style) {
    let text = until_nul(value);
    if style.raw || !printable(text, true) {
        return dump(out, value);
    }
    field(out, text, width, style.quiet);
}

/// Prints bytes of unknown meaning: as a string if they look like one, else as a dump.
pub(crate) fn array(out: &mut Text, value: &[u8], width: usize, style: Style) {
    if value.is_empty() {
        return;
    }
    let text = until_nul(value);
    let terminated = text.len() < value.len();
    let only_padding = value[text.len()..].iter().all(|byte| *byte == 0);
    if style.raw || text.is_empty() || !only_padding || !printable(text, style.utf8) {
        return dump(out, value);
    }
    field(out, text, width, style.quiet && terminated);
}

/// Dumps sixteen bytes per row, after a heading.
pub(crate) fn dump(out: &mut Text, value: &[u8]) {
    const COLUMNS: &[u8; 16] = b"0123456789abcdef";
    out.str("\n           ");
    for column in COLUMNS {
        out.put(format_args!("  {}", *column as char));
    }
    out.str("  0123456789abcdef\n");
    for (row, bytes) in value.chunks(16).enumerate() {
        out.put(format_args!("     {:5x}:", row * 16));
        for byte in bytes {
            out.put(format_args!(" {byte:02x}"));
        }
        out.pad((16 - bytes.len()) * 3 + 2);
        for byte in bytes {
            let shown = if matches!(byte, 0x20..=0x7e) { *byte } else { b'.' };
            out.raw(&[shown]);
        }
        out.str("\n");
    }
}

pub(crate) fn until_nul(value: &[u8]) -> &[u8] {
    value.split(|byte| *byte == 0).next().unwrap_or(value)
}

/// Whether an array of bytes looks like text: at least two characters, all printable, and a NUL after them.
pub(crate) fn is_text(value: &[u8]) -> bool {
    let text = until_nul(value);
    (2..value.len()).contains(&text.len()) && text.iter().all(|byte| matches!(byte, 0x20..=0x7e))
}

fn field(out: &mut Text, text: &[u8], width: usize, bare: bool) {
    if bare {
        out.raw(text);
    } else {
        out.str("  ");
        out.padded(text, width, true);
    }
}

/// Whether dtrace would treat the bytes as text: printable, white space, backspace or bell.
fn printable(text: &[u8], utf8: bool) -> bool {
    let ascii = |byte: u8| matches!(byte, 0x20..=0x7e | 0x07..=0x0d);
    if utf8 && let Ok(text) = std::str::from_utf8(text) {
        return text.chars().all(|c| if c.is_ascii() { ascii(c as u8) } else { !c.is_control() });
    }
    text.iter().all(|byte| ascii(*byte))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(value: &[u8], style: Style) -> String {
        let mut out = Text::new();
        array(&mut out, value, 33, style);
        String::from_utf8(out.as_bytes().to_vec()).unwrap()
    }

    #[test]
    fn text_is_padded_and_bare_when_quiet() {
        let quiet = Style { quiet: true, ..Style::default() };
        assert_eq!(shown(b"abc\0\0", Style::default()), format!("  {:<33}", "abc"));
        assert_eq!(shown(b"abc\0\0", quiet), "abc");
        assert_eq!(shown(b"abc", quiet), format!("  {:<33}", "abc"));
    }

    #[test]
    fn bytes_after_the_nul_make_it_a_dump() {
        assert_eq!(
            shown(b"abc\0d", Style::default()),
            "\n             0  1  2  3  4  5  6  7  8  9  a  b  c  d  e  f  0123456789abcdef\n         0: 61 62 63 00 64                                   abc.d\n"
        );
    }

    #[test]
    fn a_string_may_have_letters_of_any_script() {
        let shown = |value: &[u8]| {
            let mut out = Text::new();
            string(&mut out, value, 0, Style { quiet: true, ..Style::default() });
            String::from_utf8(out.as_bytes().to_vec()).unwrap()
        };
        assert_eq!(shown("\u{65e5}\u{672c}\0".as_bytes()), "\u{65e5}\u{672c}");
        // Invalid UTF-8, a two-byte control character, and an escape sequence.
        for value in [&b"a\xff\0"[..], b"\xc2\x9b1m\0", b"\x1b[2J\0"] {
            assert!(shown(value).starts_with("\n             0  1  2"), "{value:?}");
        }
    }

    #[test]
    fn an_empty_string_is_a_string() {
        let mut out = Text::new();
        string(&mut out, &[0; 8], 5, Style::default());
        assert_eq!(out.as_bytes(), b"       ");
    }
}
