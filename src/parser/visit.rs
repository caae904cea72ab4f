//! parser/visit.rs: walks over the tree.

use super::ast::*;
use super::error::ParseError;
use crate::source::Span;

/// A node on the way down; the walk keeps them on the heap, so that no depth exhausts the stack.
enum Node<'a> {
    Expr(&'a Expr),
    Stmt(&'a Stmt),
    Type(&'a TypeName),
}

/// No part of the item is nested more than `limit` levels deep.
pub fn check_depth(item: &Item, limit: usize) -> Result<(), ParseError> {
    match item {
        Item::Clause(clause) => {
            let body = clause.body.iter().flatten().map(Node::Stmt);
            check(clause.predicate.iter().map(Node::Expr).chain(body).collect(), limit)
        }
        Item::Declaration(declaration) => {
            let steps = declaration.declarators.iter().flat_map(|d| &d.derived);
            check(steps.flat_map(derived_nodes).collect(), limit)
        }
        Item::Pragma(_) => Ok(()),
    }
}

pub fn check_expr_depth(expr: &Expr, limit: usize) -> Result<(), ParseError> {
    check(vec![Node::Expr(expr)], limit)
}

pub fn check_type_depth(ty: &TypeName, limit: usize) -> Result<(), ParseError> {
    check(vec![Node::Type(ty)], limit)
}

fn check(roots: Vec<Node<'_>>, limit: usize) -> Result<(), ParseError> {
    let mut open: Vec<(usize, Node<'_>)> = roots.into_iter().map(|node| (1, node)).collect();
    while let Some((depth, node)) = open.pop() {
        if depth > limit {
            return Err(ParseError::TooDeep { limit, span: span_of(&node) });
        }
        each_child(&node, &mut |child| open.push((depth + 1, child)));
    }
    Ok(())
}

fn span_of(node: &Node<'_>) -> Span {
    match node {
        Node::Expr(expr) => expr.span,
        Node::Stmt(Stmt::Expr(expr)) => expr.span,
        Node::Stmt(Stmt::If(branch)) => branch.span,
        Node::Type(ty) => ty.span,
    }
}

fn each_child<'a>(node: &Node<'a>, visit: &mut dyn FnMut(Node<'a>)) {
    match node {
        Node::Stmt(Stmt::Expr(expr)) => visit(Node::Expr(expr)),
        Node::Stmt(Stmt::If(branch)) => {
            visit(Node::Expr(&branch.condition));
            branch
                .then
                .iter()
                .chain(branch.otherwise.iter().flatten())
                .for_each(|stmt| visit(Node::Stmt(stmt)));
        }
        Node::Type(ty) => ty.derived.iter().flat_map(derived_nodes).for_each(visit),
        Node::Expr(expr) => {
            each_operand(expr, &mut |operand| visit(Node::Expr(operand)));
            match &expr.kind {
                ExprKind::Cast { ty, .. }
                | ExprKind::SizeofType { ty }
                | ExprKind::Offsetof { ty, .. }
                | ExprKind::Xlate { ty, .. } => visit(Node::Type(ty)),
                _ => {}
            }
        }
    }
}

fn derived_nodes(derived: &Derived) -> Vec<Node<'_>> {
    match derived {
        Derived::Pointer { .. } | Derived::Array(None) => Vec::new(),
        Derived::Array(Some(size)) => vec![Node::Expr(size)],
        Derived::AssocArray(types) | Derived::Function(types) => types.iter().map(Node::Type).collect(),
    }
}

/// Calls `visit` with each expression directly inside `expr`, from left to right.
pub fn each_operand<'a>(expr: &'a Expr, visit: &mut dyn FnMut(&'a Expr)) {
    match &expr.kind {
        ExprKind::Int { .. }
        | ExprKind::Char { .. }
        | ExprKind::Str { .. }
        | ExprKind::Ident(_)
        | ExprKind::Aggregation(_)
        | ExprKind::Scope(_)
        | ExprKind::SizeofType { .. }
        | ExprKind::Offsetof { .. } => {}
        ExprKind::Unary { operand, .. }
        | ExprKind::Postfix { operand, .. }
        | ExprKind::Cast { operand, .. }
        | ExprKind::Xlate { operand, .. } => visit(operand),
        ExprKind::Member { base, .. } => visit(base),
        ExprKind::Binary { left, right, .. }
        | ExprKind::Assign { left, right, .. }
        | ExprKind::Comma { left, right } => {
            visit(left);
            visit(right);
        }
        ExprKind::Conditional { condition, then, otherwise } => {
            visit(condition);
            visit(then);
            visit(otherwise);
        }
        ExprKind::Call { args, .. } => args.iter().for_each(visit),
        ExprKind::Index { base, indices } => {
            visit(base);
            indices.iter().for_each(visit);
        }
    }
}
