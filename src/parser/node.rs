//! parser/node.rs: the constructors that the grammar calls.

use super::ast::*;
use super::constant;
use super::error::ParseError;
use super::lex::macros::Macros;
use super::lex::probe as lexed;
use kinst_base::source::{Origin, Span, Spanned};
use kinst_types::TagKind;

impl Expr {
    /// Makes an expression.
    pub fn new(kind: ExprKind, span: Span) -> Expr {
        Expr { kind, span }
    }
}

impl Declaration {
    /// Returns the names of the types that it defines.
    pub fn type_names(&self) -> impl Iterator<Item = &str> {
        let defines = self.storage.as_ref().is_some_and(|storage| storage.node == Storage::Typedef);
        self.declarators.iter().filter(move |_| defines).map(|declarator| declarator.name.node.as_str())
    }
}

/// Makes a probe description as written.
pub(super) fn probe(kind: ProbeDescKind, span: Span) -> ProbeDesc {
    ProbeDesc { kind, span }
}

/// Makes the description of a probe that an alias stands for.
pub(super) fn alias_probe(text: Vec<u8>, span: Span) -> Result<ProbeDesc, ParseError> {
    let text = String::from_utf8_lossy(&text);
    let inside = Span { start: span.start + 1, end: span.end - 1, ..span };
    let context = lexed::Context { origin: Origin::Library, macros: &Macros::default(), defaultargs: false };
    Ok(ProbeDesc { kind: lexed::describe(&text, inside, &context, &mut |_| ())?, span })
}

pub(super) fn absent(nearest: Vec<u8>, span: Span) -> Alias {
    Alias::Absent(Spanned::new(String::from_utf8_lossy(&nearest).into_owned(), span))
}

pub(super) fn clause(
    probes: Vec<ProbeDesc>,
    predicate: Option<Expr>,
    body: Option<Vec<Stmt>>,
    span: Span,
) -> Box<Clause> {
    Box::new(Clause { probes, predicate, body, span })
}

/// Makes a block; empty statements are dropped.
pub(super) fn block(list: Vec<Option<Stmt>>, last: Option<Expr>) -> Vec<Stmt> {
    list.into_iter().flatten().chain(last.map(Stmt::Expr)).collect()
}

pub(super) fn if_else(condition: Expr, then: Vec<Stmt>, otherwise: Option<Vec<Stmt>>, span: Span) -> Stmt {
    Stmt::If(Box::new(If { condition, then, otherwise, span }))
}

pub(super) fn comma(left: Expr, right: Expr) -> Expr {
    let span = left.span.to(right.span);
    Expr::new(ExprKind::Comma { left: Box::new(left), right: Box::new(right) }, span)
}

pub(super) fn assign(op: Option<BinaryOp>, left: Expr, right: Expr) -> Result<Expr, ParseError> {
    op.map_or(Ok(()), |op| constant::check_divisor(op, &right))?;
    let span = left.span.to(right.span);
    Ok(Expr::new(ExprKind::Assign { op, left: Box::new(left), right: Box::new(right) }, span))
}

pub(super) fn conditional(condition: Expr, then: Expr, otherwise: Expr) -> Expr {
    let span = condition.span.to(otherwise.span);
    let (condition, then, otherwise) = (Box::new(condition), Box::new(then), Box::new(otherwise));
    Expr::new(ExprKind::Conditional { condition, then, otherwise }, span)
}

pub(super) fn binary(op: BinaryOp, left: Expr, right: Expr) -> Result<Expr, ParseError> {
    constant::check_divisor(op, &right)?;
    let span = left.span.to(right.span);
    Ok(Expr::new(ExprKind::Binary { op, left: Box::new(left), right: Box::new(right) }, span))
}

pub(super) fn cast(ty: TypeName, operand: Expr, start: usize) -> Expr {
    let span = Span { start: start as u32, ..operand.span };
    Expr::new(ExprKind::Cast { ty: Box::new(ty), operand: Box::new(operand) }, span)
}

pub(super) fn unary(op: UnaryOp, operand: Expr, start: usize) -> Expr {
    let span = Span { start: start as u32, ..operand.span };
    Expr::new(ExprKind::Unary { op, operand: Box::new(operand) }, span)
}

pub(super) fn negative(value: u64, text: String, span: Span) -> Expr {
    unary(UnaryOp::Neg, Expr::new(ExprKind::Int { value, text }, span), span.start as usize)
}

pub(super) fn postfix(op: PostfixOp, operand: Expr, end: usize) -> Expr {
    let span = Span { end: end as u32, ..operand.span };
    Expr::new(ExprKind::Postfix { op, operand: Box::new(operand) }, span)
}

pub(super) fn index(base: Expr, indices: Vec<Expr>, end: usize) -> Expr {
    let span = Span { end: end as u32, ..base.span };
    Expr::new(ExprKind::Index { base: Box::new(base), indices }, span)
}

pub(super) fn member(base: Expr, arrow: bool, member: Spanned<String>) -> Expr {
    let span = base.span.to(member.span);
    Expr::new(ExprKind::Member { base: Box::new(base), arrow, member }, span)
}

/// A word of a declaration before its declarators.
pub(super) enum DeclWord {
    Storage(Spanned<Storage>),
    Type(Spanned<TypeSpec>),
}

pub(super) fn declaration(
    words: Vec<DeclWord>,
    declarators: Option<Vec<Declarator>>,
    span: Span,
) -> Result<Item, ParseError> {
    let (storage, specs) = sort_words(words)?;
    let declarators = declarators.unwrap_or_default();
    Ok(Item::Declaration(Declaration { storage, specs, declarators, span, in_header: false }))
}

pub(super) fn record(
    kind: TagKind,
    name: Option<Spanned<String>>,
    members: Vec<MemberDeclaration>,
    packed: bool,
) -> RecordDefinition {
    RecordDefinition { kind, name, members, packed }
}

pub(super) fn inline(
    words: Vec<DeclWord>,
    declarator: Declarator,
    value: Expr,
    span: Span,
) -> Result<Item, ParseError> {
    let (storage, specs) = sort_words(words)?;
    Ok(Item::Inline(Inline { storage, specs, declarator, value, span }))
}

pub(super) fn param(
    words: Vec<DeclWord>,
    name: Option<Spanned<String>>,
    derived: Vec<Derived>,
    span: Span,
) -> Result<Param, ParseError> {
    let (storage, specs) = sort_words(words)?;
    Ok(Param { storage, ty: TypeName { specs, derived, span }, name })
}

type Words = (Option<Spanned<Storage>>, Vec<Spanned<TypeSpec>>);

/// Separates the storage class, at most one, from the type.
fn sort_words(words: Vec<DeclWord>) -> Result<Words, ParseError> {
    let mut storage: Option<Spanned<Storage>> = None;
    let mut specs = Vec::new();
    for word in words {
        match (word, &storage) {
            (DeclWord::Type(spec), _) => specs.push(spec),
            (DeclWord::Storage(class), None) => storage = Some(class),
            (DeclWord::Storage(class), Some(first)) => {
                return Err(ParseError::TwoClasses { first: first.span, second: class.span });
            }
        }
    }
    Ok((storage, specs))
}

pub(super) fn pointer_to(direct: Declarator, pointer: Option<Vec<Derived>>) -> Declarator {
    Declarator { derived: chain(direct.derived, pointer.unwrap_or_default()), ..direct }
}

pub(super) fn derive(direct: Declarator, suffix: Derived) -> Declarator {
    Declarator { derived: chain(direct.derived, vec![suffix]), ..direct }
}

/// Joins the outer steps of a type and the inner ones.
pub(super) fn chain(mut outer: Vec<Derived>, inner: Vec<Derived>) -> Vec<Derived> {
    outer.extend(inner);
    outer
}
