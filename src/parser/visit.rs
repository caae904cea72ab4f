//! parser/visit.rs: walks over the tree.

use super::ast::*;
use super::error::ParseError;
use kinst_base::source::{Span, Spanned};

/// The maximum number of levels in a tree. Later stages recurse: in a debug build each level costs them about
/// 8 kB of stack, and a Rust thread has 2 MB.
pub const MAX_DEPTH: usize = 200;

/// A node still to be visited; the walk keeps these on the heap, so that no depth exhausts the stack.
enum Node<'a> {
    Expr(&'a Expr),
    Stmt(&'a Stmt),
    Type(&'a TypeName),
    Members(&'a MemberDeclaration),
}

/// Checks that no part of the item is nested more than `limit` levels deep.
pub(crate) fn check_depth(item: &Item, limit: usize) -> Result<(), ParseError> {
    match item {
        Item::Clause(clause) => {
            let body = clause.body.iter().flatten().map(Node::Stmt);
            check(clause.predicate.iter().map(Node::Expr).chain(body).collect(), limit)
        }
        Item::Declaration(declaration) => {
            let steps = declaration.declarators.iter().flat_map(|d| &d.derived);
            let nodes = steps.flat_map(derived_nodes).chain(specs_nodes(&declaration.specs));
            check(nodes.collect(), limit)
        }
        Item::Inline(inline) => {
            let steps = inline.declarator.derived.iter().flat_map(derived_nodes);
            let nodes = steps.chain(specs_nodes(&inline.specs)).chain([Node::Expr(&inline.value)]);
            check(nodes.collect(), limit)
        }
        Item::Translator(translator) => {
            let types = [&translator.output, &translator.input].map(Node::Type);
            let values = translator.members.iter().map(|(_, value)| Node::Expr(value));
            check(types.into_iter().chain(values).collect(), limit)
        }
        Item::Provider(provider) => {
            let lists =
                provider.probes.iter().flat_map(|probe| [Some(&probe.native), probe.translated.as_ref()]);
            let types = lists.flatten().flat_map(|params| params.list.iter().map(|p| Node::Type(&p.ty)));
            let places = provider.probes.iter().flat_map(|probe| match &probe.alias {
                Some(Alias::Places(places)) => &places[..],
                Some(Alias::Absent(_)) | None => &[],
            });
            let exprs = places.flat_map(|place| place.condition.iter().chain(&place.values));
            check(types.chain(exprs.map(Node::Expr)).collect(), limit)
        }
        Item::Pragma(_) => Ok(()),
    }
}

pub(crate) fn check_expr_depth(expr: &Expr, limit: usize) -> Result<(), ParseError> {
    check(vec![Node::Expr(expr)], limit)
}

pub(crate) fn check_type_depth(ty: &TypeName, limit: usize) -> Result<(), ParseError> {
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
        Node::Members(members) => members.span,
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
        Node::Type(ty) => {
            let steps = ty.derived.iter().flat_map(derived_nodes);
            steps.chain(specs_nodes(&ty.specs)).for_each(visit);
        }
        Node::Members(members) => {
            specs_nodes(&members.specs).into_iter().for_each(&mut *visit);
            for member in &members.members {
                member
                    .declarator
                    .iter()
                    .flat_map(|d| &d.derived)
                    .flat_map(derived_nodes)
                    .for_each(&mut *visit);
                member.bits.iter().map(Node::Expr).for_each(&mut *visit);
            }
        }
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
        Derived::AssocArray(params) | Derived::Function(params) => {
            params.list.iter().map(|param| Node::Type(&param.ty)).collect()
        }
    }
}

fn specs_nodes(specs: &[Spanned<TypeSpec>]) -> Vec<Node<'_>> {
    let nodes = specs.iter().map(|spec| match &spec.node {
        TypeSpec::Record(record) => record.members.iter().map(Node::Members).collect(),
        TypeSpec::Enum(definition) => {
            definition.enumerators.iter().filter_map(|(_, value)| value.as_ref().map(Node::Expr)).collect()
        }
        TypeSpec::Keyword(_) | TypeSpec::Name(_) | TypeSpec::Tag { .. } => Vec::new(),
    });
    nodes.flatten().collect()
}

/// Calls `visit` with each expression in these statements that is not part of another one.
pub(crate) fn each_expression(body: &mut [Stmt], visit: &mut dyn FnMut(&mut Expr)) {
    for stmt in body {
        match stmt {
            Stmt::Expr(expr) => visit(expr),
            Stmt::If(branch) => {
                visit(&mut branch.condition);
                each_expression(&mut branch.then, visit);
                branch.otherwise.iter_mut().for_each(|block| each_expression(block, visit));
            }
        }
    }
}

/// Calls `$visit` with each expression directly inside `$expr`, a reference of either kind, from left to right.
macro_rules! for_each_operand {
    ($expr:expr, $visit:expr) => {
        match $expr {
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
            | ExprKind::Xlate { operand, .. } => $visit(operand),
            ExprKind::Member { base, .. } => $visit(base),
            ExprKind::Binary { left, right, .. }
            | ExprKind::Assign { left, right, .. }
            | ExprKind::Comma { left, right } => {
                $visit(left);
                $visit(right);
            }
            ExprKind::Conditional { condition, then, otherwise } => {
                $visit(condition);
                $visit(then);
                $visit(otherwise);
            }
            ExprKind::Call { args, .. } => args.into_iter().for_each($visit),
            ExprKind::Index { base, indices } => {
                $visit(base);
                indices.into_iter().for_each($visit);
            }
        }
    };
}

/// Calls `visit` with each expression directly inside `expr`, from left to right.
pub(crate) fn each_operand<'a>(expr: &'a Expr, visit: &mut dyn FnMut(&'a Expr)) {
    for_each_operand!(&expr.kind, visit);
}

/// Like [`each_operand`], with mutable references.
pub(crate) fn each_operand_mut(expr: &mut Expr, visit: &mut dyn FnMut(&mut Expr)) {
    for_each_operand!(&mut expr.kind, visit);
}
