//! diag/color.rs: the colours of messages, as terminal escape sequences.

use std::io;

use codespan_reporting::diagnostic::{LabelStyle, Severity as Shown};
use codespan_reporting::term::WriteStyle;

use super::Severity;

const RESET: &str = "\x1b[0m";
const RED: &str = "\x1b[1;31m";
const YELLOW: &str = "\x1b[1;33m";
const BLUE: &str = "\x1b[34m";

/// Paints the title in the colour of its severity.
pub fn paint(text: &str, severity: Severity, color: bool) -> String {
    match (color, severity) {
        (false, _) => text.to_owned(),
        (true, Severity::Error) => format!("{RED}{text}{RESET}"),
        (true, Severity::Warning) => format!("{YELLOW}{text}{RESET}"),
    }
}

/// Collects codespan's output.
pub struct Painted {
    text: Vec<u8>,
    color: bool,
}

impl Painted {
    pub fn new(color: bool) -> Painted {
        Painted { text: Vec::new(), color }
    }

    pub fn into_string(self) -> String {
        String::from_utf8_lossy(&self.text).into_owned()
    }

    fn set(&mut self, sequence: &str) -> io::Result<()> {
        if self.color {
            self.text.extend_from_slice(sequence.as_bytes());
        }
        Ok(())
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
        self.set(RESET)
    }
}
