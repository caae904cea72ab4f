//! consumer/export/destination.rs: where a format is written.

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

/// The system's text, without Rust's "(os error 2)".
fn reason(error: &io::Error) -> String {
    let text = error.to_string();
    text.split(" (os error").next().unwrap_or(&text).to_owned()
}

#[derive(Debug)]
pub enum Destination {
    /// Where text goes.
    Main,
    /// A file that grows, or a pipe; `whole`: all of it is one piece, so that no other file follows it.
    Append { path: String, stream: Stream, pending: Box<Pending>, whole: bool },
    /// A file that each piece replaces as a whole: a reader sees the old one or the new one.
    Replace { path: PathBuf, failing: bool, notes: Vec<Message> },
    /// A destination that has failed, or of a format that sends by itself.
    Closed,
}

impl Destination {
    pub fn append(path: &str) -> Result<Destination, Error> {
        let opened = Stream::append(path);
        let stream = opened.map_err(|source| Error::Open { path: path.to_owned(), source })?;
        Ok(Destination::stream(path, stream, false))
    }

    /// A file that is emptied now, or a pipe, /dev/stdout and the like: what an earlier run has left in it is not mistaken
    /// for what this one will.
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

    /// The folder must be writable from the start: to find that out at the end of a trace is too late. A link stays, and
    /// the file that it leads to is replaced; a pipe or device gets each piece after the one before.
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

    /// Begins a new file when one that grows exceeds these limits.
    pub fn limit(&mut self, limits: Limits) {
        if let Destination::Append { stream, whole: false, .. } = self {
            stream.limit(limits);
        }
    }

    /// Writes one piece; a file that grows has it when it is flushed. A file that is replaced and cannot be written keeps what
    /// it has, says so once, and gets the next piece.
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
                        "failed to write {path}: {}; it stays as it was until this ends",
                        reason(&error)
                    ))),
                    Ok(()) if failed => Some(Message::problem(format!("{path} is written again"))),
                    _ => None,
                });
            }
            Destination::Closed => {}
        }
    }

    /// Writes what a file that grows does not have yet.
    pub fn flush(&mut self, patience: &Patience) -> Result<Flushed, Error> {
        let Destination::Append { path, stream, pending, .. } = self else { return Ok(Flushed::All) };
        let flushed = stream.write(pending, patience);
        let flushed = flushed.map_err(|source| Error::Write { path: path.clone(), source });
        if flushed.is_err() {
            *self = Destination::Closed;
        }
        flushed
    }

    /// Whether so much waits to be written that it should be flushed now.
    pub fn is_full(&self) -> bool {
        matches!(self, Destination::Append { pending, .. } if pending.is_full())
    }

    /// Opens a file that grows by its name again.
    pub fn renew(&mut self) {
        if let Destination::Append { stream, whole: false, .. } = self {
            stream.reopen();
        }
    }

    /// Takes what there is to tell the user. `ended`: nothing more will be written.
    pub fn take_notes(&mut self, ended: bool) -> Vec<Message> {
        match self {
            Destination::Append { stream, .. } => stream.take_notes(ended),
            Destination::Replace { notes, .. } => std::mem::take(notes),
            _ => Vec::new(),
        }
    }

    /// Whether something was lost. A file that is replaced has everything again once it is written; `ended`: it is not any more.
    pub fn has_failed(&self, ended: bool) -> bool {
        match self {
            Destination::Append { stream, .. } => stream.failed,
            Destination::Replace { failing, .. } => ended && *failing,
            _ => false,
        }
    }

    /// Whether it can be opened again.
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

/// Creates a file that is not there, or anew: never through a link that another user of the folder has made of its name.
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

/// A name in the same folder, as a file is only renamed within its file system. Collectors of metrics skip it.
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
        let text =
            format!("failed to write {name}: No such file or directory; it stays as it was until this ends");
        assert_eq!(notes(&mut to), [text]);
        assert!(to.has_failed(true) && !to.has_failed(false));
        std::fs::create_dir(&inner).unwrap();
        to.write(b"three", &mut sink);
        assert_eq!(notes(&mut to), [format!("{name} is written again")]);
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
