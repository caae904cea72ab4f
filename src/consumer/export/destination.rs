//! consumer/export/destination.rs: the destination of an output format.

use crate::consumer::message::Message;
use crate::consumer::sink::Sink;
use crate::consumer::stream::{Flushed, Limits, Patience, Pending, Stream};
use std::fs::{File, OpenOptions};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("failed to open {path}: {}", reason(.source))]
    Open { path: String, source: io::Error },
    #[error("failed to write {path}: {}; nothing more is written to it", reason(.source))]
    Write { path: String, source: io::Error },
}

/// Returns the system's error message, without Rust's "(os error 2)".
fn reason(error: &io::Error) -> String {
    let text = error.to_string();
    text.split(" (os error").next().unwrap_or(&text).to_owned()
}

#[derive(Debug)]
pub enum Destination {
    /// The destination of text.
    Main,
    /// A file in append mode, or a pipe. `whole`: all output is one piece, so the file is never rotated.
    Append { path: String, stream: Stream, pending: Box<Pending>, whole: bool },
    /// A file that each piece replaces atomically: a reader sees either the old contents or the new.
    Replace { path: PathBuf, failing: bool, notes: Vec<Message> },
    /// A failed destination, or one for a format that sends its data itself.
    Closed,
}

impl Destination {
    pub fn append(path: &str) -> Result<Destination, Error> {
        let opened = Stream::append(path);
        let stream = opened.map_err(|source| Error::Open { path: path.to_owned(), source })?;
        Ok(Destination::stream(path, stream, false))
    }

    /// Opens a file, or a pipe, /dev/stdout and the like. A file is emptied at once, so that the contents of an
    /// earlier run are not mistaken for those of this one.
    pub fn create(path: &str) -> Result<Destination, Error> {
        let created = Stream::create(path);
        let stream = created.map_err(|source| Error::Open { path: path.to_owned(), source })?;
        Ok(Destination::stream(path, stream, true))
    }

    fn stream(path: &str, stream: Stream, whole: bool) -> Destination {
        let mut pending = Box::<Pending>::default();
        pending.text.is_for_terminal(stream.is_terminal());
        Destination::Append { path: path.to_owned(), stream, pending, whole }
    }

    /// Opens a file to be replaced. Fails at once if its directory is not writable: at the end of a trace it would be
    /// too late. A symbolic link stays, and its target is replaced; a pipe or device receives the pieces one after the
    /// other.
    pub fn replace(path: &str) -> Result<Destination, Error> {
        let failed = |source| Error::Open { path: path.to_owned(), source };
        match std::fs::metadata(path) {
            Ok(there) if there.is_dir() => return Err(failed(io::ErrorKind::IsADirectory.into())),
            Ok(there) if !there.is_file() => return Destination::create(path),
            _ => {}
        }
        let file = std::fs::canonicalize(path).unwrap_or_else(|_| path.into());
        let probe = tempfile_beside(&file);
        create(&probe).and_then(|_| std::fs::remove_file(&probe)).map_err(failed)?;
        Ok(Destination::Replace { path: file, failing: false, notes: Vec::new() })
    }

    /// Sets the limits at which an append-mode file is rotated.
    pub fn limit(&mut self, limits: Limits) {
        if let Destination::Append { stream, whole: false, .. } = self {
            stream.limit(limits);
        }
    }

    /// Writes one piece; an append-mode file buffers it until the next flush. If a file cannot be replaced, it keeps
    /// its contents, a note says so once, and the next piece is tried again.
    pub fn write(&mut self, piece: &[u8], sink: &mut Sink) {
        match self {
            Destination::Main => {
                sink.pending.text.raw(piece);
                sink.pending.end();
            }
            Destination::Append { pending, .. } => {
                pending.text.raw(piece);
                pending.end();
            }
            Destination::Replace { path, failing, notes } => {
                let written = replace(path, piece);
                let failed = std::mem::replace(failing, written.is_err());
                let path = path.display();
                notes.extend(match written {
                    Err(error) if !failed => Some(Message::problem(format!(
                        "failed to write {path}: {}; it keeps its old contents until this ends",
                        reason(&error)
                    ))),
                    Ok(()) if failed => Some(Message::problem(format!("{path} can be written again"))),
                    _ => None,
                });
            }
            Destination::Closed => {}
        }
    }

    /// Writes the pending output of an append-mode file.
    pub fn flush(&mut self, patience: &Patience) -> Result<Flushed, Error> {
        let Destination::Append { path, stream, pending, .. } = self else { return Ok(Flushed::All) };
        let flushed = stream.write(pending, patience);
        let flushed = flushed.map_err(|source| Error::Write { path: path.clone(), source });
        if flushed.is_err() {
            *self = Destination::Closed;
        }
        flushed
    }

    /// Whether the pending output should be flushed now.
    pub fn is_full(&self) -> bool {
        matches!(self, Destination::Append { pending, .. } if pending.is_full())
    }

    /// Opens an append-mode file again by its path.
    pub fn renew(&mut self) {
        if let Destination::Append { stream, whole: false, .. } = self {
            stream.reopen();
        }
    }

    /// Takes the messages for the user. `ended`: nothing more will be written.
    pub fn take_notes(&mut self, ended: bool) -> Vec<Message> {
        match self {
            Destination::Append { stream, .. } => stream.take_notes(ended),
            Destination::Replace { notes, .. } => std::mem::take(notes),
            _ => Vec::new(),
        }
    }

    /// Whether output was lost. A replaced file is complete again after the next successful write; `ended`: none will
    /// follow.
    pub fn has_failed(&self, ended: bool) -> bool {
        match self {
            Destination::Append { stream, .. } => stream.failed,
            Destination::Replace { failing, .. } => ended && *failing,
            _ => false,
        }
    }

    /// Whether the destination can be reopened.
    pub fn is_file(&self) -> bool {
        matches!(self, Destination::Append { whole: false, .. })
    }
}

fn replace(path: &Path, piece: &[u8]) -> io::Result<()> {
    let temporary = tempfile_beside(path);
    let written = create(&temporary)
        .and_then(|mut file| file.write_all(piece))
        .and_then(|()| std::fs::rename(&temporary, path));
    if written.is_err() {
        let _ = std::fs::remove_file(&temporary);
    }
    written
}

/// Creates a new file, and removes an existing one first. It never follows a link that another user has put in its
/// place.
fn create(path: &Path) -> io::Result<File> {
    let new = || OpenOptions::new().write(true).create_new(true).open(path);
    match new() {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
            std::fs::remove_file(path)?;
            new()
        }
        opened => opened,
    }
}

/// Returns a temporary path in the same directory, as rename() works only within a file system. Metrics collectors skip
/// its name.
fn tempfile_beside(path: &Path) -> PathBuf {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    path.with_file_name(format!(".{name}.{}", std::process::id()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn notes(destination: &mut Destination) -> Vec<String> {
        destination.take_notes(false).into_iter().map(|note| note.text).collect()
    }

    #[test]
    fn a_file_that_is_replaced_is_tried_again_after_a_failure() {
        let folder = tempfile::tempdir().unwrap();
        let (inner, path) = (folder.path().join("inner"), folder.path().join("inner/x.prom"));
        std::fs::create_dir(&inner).unwrap();
        let mut to = Destination::replace(path.to_str().unwrap()).unwrap();
        let mut sink = Sink::default();
        std::fs::remove_dir(&inner).unwrap();
        to.write(b"one", &mut sink);
        to.write(b"two", &mut sink);
        let name = path.display();
        let text = format!(
            "failed to write {name}: No such file or directory; it keeps its old contents until this ends"
        );
        assert_eq!(notes(&mut to), [text]);
        assert!(to.has_failed(true) && !to.has_failed(false));
        std::fs::create_dir(&inner).unwrap();
        to.write(b"three", &mut sink);
        assert_eq!(notes(&mut to), [format!("{name} can be written again")]);
        assert_eq!(std::fs::read(&path).unwrap(), b"three");
        assert!(!to.has_failed(true));
    }

    #[test]
    fn only_a_file_is_replaced() {
        let folder = tempfile::tempdir().unwrap();
        let (file, link) = (folder.path().join("file"), folder.path().join("link"));
        std::fs::write(&file, "before").unwrap();
        std::os::unix::fs::symlink(&file, &link).unwrap();
        let mut to = Destination::replace(link.to_str().unwrap()).unwrap();
        to.write(b"after", &mut Sink::default());
        assert!(link.is_symlink());
        assert_eq!(std::fs::read(&file).unwrap(), b"after");
        assert!(matches!(Destination::replace("/dev/full"), Ok(Destination::Append { .. })));
        let error = Destination::replace(folder.path().to_str().unwrap()).unwrap_err().to_string();
        assert!(error.ends_with("directory"), "{error}");
    }
}
