//! consumer/stream.rs: writes output to a file, pipe or terminal; handles size limits, losses and slow readers.

use super::message::Message;
use super::output::Text;
use kinst_os::output::{self, Pace, Ready};
use kinst_os::{self};
use std::fs::{File, OpenOptions};
use std::io::{self, ErrorKind, IsTerminal as _, Seek};
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;
use std::time::{Duration, Instant};

/// The limits at which a new file is begun: -x outputsize, outputtime and outputfiles.
#[derive(Clone, Copy, Debug, Default)]
pub struct Limits {
    pub bytes: Option<u64>,
    pub age: Option<Duration>,
    /// The number of former files to keep, as FILE.1 (the newest), FILE.2 …
    pub kept: u32,
}

/// Output that waits to be written. Callers bound it: they flush when it is [`Pending::is_full`].
#[derive(Debug, Default)]
pub struct Pending {
    pub text: Text,
    /// The ends of records; a file ends at one of them.
    ends: Vec<usize>,
}

impl Pending {
    /// Marks the end of a record, or of another piece that is not split across two files.
    pub fn end(&mut self) {
        let at = self.text.as_bytes().len();
        if self.ends.last().is_none_or(|last| *last < at) {
            self.ends.push(at);
        }
    }

    pub fn is_full(&self) -> bool {
        const FULL: usize = 1 << 20;
        self.text.as_bytes().len() >= FULL
    }

    fn clear(&mut self) {
        self.text.clear();
        self.ends.clear();
    }
}

/// The patience of a write with its reader.
#[derive(Debug, Default)]
pub struct Patience {
    /// Becomes readable when the user ends the trace; `None` once it has.
    signal: Option<OwnedFd>,
}

impl Patience {
    pub fn until(signal: OwnedFd) -> Patience {
        Patience { signal: Some(signal) }
    }

    /// From now on, a signal no longer ends a wait; another one ends the process.
    pub fn without_signal(&mut self) {
        self.signal = None;
    }

    /// Waits for a while until the descriptor can be written.
    pub fn wait(&self, fd: &impl AsFd) -> Ready {
        const WHILE: Duration = Duration::from_secs(1);
        output::wait(fd.as_fd(), self.signal.as_ref().map(AsFd::as_fd), WHILE)
    }
}

/// The progress of a write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flushed {
    All,
    /// The reader has not read for a while.
    Slow,
    /// A signal arrived while the reader did not read.
    Interrupted,
}

#[derive(Debug)]
pub struct Stream {
    file: File,
    /// The path, also for messages; `None` for standard output, which cannot be reopened.
    path: Option<String>,
    pace: Pace,
    limits: Limits,
    /// The size of the file, and the time of the first write to it.
    size: u64,
    begun: Instant,
    /// Whether the last write failed.
    failing: bool,
    /// The number of bytes lost since.
    lost: u64,
    notes: Vec<Message>,
    /// Whether output was ever lost.
    pub failed: bool,
}

impl Stream {
    pub fn stdout() -> io::Result<Stream> {
        let file = File::from(io::stdout().as_fd().try_clone_to_owned()?);
        Ok(Stream::new(file, None))
    }

    pub fn append(path: &str) -> io::Result<Stream> {
        Ok(Stream::new(open(path)?, Some(path.to_owned())))
    }

    /// Creates or empties a file without limits.
    pub fn create(path: impl AsRef<Path>) -> io::Result<Stream> {
        let path = path.as_ref();
        Ok(Stream::new(File::create(path)?, Some(path.display().to_string())))
    }

    fn new(file: File, path: Option<String>) -> Stream {
        let (pace, size) = (output::pace(file.as_fd()), length(&file).unwrap_or(0));
        let (failing, lost, failed, notes, begun) = (false, 0, false, Vec::new(), Instant::now());
        Stream { file, path, pace, limits: Limits::default(), size, begun, failing, lost, notes, failed }
    }

    pub fn limit(&mut self, limits: Limits) {
        self.limits = limits;
    }

    pub fn is_terminal(&self) -> bool {
        self.file.is_terminal()
    }

    /// Writes the pending output. If a write to a file fails, the output is lost and a note says so; with a reader,
    /// the error is returned.
    pub fn write(&mut self, pending: &mut Pending, patience: &Patience) -> io::Result<Flushed> {
        if pending.text.is_empty() {
            return Ok(Flushed::All);
        }
        match self.pace {
            Pace::File => {
                self.write_pieces(pending.text.as_bytes(), &pending.ends);
                pending.clear();
                Ok(Flushed::All)
            }
            Pace::Reader { most } => {
                let mut written = 0;
                let flushed = self.serve(pending.text.as_bytes(), most, patience, &mut written);
                pending.text.discard(written);
                // Only files are rotated, not pipes and terminals.
                pending.ends.clear();
                flushed
            }
        }
    }

    /// Writes to a pipe or terminal as its reader reads.
    fn serve(
        &self,
        bytes: &[u8],
        most: usize,
        patience: &Patience,
        written: &mut usize,
    ) -> io::Result<Flushed> {
        while *written < bytes.len() {
            match patience.wait(&self.file) {
                Ready::Signal => return Ok(Flushed::Interrupted),
                Ready::TimedOut => return Ok(Flushed::Slow),
                Ready::Writable => {
                    let next = &bytes[*written..bytes.len().min(*written + most)];
                    *written += output::write(&self.file, next)?;
                }
            }
        }
        Ok(Flushed::All)
    }

    /// Writes pieces to a file, and begins a new file before a piece that would exceed the limits.
    fn write_pieces(&mut self, bytes: &[u8], ends: &[usize]) {
        let (mut from, mut to) = (0, 0);
        // The age of an empty file counts from its first write.
        if self.size == 0 {
            self.begun = Instant::now();
        }
        if self.path.is_some() && (self.limits.bytes.is_some() || self.limits.age.is_some()) {
            for end in ends.iter().copied().chain([bytes.len()]) {
                let (before, with) = (self.size + (to - from) as u64, self.size + (end - from) as u64);
                let large = self.limits.bytes.is_some_and(|most| with > most);
                let old = self.limits.age.is_some_and(|most| self.begun.elapsed() >= most);
                if before > 0 && (large || old) {
                    self.write_file(&bytes[from..to]);
                    self.begin_new_file();
                    from = to;
                }
                to = end;
            }
        }
        self.write_file(&bytes[from..]);
    }

    fn write_file(&mut self, bytes: &[u8]) {
        if bytes.is_empty() {
            return;
        }
        let before = length(&self.file);
        let mut written = 0;
        while written < bytes.len() {
            let error = match output::write(&self.file, &bytes[written..]) {
                Ok(0) => io::Error::from(ErrorKind::WriteZero),
                Ok(more) => {
                    written += more;
                    continue;
                }
                Err(error) => error,
            };
            // Remove a partial record, unless another program has written to the file meanwhile.
            if let Some(before) = before.filter(|before| length(&self.file) == Some(before + written as u64))
            {
                let _ = self.file.set_len(before);
            }
            return self.lose(bytes.len() as u64, &error);
        }
        self.size += bytes.len() as u64;
        if std::mem::replace(&mut self.failing, false) {
            let lost = std::mem::take(&mut self.lost);
            self.notes.push(Message::problem(format!(
                "{} can be written again; {lost} bytes were lost",
                self.name()
            )));
        }
    }

    fn lose(&mut self, bytes: u64, error: &io::Error) {
        self.lost += bytes;
        self.failed = true;
        if !std::mem::replace(&mut self.failing, true) {
            let reason = kinst_os::io_text(error);
            let text = format!("failed to write {}: {reason}; output is lost until this ends", self.name());
            self.notes.push(Message::problem(text));
        }
    }

    fn name(&self) -> &str {
        self.path.as_deref().unwrap_or("standard output")
    }

    /// Renames FILE to FILE.1, the former FILE.1 to FILE.2, and so on, and opens a new FILE. If that fails, output
    /// continues to go to the old file.
    fn begin_new_file(&mut self) {
        let Some(path) = self.path.clone() else { return };
        let rename = |from: &str, to: &str| match std::fs::rename(from, to) {
            // Another program has moved it.
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
            renamed => renamed,
        };
        let kept = (1..self.limits.kept).rev();
        let mut renamed = kept.map(|n| rename(&format!("{path}.{n}"), &format!("{path}.{}", n + 1)));
        let renamed = renamed.try_for_each(|renamed| renamed);
        let opened = renamed.and_then(|()| rename(&path, &format!("{path}.1"))).and_then(|()| open(&path));
        match opened {
            Ok(file) => (self.file, self.size) = (file, 0),
            Err(error) => {
                let reason = kinst_os::io_text(&error);
                self.notes.push(Message::problem(format!(
                    "failed to begin a new file after {path}: {reason}; it keeps growing"
                )));
                // Retry after as much output again.
                self.size = 0;
            }
        }
        self.begun = Instant::now();
    }

    /// Opens the file again by its path, which may lead to another file by now.
    pub fn reopen(&mut self) {
        let Some(path) = &self.path else { return };
        match open(path) {
            Ok(file) => {
                self.size = length(&file).unwrap_or(0);
                (self.file, self.begun) = (file, Instant::now());
                self.pace = output::pace(self.file.as_fd());
            }
            Err(error) => {
                let reason = kinst_os::io_text(&error);
                let text = format!("failed to open {path} again: {reason}; output continues to the old file");
                self.notes.push(Message::problem(text));
            }
        }
    }

    /// Empties a file; a terminal or pipe is left alone.
    pub fn truncate(&mut self) -> io::Result<()> {
        if self.path.is_some() {
            self.file.set_len(0)?;
            self.file.rewind()?;
            self.size = 0;
        }
        Ok(())
    }

    /// Takes the messages for the user. `ended`: nothing more will be written.
    pub fn take_notes(&mut self, ended: bool) -> Vec<Message> {
        let lost = if ended { std::mem::take(&mut self.lost) } else { 0 };
        if lost > 0 {
            let text = format!("{lost} bytes of {} were lost", self.name());
            self.notes.push(Message::problem(text));
        }
        std::mem::take(&mut self.notes)
    }
}

fn open(path: &str) -> io::Result<File> {
    OpenOptions::new().create(true).append(true).open(path)
}

fn length(file: &File) -> Option<u64> {
    file.metadata().ok().filter(std::fs::Metadata::is_file).map(|data| data.len())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    fn pending(records: &[&str]) -> Pending {
        let mut pending = Pending::default();
        for record in records {
            pending.text.str(record);
            pending.end();
        }
        pending
    }

    fn stream(folder: &Path, limits: Limits) -> (Stream, String) {
        let path = folder.join("out").to_str().unwrap().to_owned();
        let mut stream = Stream::append(&path).unwrap();
        stream.limit(limits);
        (stream, path)
    }

    fn write(stream: &mut Stream, records: &[&str]) {
        let flushed = stream.write(&mut pending(records), &Patience::default()).unwrap();
        assert_eq!(flushed, Flushed::All);
    }

    fn files(path: &str) -> Vec<String> {
        let names = std::iter::once(path.to_owned()).chain((1..).map(|n| format!("{path}.{n}")));
        names.map_while(|name| std::fs::read_to_string(name).ok()).collect()
    }

    #[test]
    fn a_file_has_whole_records_and_the_oldest_goes() {
        let folder = tempfile::tempdir().unwrap();
        let limits = Limits { bytes: Some(8), age: None, kept: 2 };
        let (mut stream, path) = stream(folder.path(), limits);
        write(&mut stream, &["one\n", "two\n", "three\n"]);
        assert_eq!(files(&path), ["three\n", "one\ntwo\n"]);
        // A record larger than the limit gets a separate file.
        write(&mut stream, &["four is long\n", "5\n"]);
        assert_eq!(files(&path), ["5\n", "four is long\n", "three\n"]);
        write(&mut stream, &["6\n", "7\n", "8\n", "9\n"]);
        assert_eq!(files(&path), ["9\n", "5\n6\n7\n8\n", "four is long\n"]);
        assert!(stream.take_notes(true).is_empty() && !stream.failed);
    }

    #[test]
    fn what_the_file_had_before_counts() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("out"), "before\n").unwrap();
        let (mut stream, path) = stream(folder.path(), Limits { bytes: Some(8), age: None, kept: 1 });
        write(&mut stream, &["one\n"]);
        assert_eq!(files(&path), ["one\n", "before\n"]);
    }

    #[test]
    fn a_file_is_followed_after_its_time_if_there_is_anything_in_it() {
        let folder = tempfile::tempdir().unwrap();
        let age = Duration::from_millis(30);
        let (mut stream, path) = stream(folder.path(), Limits { bytes: None, age: Some(age), kept: 9 });
        std::thread::sleep(age * 2);
        write(&mut stream, &["one\n", "two\n"]);
        assert_eq!(files(&path), ["one\ntwo\n"]);
        std::thread::sleep(age * 2);
        write(&mut stream, &["three\n"]);
        assert_eq!(files(&path), ["three\n", "one\ntwo\n"]);
    }

    #[test]
    fn a_renamed_file_is_left_when_it_is_opened_again() {
        let folder = tempfile::tempdir().unwrap();
        let (mut stream, path) = stream(folder.path(), Limits::default());
        write(&mut stream, &["one\n"]);
        std::fs::rename(&path, format!("{path}.1")).unwrap();
        write(&mut stream, &["two\n"]);
        stream.reopen();
        write(&mut stream, &["three\n"]);
        assert_eq!(files(&path), ["three\n", "one\ntwo\n"]);
    }

    #[test]
    fn a_full_disk_is_said_once_and_what_was_lost_is_counted() {
        let mut stream = Stream::append("/dev/full").unwrap();
        write(&mut stream, &["one\n"]);
        write(&mut stream, &["two\n", "three\n"]);
        let notes: Vec<_> = stream.take_notes(false).into_iter().map(|note| note.text).collect();
        assert_eq!(
            notes,
            ["failed to write /dev/full: No space left on device; output is lost until this ends"]
        );
        stream.file = File::options().append(true).open("/dev/null").unwrap();
        write(&mut stream, &["four\n"]);
        let notes: Vec<_> = stream.take_notes(true).into_iter().map(|note| note.text).collect();
        assert_eq!(notes, ["/dev/full can be written again; 14 bytes were lost"]);
        assert!(stream.failed);
    }

    #[test]
    fn a_reader_that_does_not_read_is_left_for_a_signal() {
        let (read, write) = io::pipe().unwrap();
        let (signal, mut send) = io::pipe().unwrap();
        let mut stream = Stream::new(File::from(OwnedFd::from(write)), None);
        let mut patience = Patience::until(signal.into());
        let line = "x".repeat(1 << 20);
        let mut waiting = pending(&[&line]);
        assert_eq!(stream.write(&mut waiting, &patience).unwrap(), Flushed::Slow);
        let left = waiting.text.as_bytes().len();
        assert!(left > 0 && left < line.len(), "{left}");
        io::Write::write_all(&mut send, b"!").unwrap();
        assert_eq!(stream.write(&mut waiting, &patience).unwrap(), Flushed::Interrupted);
        patience.without_signal();
        let reader = std::thread::spawn(move || io::copy(&mut { read }, &mut io::sink()).unwrap());
        assert_eq!(stream.write(&mut waiting, &patience).unwrap(), Flushed::All);
        drop(stream);
        assert_eq!(reader.join().unwrap(), line.len() as u64);
    }
}
