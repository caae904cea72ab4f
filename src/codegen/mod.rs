//! codegen/: [`typed::Program`](crate::typeck::typed::Program) → [`dif::Program`](kinst_dif::Program).

#![deny(clippy::wildcard_enum_match_arm)]

mod agg;
mod bits;
mod element;
mod error;
mod expr;
mod generator;
mod layout;
mod logic;
mod need;
mod place;
mod regs;
mod stmt;
#[cfg(test)]
mod tests;
mod uses;

pub use error::{Error, Result};
pub use generator::generate;
