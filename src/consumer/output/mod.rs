//! consumer/output/: formatting of records as text.

pub mod bytes;
pub mod flow;
pub mod quantize;
pub mod shape;
pub mod stack;

/// Text to be written. It holds bytes, as what a program traces need not be UTF-8.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Text {
    bytes: Vec<u8>,
}

impl Text {
    pub fn new() -> Text {
        Text::default()
    }

    pub fn put(&mut self, arguments: std::fmt::Arguments<'_>) {
        // Writing to a Vec cannot fail.
        let _ = std::io::Write::write_fmt(&mut self.bytes, arguments);
    }

    pub fn str(&mut self, text: &str) {
        self.bytes.extend_from_slice(text.as_bytes());
    }

    pub fn raw(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
    }

    /// Adds `bytes` in a field of at least `width` columns, counting a byte as a column.
    pub fn padded(&mut self, bytes: &[u8], width: usize, left: bool) {
        let pad = width.saturating_sub(bytes.len());
        if !left {
            self.pad(pad);
        }
        self.raw(bytes);
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

    /// Takes bytes away from the beginning.
    pub fn discard(&mut self, bytes: usize) {
        self.bytes.drain(..bytes.min(self.bytes.len()));
    }

    pub fn clear(&mut self) {
        self.bytes.clear();
    }
}
