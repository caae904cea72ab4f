//! cli/complete/shells.rs: the supported shells.

use clap::Command;
use clap_complete::env::{Bash, EnvCompleter, Fish, Shells, Zsh};
use std::ffi::OsString;
use std::io::{Error, Write};
use std::path::Path;

/// The environment variable that requests completions, set to the shell's name.
pub(super) const VARIABLE: &str = "DTRACE_COMPLETE";

pub(super) const ALL: Shells<'static> = Shells(&[&Colons, &Zsh, &Fish]);

/// Bash, where a colon ends a word; our script rejoins the fields of a probe description.
struct Colons;

impl EnvCompleter for Colons {
    fn name(&self) -> &'static str {
        Bash.name()
    }

    fn is(&self, name: &str) -> bool {
        Bash.is(name)
    }

    fn write_registration(
        &self,
        variable: &str,
        name: &str,
        command: &str,
        completer: &str,
        out: &mut dyn Write,
    ) -> Result<(), Error> {
        let function = format!("_{}", name.replace(|c: char| !c.is_ascii_alphanumeric(), "_"));
        let script = include_str!("bash.sh");
        let placed = [
            ("FUNCTION", &*function),
            ("VARIABLE", variable),
            ("COMPLETER", completer),
            ("COMMAND", command),
        ];
        let script = placed.iter().fold(script.to_owned(), |script, (mark, text)| script.replace(mark, text));
        out.write_all(script.as_bytes())
    }

    fn write_complete(
        &self,
        command: &mut Command,
        arguments: Vec<OsString>,
        folder: Option<&Path>,
        out: &mut dyn Write,
    ) -> Result<(), Error> {
        Bash.write_complete(command, arguments, folder, out)
    }
}
