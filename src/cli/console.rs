//! cli/console.rs: the user's side of a run: messages, progress, signals, and the output file.

use super::output::reason;
use super::pager::Pager;
use super::progress::Progress;
use super::report::{Report, in_color};
use kinst_base::diag::Diagnostic;
use kinst_base::source::Sources;
use kinst_os::signals::Signals;
use kinst_sites::Cache;
use std::io::{IsTerminal as _, Write as _};
use std::sync::Arc;

/// A failure whose reason has been reported.
#[derive(Debug)]
pub(crate) struct Failed;

/// Everything that a run writes to, and the signals that interrupt it.
pub(crate) struct Console {
    pub report: Report,
    pub progress: Arc<Progress>,
    pub signals: Signals,
    /// The file of -o, which replaces standard output.
    pub output: Option<String>,
}

impl Console {
    pub(crate) fn new(report: Report, output: Option<String>) -> Result<Console, Failed> {
        let progress = Arc::new(Progress::default());
        let shown = Arc::clone(&progress);
        let before_end = move || {
            shown.clear();
            Cache::close();
        };
        let signals = Signals::install(before_end).map_err(|error| {
            report.error(&format!("failed to watch for signals: {}", reason(&error)), None);
            Failed
        })?;
        Ok(Console { report, progress, signals, output })
    }

    pub(crate) fn print(&self, text: &str) -> Result<(), Failed> {
        if self.report.print(text) == 0 { Ok(()) } else { Err(Failed) }
    }

    /// Writes to standard output, or appends to the file of -o.
    pub(crate) fn put(&self, text: &str) -> Result<(), Failed> {
        let Some(path) = self.output.as_ref().filter(|_| !text.is_empty()) else {
            return self.print(text);
        };
        let file = std::fs::OpenOptions::new().create(true).append(true).open(path);
        file.and_then(|mut file| file.write_all(text.as_bytes()))
            .or_else(|error| self.fail(&format!("failed to open {path}: {}", reason(&error)), None))
    }

    /// Like [`Console::put`], but through the pager on a terminal.
    pub(crate) fn show(&self, text: &str) -> Result<(), Failed> {
        let to_terminal = self.output.is_none() && std::io::stdout().is_terminal();
        if to_terminal && Pager::show(text) { Ok(()) } else { self.put(text) }
    }

    /// Whether the output is coloured.
    pub(crate) fn in_color(&self) -> bool {
        self.output.is_none() && in_color(&std::io::stdout())
    }

    pub(crate) fn fail<T>(&self, text: &str, help: Option<&str>) -> Result<T, Failed> {
        self.report.error(text, help);
        Err(Failed)
    }

    /// Reports a diagnostic without a position in D text.
    pub(crate) fn diagnostic(&self, diagnostic: &Diagnostic) {
        self.report.diagnostic(&Sources::default(), diagnostic, None);
    }

    /// Reports an error without a position in D text.
    pub(crate) fn reported<T>(&self, result: Result<T, Box<Diagnostic>>) -> Result<T, Failed> {
        result.map_err(|diagnostic| {
            self.diagnostic(&diagnostic);
            Failed
        })
    }
}
