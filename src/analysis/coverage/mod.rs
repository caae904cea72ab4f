//! analysis/coverage/: which blocks, lines and branches are executed at all.

pub mod against;
pub mod covered;
pub mod html;
pub mod lcov;
pub mod object;
pub mod program;
pub mod rewrite;
pub mod tally;
pub mod text;
