//! analysis/: executions of a function's code: the D that records them, the collected data, inferences, output.

pub(crate) mod counts;
pub mod coverage;
pub(crate) mod listing;
pub(crate) mod page;
pub(crate) mod paths;
pub(crate) mod source;
pub(crate) mod whose;
