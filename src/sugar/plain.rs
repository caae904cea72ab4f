//! sugar/plain.rs: the tree after the sugar pass: no `if`, no inline probes.

use crate::parser::ast::{self, Declaration, Expr, Inline, Pragma, ProbeDesc, Provider, Translator};
use crate::source::Span;

#[derive(Clone, Debug, PartialEq)]
pub struct Program {
    pub items: Vec<Item>,
}

#[derive(Clone, Debug, PartialEq)]
pub enum Item {
    Clause(Clause),
    Pragma(Pragma),
    Declaration(Declaration),
    Inline(Inline),
    Translator(Translator),
    Provider(Provider),
}

#[derive(Clone, Debug, PartialEq)]
pub struct Clause {
    pub probes: Vec<ProbeDesc>,
    pub predicate: Option<Expr>,
    /// `None`: no braces at all, as the command line allows.
    pub body: Option<Vec<Expr>>,
    pub span: Span,
}

/// For what prints either tree: -d, -x dump=plain.
impl From<&Program> for ast::Program {
    fn from(program: &Program) -> ast::Program {
        let items = program.items.iter().map(|item| match item {
            Item::Clause(clause) => ast::Item::Clause(ast::Clause {
                probes: clause.probes.clone(),
                predicate: clause.predicate.clone(),
                body: clause.body.as_ref().map(|body| body.iter().cloned().map(ast::Stmt::Expr).collect()),
                span: clause.span,
            }),
            Item::Pragma(pragma) => ast::Item::Pragma(pragma.clone()),
            Item::Declaration(declaration) => ast::Item::Declaration(declaration.clone()),
            Item::Inline(inline) => ast::Item::Inline(inline.clone()),
            Item::Translator(translator) => ast::Item::Translator(translator.clone()),
            Item::Provider(provider) => ast::Item::Provider(provider.clone()),
        });
        ast::Program { items: items.collect() }
    }
}
