//! consumer/sink.rs: where the trace data goes: standard output, -o, freopen().

use super::output::Text;
use std::fs::{File, OpenOptions};
use std::io::{self, Seek, Write};

/// Output is written once a work cycle, so that a reader sees it soon and a writer is not slowed by many calls.
#[derive(Debug)]
pub struct Sink {
    pub text: Text,
    /// -o: appended to. Else standard output.
    file: Option<File>,
    /// freopen(): instead of the above, until it is called with an empty name.
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

    /// Nothing to write is nothing written, not an error of a closed pipe.
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

    /// freopen(): what follows goes to `path`; an empty path goes back.
    pub fn reopen(&mut self, path: &str) -> io::Result<()> {
        self.flush()?;
        self.reopened = match path {
            "" => None,
            _ => Some(File::create(path)?),
        };
        Ok(())
    }

    /// ftruncate(): a file starts again; a terminal or a pipe cannot.
    pub fn truncate(&mut self) -> io::Result<()> {
        self.flush()?;
        if let Some(file) = self.reopened.as_mut().or(self.file.as_mut()) {
            file.set_len(0)?;
            file.rewind()?;
        }
        Ok(())
    }
}
