//! parser/constant.rs: the values of constant expressions, as far as their text alone determines them.

use super::ast::{BinaryOp, Expr, ExprKind, UnaryOp};
use super::error::ParseError;

/// Refuses a division by zero where it is read, whatever is divided.
pub fn check_divisor(op: BinaryOp, right: &Expr) -> Result<(), ParseError> {
    match op {
        BinaryOp::Div | BinaryOp::Rem if value(right) == Some(0) => {
            Err(ParseError::DivisionByZero { span: right.span })
        }
        _ => Ok(()),
    }
}

/// Evaluates in 64 bits, wrapping. A divisor is the operand of only one operator, so each is visited once per level.
fn value(expr: &Expr) -> Option<i64> {
    match &expr.kind {
        ExprKind::Int { value, .. } => Some(*value as i64),
        ExprKind::Char { value, .. } => Some(*value),
        ExprKind::Unary { op, operand } => {
            let value = value(operand)?;
            match op {
                UnaryOp::Plus => Some(value),
                UnaryOp::Neg => Some(value.wrapping_neg()),
                UnaryOp::BitNot => Some(!value),
                UnaryOp::Not => Some(i64::from(value == 0)),
                _ => None,
            }
        }
        ExprKind::Binary { op, left, right } => {
            let (left, right) = (value(left)?, value(right)?);
            Some(match op {
                BinaryOp::Add => left.wrapping_add(right),
                BinaryOp::Sub => left.wrapping_sub(right),
                BinaryOp::Mul => left.wrapping_mul(right),
                BinaryOp::BitAnd => left & right,
                BinaryOp::BitOr => left | right,
                BinaryOp::BitXor => left ^ right,
                BinaryOp::Shl => left.wrapping_shl(right as u32),
                _ => return None,
            })
        }
        _ => None,
    }
}
