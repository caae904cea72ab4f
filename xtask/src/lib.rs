//! What the package `checks` needs, too: the checkout, its crates, and other programs.

pub mod crates;
pub mod exec;
pub mod workspace;
