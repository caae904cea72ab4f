//! typeck/report/: what a program depends on, and how stable that is.

pub(super) mod stability;
