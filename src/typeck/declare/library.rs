//! typeck/declare/library.rs: libraries: declarations before the program's; skipped if they do not fit the kernel.

use std::collections::HashMap;

use crate::parser::ast::ProbeDesc;
use crate::sugar::plain;
use crate::typeck::env::Library;
use crate::typeck::error;
use crate::typeck::error::{Error, Result};
use crate::typeck::state::Checker;
use crate::typeck::state::declared::{Inline, Provider};
use crate::typeck::state::names::Mark;
use kinst_base::source::Span;
use kinst_types::Type;
use kinst_types::declared::Declared;

/// The state before a library was read, restored if the library is left out.
struct Before {
    names: Mark,
    declared: Declared,
    externs: HashMap<String, (Type, Span)>,
    inlines: HashMap<String, Inline>,
    translators: usize,
    providers: HashMap<String, Provider>,
}

impl Checker<'_> {
    /// Reads a library. If one of its dependencies is missing, the library is left out without an error.
    pub(in crate::typeck) fn load(&mut self, library: &Library<'_>) -> Result<()> {
        let before = Before {
            names: self.names.mark(),
            declared: self.declared.clone(),
            externs: self.externs.clone(),
            inlines: self.inlines.clone(),
            translators: self.translators.len(),
            providers: self.providers.clone(),
        };
        self.in_library = true;
        let result = self.define_library(library.program);
        self.in_library = false;
        match result {
            Ok(()) => self.loaded.push(library.name.to_string()),
            Err(error)
                if library.own || matches!(*error, Error::Pragma(error::Pragma::Dependency { .. })) =>
            {
                self.forget_library(before);
            }
            Err(error) => return Err(error),
        }
        Ok(())
    }

    /// Checks what the library declares. Clauses in a library are not enabled.
    fn define_library(&mut self, program: &plain::Program<ProbeDesc>) -> Result<()> {
        program.items.iter().try_for_each(|item| self.check_item(item))?;
        program.items.iter().try_for_each(|item| match item {
            plain::Item::Provider(provider) => self.define_provider(provider),
            _ => Ok(()),
        })
    }

    fn forget_library(&mut self, before: Before) {
        self.names.reset(&before.names);
        self.declared = before.declared;
        self.externs = before.externs;
        self.inlines = before.inlines;
        self.translators.truncate(before.translators);
        self.providers = before.providers;
    }
}
