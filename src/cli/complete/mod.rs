//! cli/complete/: completion in bash, zsh and fish, by the command itself: a shell calls it with `DTRACE_COMPLETE` set.

mod candidates;
mod probes;
mod shells;

use super::dtrace_args;
use clap::Command;
use clap::builder::ValueHint;
use clap_complete::CompleteEnv;
use clap_complete::engine::ArgValueCompleter;

/// Answers a shell and ends the process, if one asks. `DTRACE_COMPLETE=bash dtrace` prints what bash has to read.
pub fn answer() {
    CompleteEnv::with_factory(command).var(shells::VARIABLE).shells(shells::ALL).complete();
}

/// Returns what a shell has to read to complete this command, or `None` for a shell that is not supported.
pub fn registration(shell: &str, name: &str) -> Option<String> {
    let mut text = Vec::new();
    let completer = shells::ALL.completer(shell)?;
    completer.write_registration(shells::VARIABLE, name, name, name, &mut text).ok()?;
    String::from_utf8(text).ok()
}

/// The command line, with the candidates for values.
fn command() -> Command {
    let with = |option: &'static str, completer: fn(&std::ffi::OsStr) -> Vec<_>| {
        move |command: Command| command.mut_arg(option, |arg| arg.add(ArgValueCompleter::new(completer)))
    };
    let hint = |option: &'static str, hint: ValueHint| {
        move |command: Command| command.mut_arg(option, |arg| arg.value_hint(hint))
    };
    let command = dtrace_args::command();
    let command = with("name", probes::descriptions)(command);
    let command = with("provider", probes::providers)(command);
    let command = with("module", probes::modules)(command);
    let command = with("function", probes::functions)(command);
    let command = with("disas", probes::disassembled)(command);
    let command = with("option", candidates::settings)(command);
    let command = with("message-format", candidates::formats)(command);
    let command = with("pid", candidates::processes)(command);
    let files = ["script", "output", "fmt", "vmlinux"];
    let command =
        files.into_iter().fold(command, |command, option| hint(option, ValueHint::FilePath)(command));
    let folders = ["sysroot", "libdir", "include"];
    folders.into_iter().fold(command, |command, option| hint(option, ValueHint::DirPath)(command))
}
