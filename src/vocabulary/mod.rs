//! vocabulary/: D's own words: variables, actions, subroutines, constants, system calls.

pub mod builtin;
pub(crate) mod callee;
pub(crate) mod constants;
pub(crate) mod peers;
pub(crate) mod syscalls;

/// The macro variables of the language.
pub const MACRO_VARIABLES: [&str; 11] =
    ["egid", "euid", "gid", "pid", "pgid", "ppid", "projid", "sid", "taskid", "target", "uid"];

/// Whether the word is a variable, constant or function that every program has.
pub fn is_known_name(word: &str) -> bool {
    builtin::lookup(word).is_some() || constants::lookup(word).is_some()
}
