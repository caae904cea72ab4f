//! analysis/paths/: the paths that calls take through a function.

pub(crate) mod differ;
pub(crate) mod followed;
pub(crate) mod gathered;
pub(crate) mod lines;
pub(crate) mod object;
pub(crate) mod program;
pub(crate) mod text;
pub(crate) mod values;
pub(crate) mod ways;
