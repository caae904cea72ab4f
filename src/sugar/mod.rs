//! sugar/: [`ast::Program`](crate::parser::ast::Program) → `plain::Program`; passes.rs lists the rewrites.

mod aliases;
mod conditional;
mod error_guard;
mod if_else;
mod inline_probes;
mod passes;
pub(crate) mod plain;
mod stage;
mod synth;

pub use aliases::{Aliases, Unaliased};
pub use inline_probes::{MakeIndex, Stopped};
pub use passes::{Env, as_written, desugar};
