//! typeck/expr/convert.rs: compatibility of types, and the conversions that it requires.

use super::fold;
use super::member::in_user_memory;
use crate::typeck::error;
use crate::typeck::error::Result;
use crate::typeck::state::Checker;
use crate::typeck::typed::{Expr, ExprKind, Place};
use kinst_base::source::Span;
use kinst_dif::insn::Subr;
use kinst_types::intrinsic::ULONG;
use kinst_types::{Type, promote};

impl Checker<'_> {
    /// Whether `value` can be passed, stored or used as a key where the type `to` is required.
    pub(in crate::typeck) fn is_compatible(&self, value: &Expr, to: &Type) -> bool {
        let from = &value.ty;
        if from.is_integer() && to.is_integer() {
            return true;
        }
        // Assigning 0 frees the memory of a string variable.
        if to.is_string() && from.is_integer() && value.constant() == Some(0) {
            return true;
        }
        if from.is_string_compatible() && to.is_string_compatible() && from.is_user() == to.is_user() {
            return true;
        }
        if to.is_record() || from.is_record() {
            return from.same(to);
        }
        if to.is_pointer() { is_pointer_compatible(value, to) } else { from.same(to) && !from.is_void() }
    }

    /// Whether a value can be read as a string.
    pub(super) fn is_textual(&self, value: &Expr) -> bool {
        let ty = &value.ty;
        let is_one = ty.is_scalar() || ty.is_pointer() || ty.is_string_compatible();
        is_one || self.text_of(value, value.span).is_some()
    }

    /// Converts a value to the type of a parameter or key, narrowing or widening it where its own type differs.
    pub(in crate::typeck) fn convert(&self, value: Expr, to: &Type) -> Expr {
        if value.ty.is_scalar() && to.is_scalar() && !value.ty.same(to) {
            return self.cast(value, to.clone(), None);
        }
        // All keys of an array have the same size.
        if to.is_string() && !value.ty.is_string() {
            return self.cast(value, Type::String, None);
        }
        value
    }

    /// Converts a value to `to`, where the caller has checked that it is possible; folds a constant.
    pub(in crate::typeck) fn cast(&self, value: Expr, to: Type, span: Option<Span>) -> Expr {
        let span = span.unwrap_or(value.span);
        if to.is_string()
            && let Some(text) = self.text_of(&value, span)
        {
            return text;
        }
        if to.is_string() && !value.ty.is_string() && in_user_memory(&value) {
            return string_of_process(value, span);
        }
        let bytes = self.layout.size(&to).unwrap_or(0);
        match value.kind {
            ExprKind::Int(constant) if to.is_scalar() && value.ty.is_scalar() => {
                // A constant too may exceed its type: widening it keeps only the bits of the narrower type.
                let from = self.layout.size(&value.ty).unwrap_or(8);
                let (bytes, signed) =
                    if bytes >= 8 { (from, value.ty.is_signed()) } else { (bytes, to.is_signed()) };
                Expr::new(ExprKind::Int(fold::narrow(constant, bytes, signed)), to, span)
            }
            // A number of the same type may still exceed it: arithmetic does not narrow.
            _ if value.ty == to && !to.is_integer() => value,
            _ => Expr::new(ExprKind::Convert(Box::new(value)), to, span),
        }
    }

    /// Copies a struct or an array from the memory of the process, where it is recorded or stored as a whole. Other
    /// values are unchanged.
    pub(in crate::typeck) fn copied_in(&self, value: Expr) -> Expr {
        let bytes = self.layout.size(&value.ty).filter(|_| value.ty.is_by_ref());
        match (value.kind, bytes) {
            (ExprKind::Place(Place::Memory(memory)), Some(bytes)) if memory.user => {
                let address = Expr::new(ExprKind::Convert(memory.address), ULONG, value.span);
                let args = vec![address, Expr::new(ExprKind::Int(bytes), ULONG, value.span)];
                Expr::new(ExprKind::Call { subroutine: Subr::Copyin, args }, value.ty, value.span)
            }
            (kind, _) => Expr::new(kind, value.ty, value.span),
        }
    }

    /// Returns the common type of the branches of `?:`.
    pub(in crate::typeck) fn unify(&self, left: &Expr, right: &Expr) -> Option<Type> {
        if left.ty.is_integer() && right.ty.is_integer() {
            return Some(promote(&left.ty, &right.ty));
        }
        let strings = left.ty.is_string_compatible() && right.ty.is_string_compatible();
        if strings && (left.ty.is_string() || right.ty.is_string()) {
            return Some(Type::String);
        }
        if left.ty.same(&right.ty) {
            return Some(left.ty.clone());
        }
        let nothing = |value: &Expr| value.ty.is_integer() && value.constant() == Some(0);
        if left.ty.is_string() && nothing(right) || nothing(left) && right.ty.is_string() {
            return Some(Type::String);
        }
        if left.ty.is_pointer() && is_pointer_compatible(right, &left.ty) {
            return Some(left.ty.clone());
        }
        (right.ty.is_pointer() && is_pointer_compatible(left, &right.ty)).then(|| right.ty.clone())
    }

    /// Checks `(to)value`.
    pub(in crate::typeck) fn check_cast(&self, value: Expr, to: Type, span: Span) -> Result<Expr> {
        let from = &value.ty;
        let dynamic = *from == Type::Dynamic;
        let textual = self.is_textual(&value);
        // A string is not a pointer: it is stored and passed whole.
        let address = from.is_string() && to.is_pointer();
        let possible = !dynamic
            && (to.is_void()
                || !address && self.is_compatible(&value, &to)
                || from.is_scalar() && to.is_scalar()
                || matches!(from.resolved(), Type::Array { .. }) && to.is_pointer()
                || to.is_string() && textual);
        if !possible {
            let (from, to) = (value.ty, to);
            return Err(error::Operator::Cast { from, to, span }.into());
        }
        // An array or struct is never the target of an actual conversion.
        Ok(self.cast(value, to, Some(span)))
    }
}

/// Copies a string from the memory of the process: its address alone would be one of the kernel's memory.
fn string_of_process(value: Expr, span: Span) -> Expr {
    let length = match value.ty.resolved() {
        // The size includes the terminating NUL, which a full array lacks.
        Type::Array { len, .. } if *len > 0 => Some(Expr::new(ExprKind::Int(*len + 1), ULONG, span)),
        _ => None,
    };
    let address = Expr::new(ExprKind::Convert(Box::new(value)), ULONG, span);
    let args = std::iter::once(address).chain(length).collect();
    Expr::new(ExprKind::Call { subroutine: Subr::Copyinstr, args }, Type::String, span)
}

/// Whether these are pointers to the same type, or one of them to void, in the same address space; or the constant 0.
fn is_pointer_compatible(value: &Expr, to: &Type) -> bool {
    if value.ty.is_integer() {
        return value.constant() == Some(0);
    }
    if value.ty.is_string() {
        return to.referent().is_some_and(Type::is_void);
    }
    match (value.ty.referent(), to.referent()) {
        (Some(a), Some(b)) => value.ty.is_user() == to.is_user() && (a.same(b) || a.is_void() || b.is_void()),
        _ => false,
    }
}
