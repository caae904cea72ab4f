//! parser/lex/: the lexer's modes: outer, probe description, body, control line; one external declaration at a time.

pub(super) mod brackets;
pub(super) mod control;
pub(super) mod header;
pub(super) mod lexer;
pub(super) mod literal;
pub(super) mod macros;
pub(super) mod options;
pub(super) mod probe;
mod scan;
pub(super) mod syntax;
pub(super) mod token;
pub(super) mod words;
