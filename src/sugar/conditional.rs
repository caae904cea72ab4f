//! sugar/conditional.rs: statements `c ? a : b` with actions as arms: one of the arms if c is constant, else `if`.

use std::collections::HashMap;

use crate::parser::ast::{self, Expr, ExprKind, If, Stmt, TypeKeyword, TypeSpec};
use crate::parser::constant;
use crate::vocabulary::builtin::{self, What};

/// A program without actions as arms of `?:`; only this pass makes one.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Branched<P>(ast::Program<P>);

impl<P> Branched<P> {
    pub(super) fn into_items(self) -> Vec<ast::Item<P>> {
        self.0.items
    }
}

/// Runs the pass. The constants of a program also apply to the programs after it.
pub(super) fn expand<P>(programs: Vec<ast::Program<P>>) -> Vec<Branched<P>> {
    let mut constants = Constants::default();
    let mut item = |item: ast::Item<P>| match item {
        ast::Item::Inline(inline) => {
            constants.note(&inline);
            ast::Item::Inline(inline)
        }
        ast::Item::Clause(ast::Clause { probes, predicate, body, span }) => {
            let body = body.map(|body| constants.block(body));
            ast::Item::Clause(ast::Clause { probes, predicate, body, span })
        }
        item => item,
    };
    let mut branched = |program: ast::Program<P>| {
        Branched(ast::Program { items: program.items.into_iter().map(&mut item).collect() })
    };
    programs.into_iter().map(&mut branched).collect()
}

/// The inlines of a run that are integer constants.
#[derive(Default)]
struct Constants(HashMap<String, i64>);

impl Constants {
    /// Records an inline if its text determines its value.
    fn note(&mut self, inline: &ast::Inline) {
        let name = &inline.declarator.name.node;
        if let Some(value) = self.value(&inline.value).filter(|value| keeps(inline, *value)) {
            self.0.entry(name.clone()).or_insert(value);
        }
    }

    fn value(&self, expr: &Expr) -> Option<i64> {
        constant::value(expr, &|name| self.0.get(name).copied())
    }

    /// Rewrites the statements of a block, including those inside `if`.
    fn block(&self, block: Vec<Stmt>) -> Vec<Stmt> {
        block.into_iter().flat_map(|stmt| self.statement(stmt)).collect()
    }

    fn statement(&self, stmt: Stmt) -> Vec<Stmt> {
        match stmt {
            Stmt::Expr(expr) => self.expression(expr),
            Stmt::If(branch) => {
                let If { condition, then, otherwise, span } = *branch;
                let (then, otherwise) = (self.block(then), otherwise.map(|block| self.block(block)));
                vec![Stmt::If(Box::new(If { condition, then, otherwise, span }))]
            }
        }
    }

    fn expression(&self, expr: Expr) -> Vec<Stmt> {
        if !acts(&expr) {
            return vec![Stmt::Expr(expr)];
        }
        match expr.kind {
            ExprKind::Conditional { condition, then, otherwise } => match self.value(&condition) {
                Some(value) => self.expression(if value != 0 { *then } else { *otherwise }),
                None => {
                    let otherwise = Some(self.arm(*otherwise)).filter(|block| !block.is_empty());
                    let (then, span) = (self.arm(*then), expr.span);
                    vec![Stmt::If(Box::new(If { condition: *condition, then, otherwise, span }))]
                }
            },
            kind => vec![Stmt::Expr(Expr { kind, span: expr.span })],
        }
    }

    /// A literal as an arm only completes the operator: it does nothing.
    fn arm(&self, arm: Expr) -> Vec<Stmt> {
        match arm.kind {
            ExprKind::Int { .. } | ExprKind::Char { .. } | ExprKind::Str { .. } => Vec::new(),
            _ => self.expression(arm),
        }
    }
}

/// Whether this is an action, an assignment to an aggregation, or a conditional with one of these as an arm.
fn acts(expr: &Expr) -> bool {
    match &expr.kind {
        ExprKind::Call { callee, .. } => {
            builtin::lookup(&callee.node).is_some_and(|entry| matches!(entry.what, What::Action(_)))
        }
        ExprKind::Assign { left, .. } => match &left.kind {
            ExprKind::Aggregation(_) => true,
            ExprKind::Index { base, .. } => matches!(base.kind, ExprKind::Aggregation(_)),
            _ => false,
        },
        ExprKind::Conditional { then, otherwise, .. } => acts(then) || acts(otherwise),
        _ => false,
    }
}

/// Whether the type of an inline is certain to hold the value: any integer type holds a small one, and int
/// more.
fn keeps(inline: &ast::Inline, value: i64) -> bool {
    let int = |spec: &TypeSpec| matches!(spec, TypeSpec::Keyword(TypeKeyword::Int | TypeKeyword::Long));
    let other = |spec: &TypeSpec| match spec {
        TypeSpec::Keyword(TypeKeyword::Char | TypeKeyword::Short) => true,
        TypeSpec::Keyword(TypeKeyword::Unsigned) => value < 0,
        TypeSpec::Keyword(_) => false,
        _ => true,
    };
    let specs = || inline.specs.iter().map(|spec| &spec.node);
    let is_int = specs().any(int) && !specs().any(other) && i32::try_from(value).is_ok();
    let no_integer = [TypeKeyword::String, TypeKeyword::Float, TypeKeyword::Double].map(TypeSpec::Keyword);
    let is_small = (0..=127).contains(&value) && !specs().any(|spec| no_integer.contains(spec));
    inline.declarator.derived.is_empty() && (is_int || is_small)
}
