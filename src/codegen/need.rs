//! codegen/need.rs: an upper bound on the registers that an expression needs without spilling.

use crate::typeck::typed::{Bits, Expr, ExprKind, Place};

/// Returns the Sethi-Ullman number for the evaluation order of expr.rs, including the temporary registers
/// of keys, conversions and copies.
pub(super) fn need(expr: &Expr) -> usize {
    match &expr.kind {
        ExprKind::Int(_) | ExprKind::Str(_) | ExprKind::Builtin(_) => 1,
        ExprKind::BuiltinElement { index, .. } => need(index),
        ExprKind::Place(place) => place_need(place) + 1,
        ExprKind::Negate(value) | ExprKind::Complement(value) | ExprKind::Not(value) => need(value),
        ExprKind::Arith { left, right, .. } | ExprKind::Compare { left, right, .. } => in_turn([left, right]),
        ExprKind::Logic { left, right, .. } => in_turn([left, right]),
        ExprKind::Conditional { condition, then, otherwise } => {
            need(condition).max(need(then)).max(need(otherwise)) + 1
        }
        ExprKind::Comma { left, right } => need(left).max(need(right)),
        ExprKind::Convert(value) | ExprKind::Bounded { index: value, .. } => need(value).max(2),
        ExprKind::Call { args, .. } => keys_need(args),
        ExprKind::Assign { place, value } => need(value).max(place_need(place) + 1) + 1,
        ExprKind::Update { place, value, .. } => place_need(place).max(need(value)) + place_held(place) + 2,
        ExprKind::Step { place, .. } => place_need(place) + 3,
    }
}

/// Whether the expression has no effects, and so may be evaluated before preceding expressions.
pub(super) fn is_pure(expr: &Expr) -> bool {
    match &expr.kind {
        ExprKind::Int(_) | ExprKind::Str(_) | ExprKind::Builtin(_) => true,
        ExprKind::BuiltinElement { index, .. } => is_pure(index),
        ExprKind::Place(Place::Variable(_)) => true,
        ExprKind::Place(Place::Element { keys, .. }) => keys.iter().all(is_pure),
        ExprKind::Place(Place::Memory(memory) | Place::Bits(Bits { memory, .. })) => is_pure(&memory.address),
        ExprKind::Negate(value)
        | ExprKind::Complement(value)
        | ExprKind::Not(value)
        | ExprKind::Convert(value)
        | ExprKind::Bounded { index: value, .. } => is_pure(value),
        ExprKind::Arith { left, right, .. }
        | ExprKind::Compare { left, right, .. }
        | ExprKind::Logic { left, right, .. }
        | ExprKind::Comma { left, right } => is_pure(left) && is_pure(right),
        ExprKind::Conditional { condition, then, otherwise } => {
            is_pure(condition) && is_pure(then) && is_pure(otherwise)
        }
        ExprKind::Call { .. } | ExprKind::Assign { .. } | ExprKind::Update { .. } | ExprKind::Step { .. } => {
            false
        }
    }
}

/// Each value is held while the next one is evaluated.
fn in_turn<'a>(exprs: impl IntoIterator<Item = &'a Box<Expr>>) -> usize {
    exprs.into_iter().enumerate().map(|(held, expr)| held + need(expr)).max().unwrap_or(0)
}

/// Counts all keys, and one register for the size of the pushed value.
fn keys_need(keys: &[Expr]) -> usize {
    let evaluated = keys.iter().enumerate().map(|(held, key)| held + need(key)).max().unwrap_or(0);
    evaluated.max(keys.len() + 1)
}

fn place_need(place: &Place) -> usize {
    match place {
        Place::Variable(_) => 1,
        Place::Element { keys, .. } => keys_need(keys),
        Place::Memory(memory) => need(&memory.address),
        // The enclosing integer, and a mask or bit count.
        Place::Bits(Bits { memory, .. }) => need(&memory.address).max(2) + 1,
    }
}

/// Returns the number of values of a place that are held while the new value is computed.
fn place_held(place: &Place) -> usize {
    match place {
        Place::Variable(_) => 0,
        Place::Element { keys, .. } => keys.len(),
        Place::Memory(_) | Place::Bits(_) => 1,
    }
}
