//! The parts that the package `checks` shares: the checkout, its crates, running other programs, and showing
//! progress.

pub mod crates;
pub mod exec;
pub mod steps;
pub mod workspace;
