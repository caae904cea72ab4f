//! base/diag/color.rs: the colours of messages, as terminal escape sequences.

use std::fmt;
use std::io::{self, Write as _};

use anstyle::{AnsiColor, Reset, Style};
use codespan_reporting::diagnostic::{LabelStyle, Severity as Shown};
use codespan_reporting::term::WriteStyle;

use super::diagnostic::Severity;

const RED: Style = AnsiColor::Red.on_default().bold();
const YELLOW: Style = AnsiColor::Yellow.on_default().bold();
const BLUE: Style = AnsiColor::Blue.on_default();

/// Renders text in a style, if `color`.
pub fn paint(text: &str, style: Style, color: bool) -> String {
    if color { format!("{style}{text}{style:#}") } else { text.to_owned() }
}

/// The style of a title.
pub fn title_style(severity: Severity) -> Style {
    match severity {
        Severity::Error => RED,
        Severity::Warning => YELLOW,
    }
}

/// Collects codespan's output.
pub struct Painted {
    text: Vec<u8>,
    color: bool,
}

impl Painted {
    /// An empty output; without `color`, styles are left out.
    pub fn new(color: bool) -> Painted {
        Painted { text: Vec::new(), color }
    }

    /// The output, with its escape sequences.
    pub fn into_string(self) -> String {
        String::from_utf8_lossy(&self.text).into_owned()
    }

    fn set(&mut self, style: impl fmt::Display) -> io::Result<()> {
        if self.color { write!(self.text, "{style}") } else { Ok(()) }
    }
}

impl io::Write for Painted {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.text.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl WriteStyle for Painted {
    fn set_header(&mut self, _: Shown) -> io::Result<()> {
        Ok(())
    }

    fn set_header_message(&mut self) -> io::Result<()> {
        Ok(())
    }

    fn set_line_number(&mut self) -> io::Result<()> {
        self.set(BLUE)
    }

    fn set_note_bullet(&mut self) -> io::Result<()> {
        self.set(BLUE)
    }

    fn set_source_border(&mut self) -> io::Result<()> {
        self.set(BLUE)
    }

    fn set_label(&mut self, severity: Shown, style: LabelStyle) -> io::Result<()> {
        self.set(match (style, severity) {
            (LabelStyle::Secondary, _) => BLUE,
            (LabelStyle::Primary, Shown::Warning) => YELLOW,
            (LabelStyle::Primary, _) => RED,
        })
    }

    fn reset(&mut self) -> io::Result<()> {
        self.set(Reset)
    }
}
