//! cli/complete/: completion in bash, zsh and fish, by the command itself: a shell calls it with `DTRACE_COMPLETE` set.

mod candidates;
mod line;
mod probes;
mod programs;
mod shells;

use super::dtrace_args;
use clap::Command;
use clap::builder::ValueHint;
use clap_complete::engine::ArgValueCompleter;
use clap_complete::{CompleteEnv, CompletionCandidate};
use std::ffi::OsStr;

/// Prints completions and exits, if `DTRACE_COMPLETE` is set. `DTRACE_COMPLETE=bash dtrace` prints the script for bash.
pub fn answer() {
    CompleteEnv::with_factory(command).var(shells::VARIABLE).shells(shells::ALL).complete();
}

/// Returns the script that a shell reads to complete this command, or `None` for a shell that is not supported.
pub fn registration(shell: &str, name: &str) -> Option<String> {
    let mut text = Vec::new();
    let completer = shells::ALL.completer(shell)?;
    completer.write_registration(shells::VARIABLE, name, name, name, &mut text).ok()?;
    String::from_utf8(text).ok()
}

type Completer = fn(&OsStr) -> Vec<CompletionCandidate>;

/// The options whose values have their own completer.
const COMPLETERS: [(&str, Completer); 13] = [
    ("name", probes::descriptions),
    ("provider", probes::providers),
    ("module", probes::modules),
    ("function", probes::functions),
    ("disas", probes::disassembled),
    ("annotate", probes::disassembled),
    ("coverage", probes::disassembled),
    ("path", probes::disassembled),
    ("into", probes::disassembled),
    ("format", candidates::output_formats),
    ("option", candidates::settings),
    ("message-format", candidates::message_formats),
    ("pid", candidates::processes),
];

/// The options whose values are paths.
const HINTS: [(&str, ValueHint); 13] = [
    ("script", ValueHint::FilePath),
    ("output", ValueHint::FilePath),
    ("fmt", ValueHint::FilePath),
    ("html", ValueHint::FilePath),
    ("lcov", ValueHint::FilePath),
    ("merge", ValueHint::FilePath),
    ("against", ValueHint::FilePath),
    ("export", ValueHint::FilePath),
    ("import", ValueHint::AnyPath),
    ("vmlinux", ValueHint::FilePath),
    ("sysroot", ValueHint::DirPath),
    ("libdir", ValueHint::DirPath),
    ("include", ValueHint::DirPath),
];

/// Returns the command line with the completers of its values.
fn command() -> Command {
    let command = COMPLETERS.into_iter().fold(dtrace_args::command(), |command, (option, completer)| {
        command.mut_arg(option, |arg| arg.add(ArgValueCompleter::new(completer)))
    });
    HINTS
        .into_iter()
        .fold(command, |command, (option, hint)| command.mut_arg(option, |arg| arg.value_hint(hint)))
}
