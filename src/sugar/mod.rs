//! sugar/: [`ast::Program`](crate::parser::ast::Program) → [`plain::Program`]; the rewrites and their order are in passes.rs.

mod aliases;
mod conditional;
mod error_guard;
mod if_else;
mod inline_probes;
mod passes;
pub mod plain;
mod synth;

pub use aliases::Aliases;
pub use inline_probes::{MakeIndex, Stopped};
pub use passes::{Env, as_written, desugar};
