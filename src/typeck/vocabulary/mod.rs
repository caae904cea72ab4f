//! typeck/vocabulary/: the words that D has of itself: variables, actions, subroutines, constants, system calls.

pub(super) mod builtin;
pub(super) mod constants;
pub(super) mod syscalls;
