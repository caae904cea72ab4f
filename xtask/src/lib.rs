//! The parts that the package `checks` needs, too: the checkout, its crates, other programs, and signs of life while they run.

pub mod crates;
pub mod exec;
pub mod steps;
pub mod workspace;
