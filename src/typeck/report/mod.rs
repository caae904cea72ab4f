//! typeck/report/: the dependencies of a program, and how stable they are.

pub(super) mod stability;
