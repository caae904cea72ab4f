//! cli/report.rs: messages on standard error, and exit statuses.

use super::output;
use kinst_base::diag::{Diagnostic, Severity, color};
use kinst_base::source::{FileId, Sources, Span};
use std::io::{IsTerminal, Write};
use std::os::fd::AsFd as _;

/// The exit status after an error. A program's exit() sets others.
pub(crate) const FAILURE: u8 = 1;
pub(crate) const USAGE: u8 = 2;

/// The format of messages.
#[derive(Clone, Debug)]
pub(crate) struct Report {
    /// The command's name, which starts each message.
    pub program: String,
    pub color: bool,
    /// The columns of the terminal that messages go to.
    pub width: Option<usize>,
    /// --message-format=json: one object per line.
    pub json: bool,
    /// -xerrtags
    pub errtags: bool,
    /// Whether notices are left out.
    pub quiet: bool,
}

impl Report {
    pub(crate) fn new(program: &str) -> Report {
        let stderr = std::io::stderr();
        let (color, width) = (in_color(&stderr), kinst_os::columns(stderr.as_fd()));
        Report { program: program.to_owned(), color, width, json: false, errtags: false, quiet: false }
    }

    /// Reports an error, with a help line.
    pub(crate) fn error(&self, text: &str, help: Option<&str>) {
        if self.json {
            return self.object("error", text, help);
        }
        self.line(&color::paint(text, color::title_style(Severity::Error), self.color));
        if let Some(help) = help {
            write(&format!("  = help: {help}\n"));
        }
    }

    /// Prints to standard output; returns the exit status.
    pub(crate) fn print(&self, text: &str) -> u8 {
        let Err(error) = output::print(text) else { return 0 };
        self.error(&format!("failed to write standard output: {}", output::reason(&error)), None);
        FAILURE
    }

    /// Reports a fact that is not an error: losses, faults, refused places.
    pub(crate) fn warning(&self, text: &str) {
        if self.json { self.object("warning", text, None) } else { self.line(text) }
    }

    /// Reports a fact that -q suppresses.
    pub(crate) fn notice(&self, text: &str) {
        if self.quiet {
            return;
        }
        if self.json { self.object("notice", text, None) } else { self.line(text) }
    }

    pub(crate) fn diagnostic(&self, sources: &Sources, diagnostic: &Diagnostic, subject: Option<FileId>) {
        use kinst_base::diag::render::{Style, json, text};
        let Report { color, errtags, width, .. } = *self;
        let style = Style { program: &self.program, color, errtags, subject, width };
        match self.json {
            true => write(&format!("{}\n", json(sources, diagnostic, &style))),
            false => write(&text(sources, diagnostic, &style)),
        }
    }

    fn line(&self, text: &str) {
        write(&format!("{}: {text}\n", self.program));
    }

    fn object(&self, severity: &str, title: &str, help: Option<&str>) {
        let help: Vec<&str> = help.into_iter().collect();
        write(&format!("{}\n", serde_json::json!({ "severity": severity, "title": title, "help": help })));
    }
}

/// A part of a generated program that the user wrote, as the value of an option.
pub(crate) struct Inserted {
    /// Its place in the program.
    pub place: Span,
    /// The value.
    pub file: FileId,
}

/// Moves labels in an inserted part of the program, or on the parentheses around it, to the value of the option.
pub(crate) fn placed(mut diagnostic: Diagnostic, inserted: &[Inserted]) -> Diagnostic {
    for label in &mut diagnostic.labels {
        let inside = |one: &&Inserted| {
            let (place, span) = (one.place, label.span);
            place.file == span.file && place.start <= span.start + 1 && span.end <= place.end + 1
        };
        if let Some(Inserted { place, file }) = inserted.iter().find(inside) {
            let Span { start, end, .. } = label.span;
            let (start, end) = (start.max(place.start), end.min(place.end));
            label.span = Span { file: *file, start: start - place.start, end: end - place.start };
        }
    }
    diagnostic
}

/// Whether output to `to` is coloured: it is a terminal, and NO_COLOR is unset or empty.
pub(crate) fn in_color(to: &impl IsTerminal) -> bool {
    let no_color = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
    !no_color && to.is_terminal()
}

/// Writes to standard error, and ignores a closed pipe.
fn write(text: &str) {
    let _ = std::io::stderr().lock().write_all(text.as_bytes());
}
