//! consumer/sink.rs: the destination of trace data: standard output, -o, freopen().

use super::message::Message;
use super::stream::{Flushed, Limits, Patience, Pending, Stream};
use std::ffi::OsStr;
use std::io;

/// Buffers output and writes it once per work cycle, so that readers see it soon and writes are few.
#[derive(Debug, Default)]
pub struct Sink {
    /// The output that is not yet written.
    pub pending: Pending,
    /// Standard output, or the file of -o in append mode; `None` if standard output is closed.
    main: Option<Stream>,
    /// The file of freopen(), which replaces `main` until freopen() is called with an empty name.
    reopened: Option<Stream>,
    /// The signal that ends a wait for a reader.
    pub patience: Patience,
}

impl Sink {
    /// Makes a sink for standard output.
    pub fn stdout() -> Sink {
        let mut sink = Sink { main: Stream::stdout().ok(), ..Sink::default() };
        sink.look();
        sink
    }

    /// Opens the file of -o as a sink. Fails if the file cannot be opened.
    pub fn file(path: &str, limits: Limits) -> io::Result<Sink> {
        let mut main = Stream::append(path)?;
        main.limit(limits);
        let mut sink = Sink { main: Some(main), ..Sink::default() };
        sink.look();
        Ok(sink)
    }

    /// Updates whether text goes to a terminal.
    fn look(&mut self) {
        let stream = self.reopened.as_ref().or(self.main.as_ref());
        self.pending.text.is_for_terminal(stream.is_some_and(Stream::is_terminal));
    }

    /// Writes the pending text. Without any, nothing is written, and a closed pipe is not an error.
    pub fn flush(&mut self) -> io::Result<Flushed> {
        match self.reopened.as_mut().or(self.main.as_mut()) {
            Some(stream) => stream.write(&mut self.pending, &self.patience),
            None => {
                self.pending = Pending::default();
                Ok(Flushed::All)
            }
        }
    }

    /// Writes the pending text, however long the reader takes.
    pub fn flush_all(&mut self) -> io::Result<()> {
        let patience = std::mem::take(&mut self.patience);
        let mut flushed = Ok(Flushed::Slow);
        while let Ok(Flushed::Slow) = flushed {
            flushed = self.flush();
        }
        self.patience = patience;
        flushed.map(drop)
    }

    /// Performs freopen(): further output goes to `path`; an empty path restores the previous destination.
    pub fn reopen(&mut self, path: &OsStr) -> io::Result<()> {
        self.flush_all()?;
        self.reopened = if path.is_empty() { None } else { Some(Stream::create(path)?) };
        self.look();
        Ok(())
    }

    /// Performs ftruncate(): empties a file. A terminal or pipe is left alone.
    pub fn truncate(&mut self) -> io::Result<()> {
        self.flush_all()?;
        self.reopened.as_mut().or(self.main.as_mut()).map_or(Ok(()), Stream::truncate)
    }

    /// Opens the file of -o again by its path.
    pub fn renew(&mut self) {
        self.main.iter_mut().for_each(Stream::reopen);
    }

    /// Whether output was lost.
    pub fn failed(&self) -> bool {
        self.main.iter().chain(&self.reopened).any(|stream| stream.failed)
    }

    /// Takes the messages for the user. `ended`: nothing more will be written.
    pub fn take_notes(&mut self, ended: bool) -> Vec<Message> {
        self.main.iter_mut().chain(&mut self.reopened).flat_map(|stream| stream.take_notes(ended)).collect()
    }
}
