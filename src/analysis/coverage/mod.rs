//! analysis/coverage/: which blocks, lines and branches are executed at least once.

pub(crate) mod against;
pub(crate) mod covered;
pub(crate) mod html;
pub(crate) mod lcov;
pub(crate) mod object;
pub(crate) mod program;
pub mod rewrite;
pub(crate) mod tally;
pub(crate) mod text;
