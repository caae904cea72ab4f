//! sugar/plain.rs: the tree after the sugar pass: no `if`, no inline probes.

use crate::parser::ast::{Declaration, Expr, Pragma, ProbeDesc};
use crate::source::Span;

#[derive(Clone, Debug, PartialEq)]
pub struct Program {
    pub items: Vec<Item>,
}

#[derive(Clone, Debug, PartialEq)]
pub enum Item {
    Clause(Clause),
    Pragma(Pragma),
    Declaration(Declaration),
}

#[derive(Clone, Debug, PartialEq)]
pub struct Clause {
    pub probes: Vec<ProbeDesc>,
    pub predicate: Option<Expr>,
    /// `None`: no braces at all, as the command line allows.
    pub body: Option<Vec<Expr>>,
    pub span: Span,
}
