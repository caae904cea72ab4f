//! analysis/: what executions say of a function's code: the D that watches them, what is gathered, what follows, and how it
//! is shown.

pub mod counts;
pub mod coverage;
pub mod listing;
pub mod page;
pub mod paths;
pub mod source;
pub mod whose;
