//! typeck/: `plain::Program` → [`typed::Program`].

mod check;
mod clause;
mod declare;
mod dump;
mod env;
mod error;
mod expr;
mod operand;
mod place;
mod report;
mod state;
mod stmt;
#[cfg(test)]
pub(crate) mod tests;
pub mod typed;
mod words;

pub use check::{check, check_read, check_written, describe};
pub use dump::dump;
pub use env::{Env, Library, MissingLocals};
pub use error::{Error, Result};
pub(crate) use expr::fold::narrow;
pub use typed::{ProbeStability, Stability};
