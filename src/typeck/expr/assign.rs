//! typeck/expr/assign.rs: assignments, and the variables that they create.

use super::ops::{arith_op, is_argument};
use crate::parser::ast::{self, BinaryOp};
use crate::typeck::error::{Error, Result};
use crate::typeck::operand::Operand;
use crate::typeck::state::Checker;
use crate::typeck::state::names::{Name, as_name};
use crate::typeck::typed::{ArithOp, Expr, ExprKind, Place, Scope};
use crate::typeck::{error, words};
use crate::vocabulary::builtin::What;
use crate::vocabulary::constants;
use kinst_base::diag::tags;
use kinst_base::source::Span;
use kinst_dif::insn::Builtin;
use kinst_types::Type;
use kinst_types::intrinsic::INT;

/// The left side of an assignment.
enum Target<'a> {
    Known {
        place: Place,
        ty: Type,
    },
    /// A variable that has not been assigned so far.
    New {
        name: Name<'a>,
        keys: Option<Vec<Expr>>,
    },
    /// Something that cannot be assigned; whether the value would fit its type is checked first.
    Refused {
        ty: Type,
        error: error::Assignment,
    },
}

impl Checker<'_> {
    /// Checks `left = right`.
    pub(in crate::typeck) fn check_assign(
        &mut self,
        left: &ast::Expr,
        right: &ast::Expr,
        span: Span,
    ) -> Result<Expr> {
        if as_aggregation(left).is_some() {
            return Err(error::Aggregation::InExpression { span }.into());
        }
        // Variables read on the right must exist before this assignment creates its own.
        match self.check_operand(right) {
            Ok(value) => self.store(left, value, right, span),
            Err(error) => Err(in_assignment(left, error)),
        }
    }

    fn store(&mut self, left: &ast::Expr, value: Operand, right: &ast::Expr, span: Span) -> Result<Expr> {
        let target = self.check_target(left)?;
        let value = match value {
            Operand::Value(value) => value,
            Operand::Translated(object) if object.ty.is_pointer() => return object.no_value(right.span),
            Operand::Translated(object) => {
                let (place, ty) = self.require_target(target, &object.stand_in(), object.ty.clone())?;
                return self.snapshot(place, ty, &object, span);
            }
        };
        let first = first_type(right, &value);
        if value.ty.is_void() || value.ty == Type::Dynamic {
            return Err(error::Assignment::NoValue { found: value.ty, span: value.span }.into());
        }
        self.require_sized(&value, tags::OP_INCOMPLETE)?;
        let (place, ty) = self.require_target(target, &value, first)?;
        refuse_array(&ty, left.span)?;
        let value = Box::new(self.copied_in(value));
        Ok(Expr::new(ExprKind::Assign { place, value }, ty, span))
    }

    /// Returns the place of an assignment, creating it if it is new. First its type must accept the value,
    /// then it must be writable.
    fn require_target(&mut self, target: Target<'_>, value: &Expr, first: Type) -> Result<(Place, Type)> {
        let (place, ty) = match target {
            Target::Known { place, ty } => {
                let learnt = matches!(&place, Place::Element { array, .. } if self.learn(*array, &first));
                self.warn_of_narrowing(&place, value);
                (Ok(place), if learnt { first } else { ty })
            }
            Target::Refused { ty, error } => (Err(error), ty),
            Target::New { name, keys } => {
                refuse_array(&first, value.span)?;
                (Ok(self.create(name, keys, first.clone())?), first)
            }
        };
        let array = matches!(ty.resolved(), Type::Array { .. } | Type::Function);
        let freed = value.ty.is_integer()
            && value.constant() == Some(0)
            && ty.is_record()
            && place.as_ref().is_ok_and(|place| self.is_dynamic_variable(place));
        if !array && !freed && !self.is_compatible(value, &ty) {
            let declared = place.as_ref().ok().and_then(|place| self.declared(place));
            let (found, span) = (value.ty.clone(), value.span);
            return Err(error::Assignment::Type { expected: ty, found, span, declared }.into());
        }
        Ok((place?, ty))
    }

    /// Checks `left op= right`.
    pub(in crate::typeck) fn check_update(
        &mut self,
        op: BinaryOp,
        left: &ast::Expr,
        right: &ast::Expr,
        span: Span,
    ) -> Result<Expr> {
        if as_aggregation(left).is_some() {
            return Err(error::Aggregation::InExpression { span }.into());
        }
        let (place, ty) = self.check_counter(left)?;
        let value = self.check_expr(right)?;
        if let Ok(place) = &place {
            self.warn_of_narrowing(place, &value);
        }
        let op_text = assign_symbol(op);
        let op = arith_op(op);
        // A sum of pointers is not a pointer, and neither is a difference.
        let pointer = matches!(op, ArithOp::Add | ArithOp::Sub) && !value.ty.is_integer();
        let additive = matches!(op, ArithOp::Add | ArithOp::Sub);
        if ty.is_string() && additive || pointer {
            let (left, right) = (ty, value.ty);
            return Err(error::Operator::Incompatible { op: op_text, left, right, span }.into());
        }
        refuse_array(&ty, left.span)?;
        // The operator decides which operands it accepts; its result has the type of the left side.
        let current = match &place {
            Ok(place) => ExprKind::Place(place.clone()),
            // Not a constant, which the operator could fold.
            Err(_) => ExprKind::Builtin(Builtin::Id),
        };
        let sum = self.arith(op, op_text, Expr::new(current, ty.clone(), left.span), value, span)?;
        let place = place?;
        let value = match sum.kind {
            ExprKind::Arith { right, .. } => right,
            _ => Box::new(Expr::new(ExprKind::Int(0), ty.clone(), span)),
        };
        Ok(Expr::new(ExprKind::Update { op, place, value }, ty, span))
    }

    /// Checks `++x x++ --x x--`.
    pub(in crate::typeck) fn check_step(
        &mut self,
        operand: &ast::Expr,
        up: bool,
        postfix: bool,
        span: Span,
    ) -> Result<Expr> {
        let op = if up { "++" } else { "--" };
        if as_aggregation(operand).is_some() {
            let (found, span) = (Type::Dynamic, operand.span);
            return Err(error::Operator::NotScalar { op, found, span }.into());
        }
        let is_new = as_name(operand).is_some_and(|name| self.is_free(&name)) || is_element(operand);
        if !is_new {
            let value = self.check_expr(operand)?;
            if !value.ty.is_scalar() {
                return Err(error::Operator::NotScalar { op, found: value.ty, span: operand.span }.into());
            }
        }
        let (place, ty) = self.check_counter(operand)?;
        if !ty.is_scalar() {
            return Err(error::Operator::NotScalar { op, found: ty, span: operand.span }.into());
        }
        let size = match ty.referent() {
            None => 1,
            Some(to) => match self.layout.size(to) {
                Some(size) => size as i64,
                None => return Err(error::Assignment::StepVoid { op, found: ty, span: operand.span }.into()),
            },
        };
        let by = if up { size } else { -size };
        Ok(Expr::new(ExprKind::Step { place: place?, by, postfix }, ty, span))
    }

    /// Returns the place that is counted up or down; a new variable is an int64_t. The error that it cannot be
    /// written is reported after the operator's own errors about its type.
    fn check_counter(&mut self, left: &ast::Expr) -> Result<(Result<Place>, Type)> {
        Ok(match self.check_target(left)? {
            Target::Known { place, ty } => {
                if let Place::Element { array, .. } = &place {
                    self.learn(*array, &words::type_of("int64_t"));
                }
                (Ok(place), ty)
            }
            Target::Refused { ty, error } => (Err(error.into()), ty),
            Target::New { name, keys } => {
                let ty = words::type_of("int64_t");
                (Ok(self.create(name, keys, ty.clone())?), ty)
            }
        })
    }

    fn create(&mut self, name: Name<'_>, keys: Option<Vec<Expr>>, ty: Type) -> Result<Place> {
        match keys {
            None => Ok(Place::Variable(self.names.infer(&name, None, ty)?)),
            Some(keys) => {
                let types = keys.iter().map(|key| key.ty.clone()).collect();
                let array = self.names.infer(&name, Some(types), ty)?;
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
            return Ok(match self.refuse_known(&name)? {
                Some((ty, error)) => Target::Refused { ty, error },
                None => Target::New { name, keys: None },
            });
        }
        if let ast::ExprKind::Index { base, indices } = &left.kind
            && let Some(name) = as_name(base)
            && self.names.find(&name).is_none()
            && (name.scope != Scope::Global || self.is_free(&name))
        {
            if name.scope == Scope::Clause {
                return Err(error::Array::Local { name: name.full(), span: left.span }.into());
            }
            let mut keys = Vec::new();
            for index in indices {
                keys.push(self.check_key(index)?);
            }
            return Ok(Target::New { name, keys: Some(keys) });
        }
        let value = self.check_expr(left)?;
        let refused = |name: &str| Target::Refused {
            ty: value.ty.clone(),
            error: error::Assignment::ReadOnly { name: name.into(), span: left.span },
        };
        Ok(match value.kind {
            ExprKind::Place(Place::Memory(_) | Place::Bits(_)) if !self.is_writable(left) => {
                refused("this memory")
            }
            ExprKind::Place(place) => Target::Known { place, ty: value.ty },
            ExprKind::BuiltinElement { array, .. } => refused(array.name()),
            _ if is_argument(left) => refused("args"),
            _ => Target::Refused { ty: value.ty, error: error::Assignment::NotLvalue { span: left.span } },
        })
    }

    /// Whether a place is writable: memory that D's variables hold or point to, through any number of
    /// steps, and results of casts and subroutines; not the targets of built-in variables or symbols. The
    /// kernel checks the address anyway.
    fn is_writable(&self, place: &ast::Expr) -> bool {
        use ast::ExprKind as K;
        match &place.kind {
            K::Ident(name) => {
                let wanted = Name { scope: Scope::Global, name, span: place.span };
                self.names.find(&wanted).is_some()
            }
            K::Str { .. } => false,
            K::Member { base, .. } if matches!(base.kind, K::Scope(_)) => true,
            K::Member { base, .. } | K::Index { base, .. } => self.is_writable(base),
            K::Unary { operand, .. } | K::Postfix { operand, .. } => self.is_writable(operand),
            K::Binary { left, right, .. } if matches!(left.kind, K::Int { .. }) => self.is_writable(right),
            K::Binary { left, .. } => self.is_writable(left),
            K::Comma { right, .. } => self.is_writable(right),
            _ => true,
        }
    }

    /// Whether the name is neither a variable of the program nor a name that every program has.
    fn is_free(&self, name: &Name<'_>) -> bool {
        let known = name.scope == Scope::Global
            && (self.builtin(name.name).is_some()
                || constants::lookup(name.name).is_some()
                || self.inlines.contains_key(name.name));
        self.names.find(name).is_none() && !known && !name.name.contains('`')
    }

    /// Returns the type of a built-in or constant and the error that it cannot be assigned. A name of another
    /// kind is refused at once.
    fn refuse_known(&mut self, name: &Name<'_>) -> Result<Option<(Type, error::Assignment)>> {
        if name.scope != Scope::Global {
            return Ok(None);
        }
        let builtin = self.builtin(name.name);
        let constant = constants::lookup(name.name).is_some() || self.inlines.contains_key(name.name);
        let error = match builtin {
            Some(_) => error::Assignment::ReadOnly { name: name.name.to_string(), span: name.span },
            None if constant => error::Assignment::NotLvalue { span: name.span },
            None if name.name.contains('`') => {
                error::Assignment::ReadOnly { name: name.name.to_string(), span: name.span }
            }
            None => return Ok(None),
        };
        // A library variable has a type only where the kernel provides one.
        if builtin.is_some_and(|entry| matches!(entry.what, What::Library)) && !constant {
            return Err(error.into());
        }
        let ty = self.check_ident(name.name, name.span)?.ty().clone();
        Ok(Some((ty, error)))
    }

    /// Warns if a variable whose first value fixed its type is assigned a value of a wider type, which is
    /// truncated.
    fn warn_of_narrowing(&mut self, place: &Place, value: &Expr) {
        let (Place::Variable(id) | Place::Element { array: id, .. }) = place else { return };
        let variable = self.names.variable(*id);
        let integers = variable.ty.is_integer() && value.ty.is_integer() && value.constant().is_none();
        let wider = self.layout.size(&value.ty) > self.layout.size(&variable.ty);
        if variable.inferred && integers && wider {
            let warning = error::narrowing(variable, &value.ty, value.span);
            self.warn(warning);
        }
    }

    /// Whether assigning the place allocates its memory, and assigning 0 frees it.
    fn is_dynamic_variable(&self, place: &Place) -> bool {
        match place {
            Place::Element { .. } => true,
            Place::Variable(id) => self.names.variable(*id).scope == Scope::Thread,
            Place::Memory(_) | Place::Bits(_) => false,
        }
    }

    /// Returns the variable of a place and where its type was fixed.
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

/// The type of an undeclared variable with this first value: the type of the value. A number without a cast
/// is an exception, as the variable often holds an address or a time later; a character stays one, for
/// `%c`.
fn first_type(written: &ast::Expr, value: &Expr) -> Type {
    let says_its_type = matches!(written.kind, ast::ExprKind::Cast { .. } | ast::ExprKind::Char { .. });
    match value.constant() {
        Some(_) if value.ty.same(&INT) && !says_its_type => words::type_of("int64_t"),
        _ => value.ty.clone(),
    }
}

/// Returns the name and keys of `@a` or `@a[…]`.
pub(in crate::typeck) fn as_aggregation(expr: &ast::Expr) -> Option<(&str, &[ast::Expr])> {
    match &expr.kind {
        ast::ExprKind::Aggregation(name) => Some((name, &[])),
        ast::ExprKind::Index { base, indices } => match &base.kind {
            ast::ExprKind::Aggregation(name) => Some((name, indices)),
            _ => None,
        },
        _ => None,
    }
}

/// Whether it is `@a = …` or `@a[…] = …`.
pub(in crate::typeck) fn is_aggregating(expr: &ast::Expr) -> bool {
    matches!(&expr.kind, ast::ExprKind::Assign { left, .. } if as_aggregation(left).is_some())
}

fn is_element(expr: &ast::Expr) -> bool {
    matches!(&expr.kind, ast::ExprKind::Index { base, .. } if as_name(base).is_some())
}

fn refuse_array(ty: &Type, span: Span) -> Result<()> {
    match ty.resolved() {
        Type::Array { .. } | Type::Function => {
            Err(error::Assignment::Array { found: ty.clone(), span }.into())
        }
        _ => Ok(()),
    }
}

/// Returns the error of a right side. The condition of an `if` is assigned to a made-up variable: an error in it
/// becomes an error of the `if`. In `x = x + 1` the name exists but has no value yet.
fn in_assignment(left: &ast::Expr, error: Box<Error>) -> Box<Error> {
    let assigned = as_name(left);
    let made_up = assigned.is_some_and(|name| name.name.starts_with("%condition"));
    match *error {
        Error::Name(error::Name::Undefined { name, similar, span, .. })
            if assigned.is_some_and(|left| left.full() == name) =>
        {
            error::Name::Unassigned { name, similar, span }.into()
        }
        Error::Operator(error::Operator::NotScalar { op: "&&", found, span }) if made_up => {
            error::Operator::ConditionNotScalar { found, span }.into()
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
