//! typeck/assign.rs: assignments, and the variables that they create.

use super::builtin::{self, What};
use super::expr::as_name;
use super::names::Name;
use super::ops::arith_op;
use super::typed::{ArithOp, Bits, Expr, ExprKind, Place, Scope};
use super::{Checker, Error, Result, constants};
use crate::parser::ast::{self, BinaryOp};
use crate::source::Span;
use crate::types::Type;

/// The left side of an assignment.
enum Target<'a> {
    Known {
        place: Place,
        ty: Type,
    },
    /// A variable that nobody assigned so far.
    New {
        name: Name<'a>,
        keys: Option<Vec<Expr>>,
    },
}

impl Checker<'_> {
    /// `left = right`
    pub(super) fn check_assign(&mut self, left: &ast::Expr, right: &ast::Expr, span: Span) -> Result<Expr> {
        if as_aggregation(left).is_some() {
            return Err(Box::new(Error::AggregationInExpression { span }));
        }
        // What is read on the right must be there before this assignment makes it.
        let value = self.check_expr(right).map_err(|error| in_condition(left, error))?;
        let target = self.check_target(left)?;
        if value.ty.is_void() || value.ty == Type::Dynamic {
            let left = match target {
                Target::Known { ty, .. } => ty,
                Target::New { .. } => Type::Void,
            };
            return Err(Box::new(Error::NoValue { found: value.ty, to: left, span: value.span }));
        }
        self.require_sized(&value)?;
        let (place, ty) = match target {
            Target::Known { place, ty } => (place, ty),
            Target::New { name, keys } => {
                let ty = value.ty.clone();
                refuse_array(&ty, value.span)?;
                (self.create(name, keys, ty.clone())?, ty)
            }
        };
        refuse_array(&ty, left.span)?;
        if !self.is_compatible(&value, &ty) {
            let declared = self.declared(&place);
            let (found, span) = (value.ty, value.span);
            return Err(Box::new(Error::AssignType { expected: ty, found, span, declared }));
        }
        Ok(Expr::new(ExprKind::Assign { place, value: Box::new(value) }, ty, span))
    }

    /// `left op= right`
    pub(super) fn check_update(
        &mut self,
        op: BinaryOp,
        left: &ast::Expr,
        right: &ast::Expr,
        span: Span,
    ) -> Result<Expr> {
        if as_aggregation(left).is_some() {
            return Err(Box::new(Error::AggregationInExpression { span }));
        }
        let value = self.check_expr(right)?;
        let (place, ty) = self.check_counter(left)?;
        let op_text = assign_symbol(op);
        let op = arith_op(op);
        // A sum of pointers is none, and a difference is no pointer any more.
        let pointer = matches!(op, ArithOp::Add | ArithOp::Sub) && !value.ty.is_integer();
        if ty.is_string() || pointer {
            let (left, right) = (ty, value.ty);
            return Err(Box::new(Error::Incompatible { op: op_text, left, right, span }));
        }
        refuse_array(&ty, left.span)?;
        // The operator decides what it takes; its result has the type of the left side.
        let current = Expr::new(ExprKind::Place(place.clone()), ty.clone(), left.span);
        let sum = self.arith(op, op_text, current, value, span)?;
        let value = match sum.kind {
            ExprKind::Arith { right, .. } => right,
            _ => Box::new(Expr::new(ExprKind::Int(0), ty.clone(), span)),
        };
        Ok(Expr::new(ExprKind::Update { op, place, value }, ty, span))
    }

    /// `++x x++ --x x--`
    pub(super) fn check_step(
        &mut self,
        operand: &ast::Expr,
        up: bool,
        postfix: bool,
        span: Span,
    ) -> Result<Expr> {
        let op = if up { "++" } else { "--" };
        if as_aggregation(operand).is_some() {
            let (found, span) = (Type::Dynamic, operand.span);
            return Err(Box::new(Error::NotScalar { op, found, span }));
        }
        let is_new = as_name(operand).is_some_and(|name| self.is_free(&name)) || is_element(operand);
        if !is_new {
            let value = self.check_expr(operand)?;
            if !value.ty.is_scalar() {
                return Err(Box::new(Error::NotScalar { op, found: value.ty, span: operand.span }));
            }
        }
        let (place, ty) = self.check_counter(operand)?;
        if !ty.is_scalar() {
            return Err(Box::new(Error::NotScalar { op, found: ty, span: operand.span }));
        }
        let size = match ty.referent() {
            None => 1,
            Some(to) => match self.layout.size(to) {
                Some(size) => size as i64,
                None => return Err(Box::new(Error::StepVoid { op, found: ty, span: operand.span })),
            },
        };
        let by = if up { size } else { -size };
        Ok(Expr::new(ExprKind::Step { place, by, postfix }, ty, span))
    }

    /// The place that is counted up or down; a new variable is an int64_t.
    fn check_counter(&mut self, left: &ast::Expr) -> Result<(Place, Type)> {
        Ok(match self.check_target(left)? {
            Target::Known { place, ty } => (place, ty),
            Target::New { name, keys } => {
                let ty = builtin::type_of("int64_t");
                (self.create(name, keys, ty.clone())?, ty)
            }
        })
    }

    fn create(&mut self, name: Name<'_>, keys: Option<Vec<Expr>>, ty: Type) -> Result<Place> {
        match keys {
            None => Ok(Place::Variable(self.names.create(&name, None, ty)?)),
            Some(keys) => {
                let types = keys.iter().map(|key| key.ty.clone()).collect();
                let array = self.names.create(&name, Some(types), ty)?;
                Ok(Place::Element { array, keys })
            }
        }
    }

    fn check_target<'a>(&mut self, left: &'a ast::Expr) -> Result<Target<'a>> {
        if let Some(name) = as_name(left) {
            if let Some(id) = self.names.find(&name) {
                let read = self.read_scalar(id, left.span)?;
                return Ok(Target::Known { place: Place::Variable(id), ty: read.ty });
            }
            self.refuse_known(&name)?;
            return Ok(Target::New { name, keys: None });
        }
        if let ast::ExprKind::Index { base, indices } = &left.kind
            && let Some(name) = as_name(base)
            && self.names.find(&name).is_none()
            && (name.scope != Scope::Global || self.is_free(&name))
        {
            if name.scope == Scope::Clause {
                return Err(Box::new(Error::LocalArray { name: name.full(), span: left.span }));
            }
            let mut keys = Vec::new();
            for index in indices {
                keys.push(self.check_key(index)?);
            }
            return Ok(Target::New { name, keys: Some(keys) });
        }
        let value = self.check_expr(left)?;
        match value.kind {
            ExprKind::Place(Place::Memory(memory) | Place::Bits(Bits { memory, .. }))
                if !is_writable(&memory.address) =>
            {
                Err(Box::new(Error::ReadOnly { name: "this memory".into(), span: left.span }))
            }
            ExprKind::Place(place) => Ok(Target::Known { place, ty: value.ty }),
            ExprKind::BuiltinElement { array, .. } => {
                Err(Box::new(Error::ReadOnly { name: array.name().into(), span: left.span }))
            }
            _ => Err(Box::new(Error::NotLvalue { span: left.span })),
        }
    }

    /// No variable of the program, and no name that every program knows.
    fn is_free(&self, name: &Name<'_>) -> bool {
        let known = name.scope == Scope::Global
            && (builtin::lookup(name.name).is_some()
                || constants::lookup(name.name).is_some()
                || self.inlines.contains_key(name.name));
        self.names.find(name).is_none() && !known && !name.name.contains('`')
    }

    /// A built-in cannot be assigned, nor can a constant or a function.
    fn refuse_known(&self, name: &Name<'_>) -> Result<()> {
        if name.scope != Scope::Global {
            return Ok(());
        }
        if let Some(entry) = builtin::lookup(name.name) {
            return Err(match entry.what {
                What::Variable { .. } | What::Array(_) | What::Library => {
                    Box::new(Error::ReadOnly { name: name.name.to_string(), span: name.span })
                }
                _ => Box::new(Error::FunctionAsVariable { name: name.name.to_string(), span: name.span }),
            });
        }
        if constants::lookup(name.name).is_some() || self.inlines.contains_key(name.name) {
            return Err(Box::new(Error::NotLvalue { span: name.span }));
        }
        if name.name.contains('`') {
            return Err(Box::new(Error::ReadOnly { name: name.name.to_string(), span: name.span }));
        }
        Ok(())
    }

    /// Where the type of a place was fixed.
    fn declared(&self, place: &Place) -> Option<(String, Span)> {
        match place {
            Place::Variable(id) | Place::Element { array: id, .. } => {
                let variable = self.names.variable(*id);
                Some((variable.full_name(), variable.span))
            }
            Place::Memory(_) | Place::Bits(_) => None,
        }
    }
}

/// `@a` or `@a[…]`: its name, keys and the span of the keys.
pub(super) fn as_aggregation(expr: &ast::Expr) -> Option<(&str, &[ast::Expr])> {
    match &expr.kind {
        ast::ExprKind::Aggregation(name) => Some((name, &[])),
        ast::ExprKind::Index { base, indices } => match &base.kind {
            ast::ExprKind::Aggregation(name) => Some((name, indices)),
            _ => None,
        },
        _ => None,
    }
}

fn is_element(expr: &ast::Expr) -> bool {
    matches!(&expr.kind, ast::ExprKind::Index { base, .. } if as_name(base).is_some())
}

/// Memory of D's variables and what a cast or a subroutine points to; the kernel checks the address anyway.
fn is_writable(address: &Expr) -> bool {
    match &address.kind {
        ExprKind::Builtin(_) | ExprKind::Str(_) => false,
        ExprKind::Arith { left, .. } => is_writable(left),
        ExprKind::Convert(inner) if inner.ty.is_by_ref() => is_writable(inner),
        _ => true,
    }
}

fn refuse_array(ty: &Type, span: Span) -> Result<()> {
    match ty.resolved() {
        Type::Array { .. } | Type::Function => Err(Box::new(Error::ArrayAssign { found: ty.clone(), span })),
        _ => Ok(()),
    }
}

/// The condition of an `if` is assigned to a made-up variable; an error in it is one of the `if`.
fn in_condition(left: &ast::Expr, error: Box<Error>) -> Box<Error> {
    let made_up = as_name(left).is_some_and(|name| name.name.starts_with("%condition"));
    match *error {
        Error::NotScalar { op: "&&", found, span } if made_up => {
            Box::new(Error::ConditionNotScalar { found, span })
        }
        _ => error,
    }
}

fn assign_symbol(op: BinaryOp) -> &'static str {
    match arith_op(op) {
        ArithOp::Or => "|=",
        ArithOp::Xor => "^=",
        ArithOp::And => "&=",
        ArithOp::Shl => "<<=",
        ArithOp::Shr => ">>=",
        ArithOp::Add => "+=",
        ArithOp::Sub => "-=",
        ArithOp::Mul => "*=",
        ArithOp::Div => "/=",
        ArithOp::Rem => "%=",
    }
}
