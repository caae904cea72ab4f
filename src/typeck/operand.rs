//! typeck/operand.rs: an operand before its use is known: a value, or an object from a translator.

use super::error::{self, Result};
use super::typed::{Expr, ExprKind};
use kinst_base::source::Span;
use kinst_dif::insn::Builtin;
use kinst_types::Type;

/// The result of an expression that need not be a value.
pub(in crate::typeck) enum Operand {
    Value(Expr),
    Translated(Box<Translated>),
}

/// The result of a translator: it has members, but is not a value.
pub(in crate::typeck) struct Translated {
    pub translator: usize,
    /// A value of the translator's input.
    pub source: Expr,
    pub ty: Type,
    pub span: Span,
}

impl From<Expr> for Operand {
    fn from(value: Expr) -> Operand {
        Operand::Value(value)
    }
}

impl From<Translated> for Operand {
    fn from(object: Translated) -> Operand {
        Operand::Translated(Box::new(object))
    }
}

impl Translated {
    /// A placeholder of the same type that is not a constant, for uses where only the type matters.
    pub(super) fn stand_in(&self) -> Expr {
        Expr::new(ExprKind::Builtin(Builtin::Id), self.ty.clone(), self.span)
    }

    /// The error for a use of the object as a value.
    pub(super) fn no_value<T>(self, span: Span) -> Result<T> {
        Err(error::Translator::Value { found: self.ty, span }.into())
    }
}

impl Operand {
    pub(super) fn ty(&self) -> &Type {
        match self {
            Operand::Value(value) => &value.ty,
            Operand::Translated(object) => &object.ty,
        }
    }

    /// Returns the operand with another span.
    pub(super) fn at(self, span: Span) -> Operand {
        match self {
            Operand::Value(value) => Expr { span, ..value }.into(),
            Operand::Translated(object) => Translated { span, ..*object }.into(),
        }
    }

    /// Returns the value; reports an object at `span`.
    pub(super) fn value(self, span: Span) -> Result<Expr> {
        match self {
            Operand::Value(value) => Ok(value),
            Operand::Translated(object) => object.no_value(span),
        }
    }

    /// Returns the value. An aggregation or object has none: returns its type and span.
    pub(super) fn known(self) -> std::result::Result<Expr, (Type, Span)> {
        match self {
            Operand::Value(value) if value.ty != Type::Dynamic => Ok(value),
            Operand::Value(Expr { ty, span, .. }) => Err((ty, span)),
            Operand::Translated(object) => Err((object.ty, object.span)),
        }
    }
}
