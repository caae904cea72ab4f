//! cli/output.rs: standard output, standard error, and the system's error messages.

use kinst_os::output::Stdout;
use std::fs::{File, OpenOptions};
use std::io::{self, ErrorKind, Write};

/// Returns the system's error message, without Rust's "(os error 2)".
pub(super) fn reason(error: &std::io::Error) -> String {
    let text = error.to_string();
    text.split(" (os error").next().unwrap_or(&text).to_owned()
}

/// Prints to standard output. A closed pipe is not an error.
pub(super) fn print(text: &str) -> std::io::Result<()> {
    match Stdout.write_all(text.as_bytes()) {
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(()),
        written => written,
    }
}

pub(super) fn eprint(text: &str) {
    let _ = std::io::stderr().lock().write_all(text.as_bytes());
}

/// A file that is written when a trace has ended. It is opened before the trace, so that no measurement is lost to a
/// wrong path, and keeps its old contents until then.
pub(super) struct AtEnd {
    path: String,
    file: File,
    /// Whether this run created it; if so, it is removed if nothing is written to it.
    is_new: bool,
}

impl AtEnd {
    pub(super) fn open(path: &str) -> io::Result<AtEnd> {
        let is_new = std::fs::symlink_metadata(path).is_err();
        let file = OpenOptions::new().write(true).create(true).truncate(false).open(path)?;
        Ok(AtEnd { path: path.to_owned(), file, is_new })
    }

    pub(super) fn name(&self) -> &str {
        &self.path
    }

    pub(super) fn write(&mut self, text: &str) -> io::Result<()> {
        self.is_new = false;
        // A pipe or device has no length.
        if self.file.metadata()?.is_file() {
            self.file.set_len(0)?;
        }
        self.file.write_all(text.as_bytes())
    }
}

impl Drop for AtEnd {
    fn drop(&mut self) {
        if self.is_new {
            let _ = std::fs::remove_file(&self.path);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::AtEnd;
    use std::fs;

    #[test]
    fn a_file_keeps_what_it_has_until_it_is_written() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
        fs::write(path("old"), "before, and longer").unwrap();
        let mut old = AtEnd::open(&path("old")).unwrap();
        assert_eq!(fs::read(path("old")).unwrap(), b"before, and longer");
        old.write("after").unwrap();
        drop(old);
        assert_eq!(fs::read(path("old")).unwrap(), b"after");
        drop(AtEnd::open(&path("new")).unwrap());
        assert!(fs::metadata(path("new")).is_err(), "nothing was written");
        assert!(AtEnd::open(&path("nowhere/new")).is_err());
        AtEnd::open("/dev/null").unwrap().write("text").unwrap();
    }
}
