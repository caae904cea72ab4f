//! typeck/expr/ahead.rs: associative arrays that are read before the first assignment, which fixes their type.

use crate::parser::{ast, visit};
use crate::sugar::plain;
use crate::typeck::env::Env;
use crate::typeck::error::Result;
use crate::typeck::state::Checker;
use crate::typeck::state::ahead::Ahead;
use crate::typeck::state::names::{Name, as_name};
use crate::typeck::typed::{Expr, ExprKind, Place, VariableId};
use crate::typeck::{error, typed, words};
use kinst_base::source::Span;
use kinst_types::Type;

/// Checks the clauses, repeatedly until a pass ends with the array types that it began with.
pub(in crate::typeck) fn check_clauses<'a>(
    program: &plain::Program,
    env: &'a Env<'a>,
) -> Result<(Checker<'a>, Vec<typed::Clause>)> {
    let mut ahead = arrays_of(program);
    // A type may follow from the type of another array.
    let mut passes = ahead.assigned.len() + 2;
    loop {
        let mut checker = Checker::new(env);
        checker.ahead = ahead;
        let clauses = checker.check_in_order(program)?;
        if checker.ahead.is_settled() {
            return match checker.ahead.error.take() {
                Some(error) => Err(error),
                None => Ok((checker, clauses)),
            };
        }
        let Ahead { assigned, types, found, .. } = checker.ahead.clone();
        let same = types.len() == found.len()
            && found.iter().all(|(array, ty)| types.get(array).is_some_and(|before| before.same(ty)));
        passes -= 1;
        if (same || passes == 0)
            && let Some(error) = checker.ahead.without_type()
        {
            return Err(error);
        }
        ahead = Ahead { assigned, types: found, ..Ahead::default() };
    }
}

impl Checker<'_> {
    /// Checks an element of an array that does not exist so far; an assignment must follow.
    pub(super) fn read_ahead(&mut self, name: &Name<'_>, indices: &[ast::Expr], span: Span) -> Result<Expr> {
        let array = (name.scope, name.name.to_owned());
        if !self.ahead.assigned.contains(&array) {
            let (similar, span) = (self.names.similar_variable(name), name.span);
            return Err(error::Name::Unassigned { name: name.full(), similar, span }.into());
        }
        let keys = indices.iter().map(|index| self.check_key(index)).collect::<Result<Vec<_>>>()?;
        let known = self.ahead.types.get(&array).cloned();
        if !self.ahead.read.iter().any(|(read, _)| *read == array) {
            self.ahead.read.push((array, name.span));
        }
        let ty = known.unwrap_or_else(|| words::type_of("int64_t"));
        let types = keys.iter().map(|key| key.ty.clone()).collect();
        let array = self.names.create(name, Some(types), ty.clone())?;
        Ok(Expr::new(ExprKind::Place(Place::Element { array, keys }), ty, span))
    }

    /// Notes the type of the first value that is assigned to an array after it was read.
    pub(in crate::typeck) fn learn(&mut self, array: VariableId, ty: &Type) -> bool {
        let variable = self.names.variable(array);
        let name = Name { scope: variable.scope, name: &variable.name, span: variable.span };
        if !self.ahead.is_open(&name) {
            return false;
        }
        self.ahead.found.insert((variable.scope, variable.name.clone()), ty.clone());
        self.names.set_type(array, ty.clone());
        true
    }

    /// After an array was read without a type, errors may follow from that. Only the assignments of the
    /// clause are checked; the rest is left to the next pass.
    pub(in crate::typeck) fn learn_from(&mut self, parts: &[&plain::Clause]) {
        for part in parts {
            for expr in part.predicate.iter().chain(part.body.iter().flatten()) {
                let (mut assigns, mut reads) = (false, false);
                each_assigned(expr, &mut |name| assigns |= self.ahead.is_open(&name));
                if !assigns {
                    continue;
                }
                each_read(expr, &mut |name| reads |= self.ahead.is_open(&name));
                let alone =
                    plain::Clause { predicate: None, body: Some(vec![expr.clone()]), ..(*part).clone() };
                if let Err(error) = self.check_parts(&[&alone])
                    && !reads
                {
                    self.ahead.failed.get_or_insert(error);
                }
            }
        }
    }

    /// Whether an array was read first in this pass.
    pub(in crate::typeck) fn has_read_ahead(&self) -> bool {
        !self.ahead.read.is_empty()
    }
}

/// Calls `visit` with each associative array that the expression assigns.
fn each_assigned<'e>(expr: &'e ast::Expr, visit: &mut dyn FnMut(Name<'e>)) {
    if let Some(name) = target(expr).and_then(array) {
        visit(name);
    }
    visit::each_operand(expr, &mut |operand| each_assigned(operand, visit));
}

/// Calls `visit` with each array that the expression reads an element of.
fn each_read<'e>(expr: &'e ast::Expr, visit: &mut dyn FnMut(Name<'e>)) {
    let assigned = target(expr).filter(|_| matches!(expr.kind, ast::ExprKind::Assign { op: None, .. }));
    if let Some(name) = array(expr) {
        visit(name);
    }
    visit::each_operand(expr, &mut |operand| match assigned {
        Some(target) if std::ptr::eq(target, operand) => {
            visit::each_operand(operand, &mut |inner| each_read(inner, visit));
        }
        _ => each_read(operand, visit),
    });
}

fn target(expr: &ast::Expr) -> Option<&ast::Expr> {
    use ast::{ExprKind as K, UnaryOp as U};
    match &expr.kind {
        K::Assign { left, .. } => Some(left),
        K::Postfix { operand, .. } | K::Unary { op: U::PreInc | U::PreDec, operand } => Some(operand),
        _ => None,
    }
}

fn array(expr: &ast::Expr) -> Option<Name<'_>> {
    match &expr.kind {
        ast::ExprKind::Index { base, .. } => as_name(base),
        _ => None,
    }
}

/// The arrays that the program assigns somewhere; no type is known yet.
fn arrays_of(program: &plain::Program) -> Ahead {
    let mut ahead = Ahead::default();
    for item in &program.items {
        let plain::Item::Clause(clause) = item else { continue };
        for expr in clause.predicate.iter().chain(clause.body.iter().flatten()) {
            each_assigned(expr, &mut |name| {
                ahead.assigned.insert((name.scope, name.name.to_owned()));
            });
        }
    }
    ahead
}
