//! typeck/check.rs: the check of a whole program, item by item.

use std::collections::HashSet;

use super::env::Env;
use super::error::Result;
use super::expr::ahead;
use super::state::Checker;
use super::state::names::Names;
use super::typed::{self, ProbeStability};
use crate::parser::{ast, visit};
use crate::sugar::plain::{self, ProbeDesc};
use kinst_base::probe::Description;

/// Checks a whole program: declarations first, then the clauses in order, as the first assignment fixes a
/// variable's type.
pub fn check(program: &plain::Program, env: &Env<'_>) -> Result<typed::Program> {
    let (checker, clauses) = ahead::check_clauses(program, env)?;
    if let Some(unsupported) = checker.unsupported {
        return Err(unsupported.into());
    }
    let Names { variables, aggregations, .. } = checker.names;
    let (layout, warnings, remarks) = (checker.layout, checker.warnings, checker.remarks);
    Ok(typed::Program { layout, variables, aggregations, clauses, warnings, remarks })
}

/// Checks a whole program whose descriptions have not been looked up, and which therefore is not compiled.
pub fn check_written(program: plain::Program<ast::ProbeDesc>, env: &Env<'_>) -> Result<()> {
    let taken = |probes: Vec<ast::ProbeDesc>| probes.into_iter().map(ProbeDesc::as_written).collect();
    check(&program.with_probes(taken), env).map(drop)
}

/// Makes the checks that the reference implementations make while they parse: if the source has a syntax
/// error further on, these errors come first. `whole`: the source was parsed to its end.
pub fn check_read(program: &plain::Program<ast::ProbeDesc>, env: &Env<'_>, whole: bool) -> Result<()> {
    let mut checker = Checker::new(env);
    for library in env.libraries {
        checker.load(library)?;
    }
    checker.check_declarations(program)?;
    if whole { checker.check_pragmas_used(program) } else { Ok(()) }
}

/// Returns the stability of these probes and the types of their arguments, for listings.
pub fn describe(probes: &[Description], env: &Env<'_>) -> Result<Vec<ProbeStability>> {
    let mut checker = Checker::new(env);
    for library in env.libraries {
        checker.load(library)?;
    }
    // One query for all: each separate query would open the debug information.
    env.places.scopes(&probes.iter().flat_map(|probe| checker.sites_of(probe)).collect::<Vec<_>>());
    Ok(probes.iter().map(|probe| checker.stability_of_probe(probe)).collect())
}

fn provider_name<P>(item: &plain::Item<P>) -> Option<&str> {
    match item {
        plain::Item::Provider(provider) => Some(&provider.name.node),
        _ => None,
    }
}

impl Checker<'_> {
    pub(super) fn check_in_order(&mut self, program: &plain::Program) -> Result<Vec<typed::Clause>> {
        for library in self.env.libraries {
            self.load(library)?;
        }
        self.check_declarations(program)?;
        self.check_pragmas_used(program)?;
        self.ask_ahead(program);
        let mut clauses = Vec::new();
        let mut items = program.items.as_slice();
        while let Some((item, rest)) = items.split_first() {
            items = rest;
            match item {
                plain::Item::Clause(_) => {
                    let parts = Checker::parts(item, rest);
                    items = &rest[parts.len() - 1..];
                    match self.check_parts(&parts) {
                        Err(error) if self.has_read_ahead() => {
                            self.ahead.keep(error);
                            self.learn_from(&parts);
                        }
                        checked => clauses.extend(checked?),
                    }
                }
                plain::Item::Provider(provider) => self.define_provider(provider)?,
                _ => {}
            }
        }
        Ok(clauses)
    }

    fn check_declarations<P>(&mut self, program: &plain::Program<P>) -> Result<()> {
        program.items.iter().try_for_each(|item| self.check_item(item))
    }

    /// Checks that each name that a pragma gives attributes occurs in the program.
    fn check_pragmas_used<P>(&self, program: &plain::Program<P>) -> Result<()> {
        let providers: HashSet<&str> = program.items.iter().filter_map(provider_name).collect();
        program.items.iter().try_for_each(|item| match item {
            plain::Item::Pragma(pragma) => self.require_used(pragma, &providers),
            _ => Ok(()),
        })
    }

    /// Checks declarations in order, and the types that clauses name.
    pub(super) fn check_item<P>(&mut self, item: &plain::Item<P>) -> Result<()> {
        match item {
            plain::Item::Declaration(declaration) => self.declare(declaration),
            plain::Item::Inline(inline) => self.define_inline(inline),
            plain::Item::Translator(translator) => self.define_translator(translator),
            plain::Item::Pragma(pragma) => {
                self.note_attributes(pragma);
                self.check_pragma(pragma)
            }
            plain::Item::Clause(clause) => {
                let body = clause.body.iter().flatten();
                clause.predicate.iter().chain(body).try_for_each(|expr| self.check_sizes(expr))
            }
            plain::Item::Provider(_) => Ok(()),
        }
    }

    /// Evaluates sizeof and offsetof of types as soon as they are parsed. An operand that defines a type is
    /// left for later, since a type can be defined only once.
    fn check_sizes(&mut self, expr: &ast::Expr) -> Result<()> {
        let mut result = Ok(());
        visit::each_operand(expr, &mut |operand| {
            if result.is_ok() {
                result = self.check_sizes(operand);
            }
        });
        result?;
        match &expr.kind {
            ast::ExprKind::SizeofType { ty } | ast::ExprKind::Offsetof { ty, .. } if !ty.defines() => {
                self.check_operand(expr).map(drop)
            }
            _ => Ok(()),
        }
    }
}
