//! typeck/stmt/predicate.rs: assignments in predicates, where a comparison was probably meant.

use crate::parser::{ast, visit};
use crate::typeck::error;
use crate::typeck::error::Error;
use kinst_base::diag::{Diagnostic, tags};
use kinst_base::source::Span;

/// Returns the error of a predicate: a read-only place on the left was probably meant to be compared.
pub(crate) fn explain(predicate: &ast::Expr, error: Box<Error>) -> Box<Error> {
    match *error {
        Error::Assignment(error::Assignment::ReadOnly { name, span }) if is_assigned(predicate, span) => {
            error::Assignment::InPredicate { name, span }.into()
        }
        _ => error,
    }
}

/// Returns the warning for a predicate that assigns a constant, and so never changes its result.
pub(crate) fn constant(predicate: &ast::Expr) -> Option<Diagnostic> {
    use ast::ExprKind as K;
    match &predicate.kind {
        K::Assign { op: None, right, .. }
            if matches!(right.kind, K::Int { .. } | K::Char { .. } | K::Str { .. }) =>
        {
            let title = "this predicate assigns a constant, and never changes";
            let warning = Diagnostic::warning(tags::PRED_SCALAR, title).at(predicate.span, "`=` assigns");
            Some(warning.help("compare with `==`"))
        }
        K::Binary { op: ast::BinaryOp::LogAnd | ast::BinaryOp::LogOr, left, right } => {
            constant(left).or_else(|| constant(right))
        }
        _ => None,
    }
}

/// Whether `=` has this operand on its left side.
fn is_assigned(expr: &ast::Expr, span: Span) -> bool {
    let here = matches!(&expr.kind, ast::ExprKind::Assign { op: None, left, .. } if left.span == span);
    let mut found = here;
    visit::each_operand(expr, &mut |operand| found = found || is_assigned(operand, span));
    found
}
