//! parser/: D text → [`ast::Program`].

pub mod ast;
