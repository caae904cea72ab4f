//! consumer/sink.rs: the destination of trace data: standard output, -o, freopen().

use super::output::Text;
use std::fs::{File, OpenOptions};
use std::io::{self, Seek, Write};

/// Buffers output and writes it once per work cycle, so that a reader sees it soon and writes are few.
#[derive(Debug)]
pub struct Sink {
    pub text: Text,
    /// The file of -o, appended to; standard output if `None`.
    file: Option<File>,
    /// The file of freopen(), used instead until freopen() is called with an empty name.
    reopened: Option<File>,
}

impl Sink {
    pub fn stdout() -> Sink {
        Sink { text: Text::new(), file: None, reopened: None }
    }

    pub fn file(path: &str) -> io::Result<Sink> {
        let file = OpenOptions::new().create(true).append(true).open(path)?;
        Ok(Sink { file: Some(file), ..Sink::stdout() })
    }

    /// Writes the text. If there is none, nothing is written, and a closed pipe is not an error.
    pub fn flush(&mut self) -> io::Result<()> {
        if self.text.is_empty() {
            return Ok(());
        }
        let bytes = self.text.as_bytes();
        let written = match self.reopened.as_mut().or(self.file.as_mut()) {
            Some(file) => file.write_all(bytes),
            None => {
                let mut stdout = io::stdout().lock();
                stdout.write_all(bytes).and_then(|()| stdout.flush())
            }
        };
        self.text.clear();
        written
    }

    /// Performs freopen(): further output goes to `path`; an empty path restores the previous destination.
    pub fn reopen(&mut self, path: &str) -> io::Result<()> {
        self.flush()?;
        self.reopened = match path {
            "" => None,
            _ => Some(File::create(path)?),
        };
        Ok(())
    }

    /// Performs ftruncate(): empties a file; a terminal or a pipe cannot be truncated.
    pub fn truncate(&mut self) -> io::Result<()> {
        self.flush()?;
        if let Some(file) = self.reopened.as_mut().or(self.file.as_mut()) {
            file.set_len(0)?;
            file.rewind()?;
        }
        Ok(())
    }
}
