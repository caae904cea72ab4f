//! sugar/plain.rs: the tree after the sugar pass: no aliases, no `if`, no inline probes.

use crate::parser::ast::{self, Declaration, Expr, Inline, Pragma, ProbeDescKind, Provider, Translator};
use kinst_base::probe::{Description, Fields};
use kinst_base::source::Span;

/// `P`: the type of a probe description. [`ast::ProbeDesc`]: as written, in a program that is only checked.
/// [`Unaliased`](super::aliases::Unaliased): before inline probes are expanded.
#[derive(Clone, Debug, PartialEq)]
pub struct Program<P = ProbeDesc> {
    pub items: Vec<Item<P>>,
}

#[derive(Clone, Debug, PartialEq)]
pub enum Item<P = ProbeDesc> {
    Clause(Clause<P>),
    Pragma(Pragma),
    Declaration(Declaration),
    Inline(Inline),
    Translator(Translator),
    Provider(Provider),
}

#[derive(Clone, Debug, PartialEq)]
pub struct Clause<P = ProbeDesc> {
    pub probes: Vec<P>,
    pub predicate: Option<Expr>,
    /// `None` without braces, as the command line allows.
    pub body: Option<Vec<Expr>>,
    /// Whether it is one of several clauses made from a clause with `if`.
    pub part: bool,
    pub span: Span,
}

/// A description after inline probes are expanded: as written, or a place.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ProbeDesc {
    pub kind: Description,
    pub span: Span,
}

impl<P> Program<P> {
    /// Returns the same program with other descriptions in its clauses.
    pub fn with_probes<Q>(self, mut each: impl FnMut(Vec<P>) -> Vec<Q>) -> Program<Q> {
        let items = self.items.into_iter().map(|item| match item {
            Item::Clause(Clause { probes, predicate, body, part, span }) => {
                Item::Clause(Clause { probes: each(probes), predicate, body, part, span })
            }
            Item::Pragma(pragma) => Item::Pragma(pragma),
            Item::Declaration(declaration) => Item::Declaration(declaration),
            Item::Inline(inline) => Item::Inline(inline),
            Item::Translator(translator) => Item::Translator(translator),
            Item::Provider(provider) => Item::Provider(provider),
        });
        Program { items: items.collect() }
    }
}

impl Program {
    /// The fields of all descriptions, with their places in the text.
    pub fn described(&self) -> Vec<(Fields, Span)> {
        let clauses = self.items.iter().filter_map(|item| match item {
            Item::Clause(clause) => Some(clause),
            _ => None,
        });
        let probes = clauses.flat_map(|clause| &clause.probes);
        probes.filter_map(|probe| Some((probe.kind.fields()?, probe.span))).collect()
    }
}

impl ProbeDesc {
    /// Converts a description that is not an inline probe, or whose places do not matter.
    pub fn as_written(ast::ProbeDesc { kind, span }: ast::ProbeDesc) -> ProbeDesc {
        let kind = match kind {
            ProbeDescKind::Id(id) => Description::Id(id),
            ProbeDescKind::Fields(fields) => Description::Fields(fields),
        };
        ProbeDesc { kind, span }
    }
}

impl From<&ast::ProbeDesc> for ast::ProbeDesc {
    fn from(probe: &ast::ProbeDesc) -> ast::ProbeDesc {
        probe.clone()
    }
}

impl From<&ProbeDesc> for ast::ProbeDesc {
    fn from(ProbeDesc { kind, span }: &ProbeDesc) -> ast::ProbeDesc {
        let kind = match kind {
            Description::Id(id) => ProbeDescKind::Id(*id),
            Description::Fields(fields) => ProbeDescKind::Fields(fields.clone()),
            Description::Site(site) => ProbeDescKind::Fields(Box::new(site.fields())),
        };
        ast::ProbeDesc { kind, span: *span }
    }
}

/// For printers of either tree: -d, -x dump=plain.
impl<P> From<&Program<P>> for ast::Program
where
    for<'a> ast::ProbeDesc: From<&'a P>,
{
    fn from(program: &Program<P>) -> ast::Program {
        let items = program.items.iter().map(|item| match item {
            Item::Clause(clause) => ast::Item::Clause(ast::Clause {
                probes: clause.probes.iter().map(ast::ProbeDesc::from).collect(),
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
