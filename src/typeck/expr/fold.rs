//! typeck/expr/fold.rs: arithmetic on constants, as the DIF machine does it: 64 bits, wrapping, no narrowing.

use crate::typeck::typed::{ArithOp, CompareClass, CompareOp, Expr, ExprKind};
use kinst_base::source::Span;
use kinst_types::Type;

/// Returns `None` if the divisor is zero.
pub(in crate::typeck) fn arith(op: ArithOp, signed: bool, l: u64, r: u64) -> Option<u64> {
    let (sl, sr) = (l as i64, r as i64);
    Some(match op {
        ArithOp::Or => l | r,
        ArithOp::Xor => l ^ r,
        ArithOp::And => l & r,
        ArithOp::Shl => l.wrapping_shl(r as u32),
        ArithOp::Shr if signed => sl.wrapping_shr(r as u32) as u64,
        ArithOp::Shr => l.wrapping_shr(r as u32),
        ArithOp::Add => l.wrapping_add(r),
        ArithOp::Sub => l.wrapping_sub(r),
        ArithOp::Mul => l.wrapping_mul(r),
        ArithOp::Div | ArithOp::Rem if r == 0 => return None,
        ArithOp::Div if signed => sl.wrapping_div(sr) as u64,
        ArithOp::Div => l / r,
        ArithOp::Rem if signed => sl.wrapping_rem(sr) as u64,
        ArithOp::Rem => l % r,
    })
}

pub(in crate::typeck) fn compare(op: CompareOp, class: CompareClass, l: u64, r: u64) -> bool {
    let order = match class {
        CompareClass::Signed => (l as i64).cmp(&(r as i64)),
        CompareClass::Unsigned | CompareClass::String => l.cmp(&r),
    };
    match op {
        CompareOp::Eq => order.is_eq(),
        CompareOp::Ne => order.is_ne(),
        CompareOp::Lt => order.is_lt(),
        CompareOp::Le => order.is_le(),
        CompareOp::Gt => order.is_gt(),
        CompareOp::Ge => order.is_ge(),
    }
}

/// Narrows a value to `bytes` bytes and extends it again.
pub(crate) fn narrow(value: u64, bytes: u64, signed: bool) -> u64 {
    if bytes == 0 || bytes >= 8 {
        return value;
    }
    let shift = 64 - 8 * bytes as u32;
    if signed { (((value << shift) as i64) >> shift) as u64 } else { (value << shift) >> shift }
}

/// Returns `left + right` of type `ty`, folded where possible.
pub(super) fn sum(left: Expr, right: Expr, ty: Type, span: Span) -> Expr {
    if right.constant() == Some(0) {
        return Expr::new(ExprKind::Convert(Box::new(left)), ty, span);
    }
    let (left, right) = (Box::new(left), Box::new(right));
    Expr::new(ExprKind::Arith { op: ArithOp::Add, left, right }, ty, span)
}
