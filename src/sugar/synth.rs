//! sugar/synth.rs: synthesized variables and the expressions around them; each has the span of the user's text.

use crate::parser::ast::{BinaryOp, Expr, ExprKind, Scope, TypeName, TypeSpec, UnaryOp};
use kinst_base::source::{Span, Spanned};

/// `self->%error`: whether a clause of this firing has failed. Users cannot type the `%`, so names cannot clash.
pub(super) fn error_flag(origin: Span) -> Expr {
    variable(Scope::SelfThread, "%error".to_owned(), origin)
}

/// `this->%condition_N`: the value of the clause's Nth condition.
pub(super) fn condition(number: u32, origin: Span) -> Expr {
    variable(Scope::This, format!("%condition_{number}"), origin)
}

pub(super) fn integer(value: u64, origin: Span) -> Expr {
    Expr { kind: ExprKind::Int { value, text: value.to_string() }, span: origin }
}

/// A type that every program has.
pub(super) fn named_type(name: &str, origin: Span) -> TypeName {
    let specs = vec![Spanned::new(TypeSpec::Name(name.to_owned()), origin)];
    TypeName { specs, derived: Vec::new(), span: origin }
}

pub(super) fn assign(left: Expr, right: Expr, origin: Span) -> Expr {
    Expr { kind: ExprKind::Assign { op: None, left: Box::new(left), right: Box::new(right) }, span: origin }
}

pub(super) fn and(left: Expr, right: Expr, origin: Span) -> Expr {
    let kind = ExprKind::Binary { op: BinaryOp::LogAnd, left: Box::new(left), right: Box::new(right) };
    Expr { kind, span: origin }
}

pub(super) fn not(operand: Expr, origin: Span) -> Expr {
    Expr { kind: ExprKind::Unary { op: UnaryOp::Not, operand: Box::new(operand) }, span: origin }
}

fn variable(scope: Scope, name: String, origin: Span) -> Expr {
    let base = Box::new(Expr { kind: ExprKind::Scope(scope), span: origin });
    Expr { kind: ExprKind::Member { base, arrow: true, member: Spanned::new(name, origin) }, span: origin }
}
