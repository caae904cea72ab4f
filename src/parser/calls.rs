//! parser/calls.rs: calls are looked up while the text is read: a wrong name comes before a later syntax error.

use std::collections::HashSet;

use super::ast::{Declaration, Expr, ExprKind, Item};
use super::error::ParseError;
use crate::diag::Diagnostic;
use crate::source::{Span, Spanned};

/// What a compilation says to a call of this name; the last argument tells that the text declared the name itself.
pub type CheckCall<'a> = dyn Fn(&str, Span, bool) -> Option<Box<Diagnostic>> + 'a;

/// Knows which names can be called.
pub struct Calls<'a> {
    check: &'a CheckCall<'a>,
    /// The variables and inlines that the text has declared so far: none is a function.
    declared: HashSet<String>,
}

impl<'a> Calls<'a> {
    pub fn new(check: &'a CheckCall<'a>) -> Calls<'a> {
        Calls { check, declared: HashSet::new() }
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

    /// The text goes on after this item.
    pub fn note(&mut self, item: &Item) {
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
