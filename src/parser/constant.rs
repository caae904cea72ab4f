//! parser/constant.rs: the values of constant expressions, as far as they follow from the text.

use super::ast::{BinaryOp, Expr, ExprKind, UnaryOp};
use super::error::ParseError;

/// Refuses a division by zero where it is read, whatever the dividend. A divisor is the operand of only one
/// operator, so each is evaluated once per level.
pub(crate) fn check_divisor(op: BinaryOp, right: &Expr) -> Result<(), ParseError> {
    match op {
        BinaryOp::Div | BinaryOp::Rem if value(right, &|_| None) == Some(0) => {
            Err(ParseError::DivisionByZero { span: right.span })
        }
        _ => Ok(()),
    }
}

/// Evaluates an expression in wrapping 64-bit arithmetic, with the values of the names in it. `None` if the
/// text does not determine the value, for example if the value depends on whether a type is signed.
pub(crate) fn value(expr: &Expr, name: &dyn Fn(&str) -> Option<i64>) -> Option<i64> {
    match &expr.kind {
        ExprKind::Int { value, .. } => Some(*value as i64),
        ExprKind::Char { value, .. } => Some(*value),
        ExprKind::Ident(ident) => name(ident),
        ExprKind::Unary { op, operand } => {
            let value = value(operand, name)?;
            match op {
                UnaryOp::Plus => Some(value),
                UnaryOp::Neg => Some(value.wrapping_neg()),
                UnaryOp::BitNot => Some(!value),
                UnaryOp::Not => Some(i64::from(value == 0)),
                _ => None,
            }
        }
        ExprKind::Binary { op, left, right } => match (op, value(left, name)?) {
            (BinaryOp::LogAnd, 0) => Some(0),
            (BinaryOp::LogOr, known) if known != 0 => Some(1),
            (op, left) => binary(*op, left, value(right, name)?),
        },
        ExprKind::Conditional { condition, then, otherwise } => {
            value(if value(condition, name)? != 0 { then } else { otherwise }, name)
        }
        _ => None,
    }
}

fn binary(op: BinaryOp, left: i64, right: i64) -> Option<i64> {
    let same_if_unsigned = left >= 0 && right >= 0;
    Some(match op {
        BinaryOp::Add => left.wrapping_add(right),
        BinaryOp::Sub => left.wrapping_sub(right),
        BinaryOp::Mul => left.wrapping_mul(right),
        BinaryOp::BitAnd => left & right,
        BinaryOp::BitOr => left | right,
        BinaryOp::BitXor => left ^ right,
        BinaryOp::Shl => left.wrapping_shl(right as u32),
        BinaryOp::Eq => i64::from(left == right),
        BinaryOp::Ne => i64::from(left != right),
        BinaryOp::LogAnd => i64::from(left != 0 && right != 0),
        BinaryOp::LogOr => i64::from(left != 0 || right != 0),
        BinaryOp::LogXor => i64::from((left != 0) != (right != 0)),
        _ if !same_if_unsigned => return None,
        BinaryOp::Lt => i64::from(left < right),
        BinaryOp::Le => i64::from(left <= right),
        BinaryOp::Gt => i64::from(left > right),
        BinaryOp::Ge => i64::from(left >= right),
        BinaryOp::Shr => left.wrapping_shr(right as u32),
        BinaryOp::Div => left.checked_div(right)?,
        BinaryOp::Rem => left.checked_rem(right)?,
    })
}
