//! consumer/output/text.rs: output text as bytes, escaped for a terminal.

use super::escape::visible;
use std::borrow::Cow;

/// Output text. It holds bytes, as traced data need not be UTF-8.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Text {
    bytes: Vec<u8>,
    /// Whether the text is for a terminal, where control characters are made [`visible`], except in [`Text::own`].
    terminal: bool,
}

impl Text {
    pub fn new() -> Text {
        Text::default()
    }

    /// Returns an empty text for the same destination.
    pub fn alike(&self) -> Text {
        Text { bytes: Vec::new(), terminal: self.terminal }
    }

    /// Sets whether text added from now on is for a terminal.
    pub fn is_for_terminal(&mut self, terminal: bool) {
        self.terminal = terminal;
    }

    pub fn put(&mut self, arguments: std::fmt::Arguments<'_>) {
        if self.terminal {
            return self.raw(arguments.to_string().as_bytes());
        }
        // Writing to a Vec cannot fail.
        let _ = std::io::Write::write_fmt(&mut self.bytes, arguments);
    }

    pub fn str(&mut self, text: &str) {
        self.raw(text.as_bytes());
    }

    pub fn raw(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(&self.shown(bytes));
    }

    /// Adds text that the author of the D program has written, without escapes: the author may clear the screen.
    pub fn own(&mut self, text: &[u8]) {
        self.bytes.extend_from_slice(text);
    }

    /// Appends a text that was made with [`Text::alike`].
    pub fn append(&mut self, text: &Text) {
        self.bytes.extend_from_slice(&text.bytes);
    }

    fn shown<'a>(&self, bytes: &'a [u8]) -> Cow<'a, [u8]> {
        if self.terminal { visible(bytes) } else { Cow::Borrowed(bytes) }
    }

    /// Adds `bytes` in a field of at least `width` columns, one column per byte.
    pub fn padded(&mut self, bytes: &[u8], width: usize, left: bool) {
        let bytes = self.shown(bytes);
        let pad = width.saturating_sub(bytes.len());
        if !left {
            self.pad(pad);
        }
        self.bytes.extend_from_slice(&bytes);
        if left {
            self.pad(pad);
        }
    }

    pub fn pad(&mut self, columns: usize) {
        self.bytes.resize(self.bytes.len() + columns, b' ');
    }

    pub fn as_bytes(&self) -> &[u8] {
        &self.bytes
    }

    pub fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    /// Removes bytes from the start.
    pub fn discard(&mut self, bytes: usize) {
        self.bytes.drain(..bytes.min(self.bytes.len()));
    }

    pub fn clear(&mut self) {
        self.bytes.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const EVIL: &[u8] = b"a\x1b[2J\r\x07\n\t\xc2\x9b1m\x9b\x7f\xe6\x97\xa5";

    #[test]
    fn a_terminal_gets_no_control_characters_of_others() {
        let mut text = Text::new();
        text.is_for_terminal(true);
        text.own(b"\x1b[H");
        text.raw(EVIL);
        let shown = "a\\033[2J\\r\\a\n\t\\302\\2331m\\233\\177\u{65e5}";
        assert_eq!(String::from_utf8_lossy(text.as_bytes()), format!("\x1b[H{shown}"));
        let mut other = text.alike();
        other.own(b"\x1b[H");
        other.put(format_args!("{}", String::from_utf8_lossy(b"\x1b")));
        other.padded(b"\x1b", 6, true);
        assert_eq!(other.as_bytes(), b"\x1b[H\\033\\033  ");
        text.clear();
        text.append(&other);
        assert_eq!(text, other);
    }

    #[test]
    fn files_and_pipes_get_every_byte() {
        let mut text = Text::new();
        text.raw(EVIL);
        text.padded(b"\x1b", 3, false);
        assert_eq!(text.as_bytes(), [EVIL, b"  \x1b"].concat());
    }
}
