//! sites/programs/missing.rs: the parts of a program's debug information that are in files which cannot be used.

use std::collections::BTreeMap;
use std::sync::atomic::Ordering;

use super::file::ProgramFile;
use crate::copies::calls::{incomplete, with_missing};
use crate::image::Images as _;
use kinst_base::diag::{Diagnostic, Severity};
use kinst_debuginfo::Error;
use kinst_dwarf::Missing;

impl ProgramFile {
    /// Returns the files with split debug information that are missing, and the number of units that each has.
    pub(crate) fn missing(&self) -> &BTreeMap<Missing, usize> {
        self.missing.get_or_init(|| self.debug_file().map(kinst_dwarf::missing).unwrap_or_default())
    }

    /// Warns of functions that are unknown, as files with split debug information are missing.
    pub(crate) fn warn_of_missing(&self) {
        if self.warned.swap(true, Ordering::Relaxed) {
            return;
        }
        if let Some(file) = self.debug_file().filter(|_| self.is_incomplete()) {
            let warning = self
                .with_missing(incomplete(file))
                .note("functions that are inlined there, and copies there, are unknown");
            self.warn(Diagnostic { severity: Severity::Warning, ..warning });
        }
    }

    /// Whether a part of the debug information is in a file that cannot be used.
    pub(crate) fn is_incomplete(&self) -> bool {
        !self.missing().is_empty() || self.no_alternate().is_some()
    }

    /// Adds the files with debug information that cannot be used.
    pub(crate) fn with_missing(&self, error: Diagnostic) -> Diagnostic {
        let Some(why) = self.no_alternate() else { return with_missing(error, self.missing()) };
        let why = why.diagnostic();
        let error = why.notes.into_iter().fold(error.note(why.title), Diagnostic::note);
        why.help.into_iter().fold(error, Diagnostic::help)
    }

    fn no_alternate(&self) -> Option<&Error> {
        self.debug_file()?.alternate()?.err()
    }
}
