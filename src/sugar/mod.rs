//! sugar/: [`ast::Program`](crate::parser::ast::Program) → [`plain::Program`].

pub mod plain;
