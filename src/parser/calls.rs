//! parser/calls.rs: what is looked up while the text is read: a wrong name or type comes before a later syntax error.

use std::cell::RefCell;
use std::collections::HashSet;

use super::MAX_DEPTH;
use super::ast::{Clause, Declaration, Expr, ExprKind, Item, Stmt};
use super::error::ParseError;
use super::visit::check_expr_depth;
use crate::diag::Diagnostic;
use crate::source::{FileId, Span, Spanned};

/// What a compilation says to a call of this name; the last argument tells that the text declared the name itself.
pub type CheckCall<'a> = dyn Fn(&str, Span, bool) -> Option<Box<Diagnostic>> + 'a;

/// Knows which names can be called.
pub struct Calls<'a> {
    check: &'a CheckCall<'a>,
    /// The variables and inlines that the text has declared so far: none is a function.
    declared: HashSet<String>,
    /// The sizeof and offsetof of the declaration that is being read.
    sizes: RefCell<Vec<Expr>>,
}

impl<'a> Calls<'a> {
    pub fn new(check: &'a CheckCall<'a>) -> Calls<'a> {
        Calls { check, declared: HashSet::new(), sizes: RefCell::default() }
    }

    /// Only the name of a function can be called.
    pub fn call(&self, callee: Expr, args: Option<Vec<Expr>>, end: usize) -> Result<Expr, ParseError> {
        let span = Span { end: end as u32, ..callee.span };
        let ExprKind::Ident(name) = callee.kind else {
            return Err(ParseError::CalleeNotName { span: callee.span });
        };
        if let Some(diagnostic) = (self.check)(&name, callee.span, self.declared.contains(&name)) {
            return Err(ParseError::Call(diagnostic));
        }
        let callee = Spanned::new(name, callee.span);
        Ok(Expr::new(ExprKind::Call { callee, args: args.unwrap_or_default() }, span))
    }

    /// A number that only the checker knows, of a type that may be wrong.
    pub fn size(&self, kind: ExprKind, span: Span) -> Expr {
        let expr = Expr::new(kind, span);
        if check_expr_depth(&expr, MAX_DEPTH).is_ok() {
            self.sizes.borrow_mut().push(expr.clone());
        }
        expr
    }

    /// What is to be looked up in a declaration that does not end.
    pub fn unfinished(self, file: FileId) -> Option<Clause> {
        let sizes = self.sizes.into_inner();
        let span = sizes.first().map_or(Span::new(file, 0, 0), |size| size.span);
        let body: Vec<Stmt> = sizes.into_iter().map(Stmt::Expr).collect();
        (!body.is_empty()).then_some(Clause { probes: Vec::new(), predicate: None, body: Some(body), span })
    }

    /// The text goes on after this item.
    pub fn note(&mut self, item: &Item) {
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
