//! analysis/: what executions say of a function's code: the D that watches them, what is gathered, what follows, and how it
//! is shown.

pub(crate) mod counts;
pub mod coverage;
pub(crate) mod listing;
pub(crate) mod page;
pub(crate) mod paths;
pub(crate) mod source;
pub(crate) mod whose;
