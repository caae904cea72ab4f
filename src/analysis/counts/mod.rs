//! analysis/counts/: how often each line, instruction and branch of a function is executed, and how long it takes.

pub(crate) mod aggregations;
pub(crate) mod counted;
pub(crate) mod gathered;
pub(crate) mod group;
pub(crate) mod html;
pub(crate) mod latency;
pub(crate) mod object;
pub(crate) mod program;
pub(crate) mod sum;
pub(crate) mod text;
mod timing;
pub(crate) mod view;
