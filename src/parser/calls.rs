//! parser/calls.rs: lookups during parsing: a wrong name or type is reported before a later syntax error.

use std::cell::RefCell;
use std::collections::HashSet;

use super::ast::{Clause, Declaration, Expr, ExprKind, Item, Stmt};
use super::error::ParseError;
use super::lex::options::Settings;
use super::visit::MAX_DEPTH;
use super::visit::check_expr_depth;
use crate::vocabulary::callee;
use kinst_base::source::{FileId, Span, Spanned};

/// The callable names.
pub(super) struct Calls {
    settings: Settings,
    /// The variables and inlines that the text has declared so far; none of them is a function.
    declared: HashSet<String>,
    /// The sizeof and offsetof expressions of the declaration that is being parsed.
    sizes: RefCell<Vec<Expr>>,
}

impl Calls {
    pub(super) fn new(settings: Settings) -> Calls {
        Calls { settings, declared: HashSet::new(), sizes: RefCell::default() }
    }

    /// Builds a call; only the name of a function can be called.
    pub(super) fn call(&self, called: Expr, args: Option<Vec<Expr>>, end: usize) -> Result<Expr, ParseError> {
        let span = Span { end: end as u32, ..called.span };
        let ExprKind::Ident(name) = called.kind else {
            return Err(ParseError::CalleeNotName { span: called.span });
        };
        let declared = self.declared.contains(&name);
        let refused = callee::check(&name, self.settings.version, called.span, declared);
        if let Some(diagnostic) = refused.filter(|_| !self.settings.any_call) {
            return Err(ParseError::Call(Box::new(diagnostic)));
        }
        let callee = Spanned::new(name, called.span);
        Ok(Expr::new(ExprKind::Call { callee, args: args.unwrap_or_default() }, span))
    }

    /// Builds a sizeof or offsetof; only the checker can compute its value, and its type may be wrong.
    pub(super) fn size(&self, kind: ExprKind, span: Span) -> Expr {
        let expr = Expr::new(kind, span);
        if check_expr_depth(&expr, MAX_DEPTH).is_ok() {
            self.sizes.borrow_mut().push(expr.clone());
        }
        expr
    }

    /// Returns the expressions to check in an incomplete declaration.
    pub(super) fn unfinished(self, file: FileId) -> Option<Clause> {
        let sizes = self.sizes.into_inner();
        let span = sizes.first().map_or(Span::new(file, 0, 0), |size| size.span);
        let body: Vec<Stmt> = sizes.into_iter().map(Stmt::Expr).collect();
        (!body.is_empty()).then_some(Clause { probes: Vec::new(), predicate: None, body: Some(body), span })
    }

    /// Records a complete item before parsing continues.
    pub(super) fn note(&mut self, item: &Item) {
        self.sizes.get_mut().clear();
        match item {
            Item::Declaration(declaration @ Declaration { declarators, .. }) => {
                let types: HashSet<&str> = declaration.type_names().collect();
                let names = declarators.iter().map(|declarator| &declarator.name.node);
                self.declared.extend(names.filter(|name| !types.contains(name.as_str())).cloned());
            }
            Item::Inline(inline) => {
                self.declared.insert(inline.declarator.name.node.clone());
            }
            _ => {}
        }
    }
}
