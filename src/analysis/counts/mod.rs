//! analysis/counts/: how often each line, instruction and branch of a function is executed, and how long it takes.

pub mod counted;
pub mod gathered;
pub mod html;
pub mod latency;
pub mod object;
pub mod program;
pub mod sum;
pub mod text;
pub mod view;
