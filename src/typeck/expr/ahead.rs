//! typeck/expr/ahead.rs: associative arrays that clauses read before the first assignment, which gives them their type.

use std::collections::{HashMap, HashSet};

use super::as_name;
use crate::parser::{ast, visit};
use crate::sugar::plain;
use crate::typeck::declare::names::Name;
use crate::typeck::env::Env;
use crate::typeck::error::{Error, Result};
use crate::typeck::typed::{Expr, ExprKind, Place, Scope, VariableId};
use crate::typeck::{Checker, error, typed, words};
use kinst_base::source::Span;
use kinst_types::Type;

type Array = (Scope, String);

/// The arrays that are read first. As in libdtrace an array exists from its first use, which fixes its keys; the first
/// assignment says what its elements are. Until that is known they pass for integers, and the program is checked
/// again with what a pass has found, until one finds what it began with.
#[derive(Clone, Debug, Default)]
pub(in crate::typeck) struct Ahead {
    /// The arrays that the program assigns somewhere.
    assigned: HashSet<Array>,
    /// The types that the pass before this one has found.
    types: HashMap<Array, Type>,
    /// The arrays that this pass has read first, in their order.
    read: Vec<(Array, Span)>,
    found: HashMap<Array, Type>,
    /// The first error, and the first one of an assignment that would have said a type.
    error: Option<Box<Error>>,
    failed: Option<Box<Error>>,
}

impl Ahead {
    fn new(program: &plain::Program) -> Ahead {
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

    /// Whether nothing has said the type of this array so far.
    fn is_open(&self, name: &Name<'_>) -> bool {
        let array = (name.scope, name.name.to_owned());
        self.read.iter().any(|(read, _)| *read == array) && !self.found.contains_key(&array)
    }

    /// The error of a clause is looked at again after the pass, as it may follow from a type that is not known yet.
    pub(crate) fn keep(&mut self, error: Box<Error>) {
        self.error.get_or_insert(error);
    }

    /// Whether this pass began with the types that it found.
    fn is_settled(&self) -> bool {
        let settled = |array: &Array| match (self.types.get(array), self.found.get(array)) {
            (Some(before), Some(found)) => before.same(found),
            _ => false,
        };
        self.read.iter().all(|(array, _)| settled(array))
    }

    fn without_type(&self) -> Option<Box<Error>> {
        let open = self.read.iter().find(|(array, _)| !self.found.contains_key(array));
        let ((scope, name), span) = open.or(self.read.first())?;
        let name = format!("{}{name}", scope.prefix());
        let unknown = error::Name::ElementsUnknown { name, span: *span };
        Some(self.failed.clone().unwrap_or_else(|| unknown.into()))
    }
}

/// Checks the clauses, again for as long as a pass finds other types of arrays than it began with.
pub(in crate::typeck) fn check_clauses<'a>(
    program: &plain::Program,
    env: &'a Env<'a>,
) -> Result<(Checker<'a>, Vec<typed::Clause>)> {
    let mut ahead = Ahead::new(program);
    // A type may follow from that of another array.
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
    /// Checks an element of an array that does not exist so far; an assignment has to follow.
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

    /// Notes the type of the first value that an array gets which was read before.
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

    /// After an array was read without a type, errors may follow from that: the assignments of the clause are looked at
    /// alone, and the others are left to the next pass.
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

/// Calls `visit` with each array of which the expression reads an element.
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
