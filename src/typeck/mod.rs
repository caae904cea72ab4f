//! typeck/: [`plain::Program`] → [`typed::Program`].

mod declare;
mod dump;
mod env;
mod error;
mod expr;
mod operand;
mod place;
mod report;
mod stmt;
#[cfg(test)]
pub(crate) mod tests;
pub mod typed;
mod words;

use std::collections::{HashMap, HashSet};

use crate::parser::ast;
use crate::parser::visit;
use crate::sugar::plain::{self, ProbeDesc};
use crate::vocabulary::builtin::{self, Entry};
use declare::{inline, names, provider, translator};
use expr::{ahead, assign};
use kinst_base::attributes::{self, Attributes};
use kinst_base::diag::Diagnostic;
use kinst_base::probe::Description;
use kinst_base::source::Span;
use kinst_types::declared::Declared;
use kinst_types::{Layout, Type};
use place::fan_out;
use stmt::{order, predicate};

pub use dump::dump;
pub use env::{Env, Library, MissingLocals};
pub use error::{Error, Result};
pub(crate) use expr::fold::narrow;
pub use typed::{ProbeStability, Stability};

/// Checks a whole program: declarations first, then the clauses in order, as a variable's type is fixed by
/// the first assignment.
pub fn check(program: &plain::Program, env: &Env<'_>) -> Result<typed::Program> {
    let (checker, clauses) = ahead::check_clauses(program, env)?;
    if let Some(unsupported) = checker.unsupported {
        return Err(unsupported.into());
    }
    let names::Names { variables, aggregations, .. } = checker.names;
    let (layout, warnings, remarks) = (checker.layout, checker.warnings, checker.remarks);
    Ok(typed::Program { layout, variables, aggregations, clauses, warnings, remarks })
}

/// Checks a whole program whose descriptions have not been looked up, which for that reason is not compiled.
pub fn check_written(program: plain::Program<ast::ProbeDesc>, env: &Env<'_>) -> Result<()> {
    let taken = |probes: Vec<ast::ProbeDesc>| probes.into_iter().map(ProbeDesc::as_written).collect();
    check(&program.with_probes(taken), env).map(drop)
}

/// Makes the checks that the reference implementations make while they read: if a text has a syntax error further
/// on, these errors come first. `whole`: the text was read to its end.
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
    // All at once: each question by itself would open the debug information.
    env.places.scopes(&probes.iter().flat_map(|probe| checker.sites_of(probe)).collect::<Vec<_>>());
    Ok(probes.iter().map(|probe| checker.stability_of_probe(probe)).collect())
}

fn provider_name<P>(item: &plain::Item<P>) -> Option<&str> {
    match item {
        plain::Item::Provider(provider) => Some(&provider.name.node),
        _ => None,
    }
}

/// The state of one check.
struct Checker<'a> {
    env: &'a Env<'a>,
    layout: Layout,
    names: names::Names,
    ahead: ahead::Ahead,
    /// The probes of the clause being checked; `None` outside all clauses.
    probes: Option<Vec<ProbeDesc>>,
    /// What the program declares besides variables.
    declared: Declared,
    externs: HashMap<String, (Type, Span)>,
    inlines: HashMap<String, inline::Inline>,
    translators: translator::Translators,
    providers: HashMap<String, provider::Provider>,
    /// The attributes of the program's names, as its pragmas give them.
    attributes: HashMap<String, Attributes>,
    /// The attributes of providers, as pragmas give them.
    provider_attributes: HashMap<String, attributes::Provider>,
    /// The names of the libraries that were loaded; a program that is not a library may not depend on one.
    loaded: Vec<String>,
    in_library: bool,
    /// Whether the declaration being checked comes from a file that the preprocessor included.
    in_header: bool,
    /// The parameters of the inlines and translators that are being expanded; only the last frame is visible.
    frames: Vec<inline::Frame>,
    expansions: u32,
    /// The first action of the statement that is used where a value is required.
    misplaced: Option<error::Misplaced>,
    /// The first thing that the machine does not have yet. It is reported last: errors of the program itself matter
    /// more.
    unsupported: Option<error::Unavailable>,
    /// The current place of the clause being checked, if the clause names variables there.
    place: Option<fan_out::Place>,
    /// All places of that clause.
    places: Vec<fan_out::Place>,
    /// Variables that the clause names but that some of its places do not have.
    absences: Vec<error::Absence>,
    /// The places at which the clause, and the others that were one with it, are left out.
    left_out: Vec<fan_out::LeftOut>,
    warnings: Vec<Diagnostic>,
    remarks: Vec<Diagnostic>,
}

impl<'a> Checker<'a> {
    fn new(env: &'a Env<'a>) -> Checker<'a> {
        Checker {
            env,
            layout: Layout { strsize: env.strsize },
            names: names::Names::default(),
            ahead: ahead::Ahead::default(),
            probes: None,
            declared: Declared::default(),
            externs: HashMap::new(),
            inlines: HashMap::new(),
            translators: translator::Translators::default(),
            providers: HashMap::new(),
            attributes: HashMap::new(),
            provider_attributes: HashMap::new(),
            loaded: Vec::new(),
            in_library: false,
            in_header: false,
            frames: Vec::new(),
            expansions: 0,
            misplaced: None,
            unsupported: None,
            place: None,
            places: Vec::new(),
            absences: Vec::new(),
            left_out: Vec::new(),
            warnings: Vec::new(),
            remarks: Vec::new(),
        }
    }

    /// Looks up a name that every program has. Libraries, and what they define, have all of them.
    fn builtin(&self, name: &str) -> Option<&'static Entry> {
        let own = !self.in_library && self.frames.is_empty();
        builtin::lookup_in(name, self.env.version.filter(|_| own))
    }

    fn check_in_order(&mut self, program: &plain::Program) -> Result<Vec<typed::Clause>> {
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

    /// Checks that each name given attributes by a pragma appears in the text.
    fn check_pragmas_used<P>(&self, program: &plain::Program<P>) -> Result<()> {
        let providers: HashSet<&str> = program.items.iter().filter_map(provider_name).collect();
        program.items.iter().try_for_each(|item| match item {
            plain::Item::Pragma(pragma) => self.require_used(pragma, &providers),
            _ => Ok(()),
        })
    }

    /// Checks declarations where they appear, and the types that clauses name there.
    fn check_item<P>(&mut self, item: &plain::Item<P>) -> Result<()> {
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

    /// sizeof and offsetof of types are numbers as soon as they are read. A type that is defined inside one is left
    /// for later: it can be defined only once.
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

    /// The probes of a clause share its compiled code, unless each of its descriptions has its own `args[]`.
    fn check_descriptions(&mut self, clause: &plain::Clause) -> Result<Vec<typed::Clause>> {
        match self.fan_out(clause)? {
            Some(clauses) => Ok(clauses),
            None => self.check_together(clause),
        }
    }

    fn check_together(&mut self, clause: &plain::Clause) -> Result<Vec<typed::Clause>> {
        let before = self.names.mark();
        match self.check_clause(clause) {
            Err(error) if error.is_of_several_probes() && clause.probes.len() > 1 => {
                self.names.reset(&before);
                let alone =
                    |probe: &ProbeDesc| plain::Clause { probes: vec![probe.clone()], ..clause.clone() };
                clause.probes.iter().map(|probe| self.check_clause(&alone(probe))).collect()
            }
            checked => Ok(vec![checked?]),
        }
    }

    /// The actions come first, so that the predicate may use what they assign. If they need a variable that nothing
    /// has assigned, the predicate may be what assigns it: then it comes first, and may use what the actions before
    /// that one assign. The checks that actions make of
    /// their arguments come after all expressions.
    fn check_clause(&mut self, clause: &plain::Clause) -> Result<typed::Clause> {
        self.probes = Some(clause.probes.clone());
        let (predicate, stmts) = match self.check_stmts(clause) {
            Ok(stmts) => (self.check_predicate(clause)?, stmts),
            Err(error) if error.is_undefined() && clause.predicate.is_some() => {
                let predicate = self.check_predicate(clause)?;
                (predicate, self.check_stmts(clause)?)
            }
            Err(error) => return Err(error),
        };
        let mut order = order::Order::default();
        let mut body = Vec::new();
        for (stmt, expr) in stmts.into_iter().zip(clause.body.iter().flatten()) {
            // A later statement of the clause may have assigned the aggregation that was missing.
            let stmt = match stmt {
                Err(error) if error.is_unassigned_aggregation() => self.check_stmt(expr)?,
                stmt => stmt?,
            };
            order.follow(&stmt)?;
            body.push(stmt);
        }
        self.check_stability(clause)?;
        let stability = self.env.stability.then(|| self.stability_of(clause));
        let (probes, part, span) = (clause.probes.clone(), clause.part, clause.span);
        Ok(typed::Clause { probes, predicate, body, stability, part, span })
    }

    /// Checks each statement, keeping the errors of its action; any other error is the clause's.
    fn check_stmts(&mut self, clause: &plain::Clause) -> Result<Vec<Result<typed::Stmt>>> {
        let mut checked: Vec<Result<typed::Stmt>> = Vec::new();
        for expr in clause.body.iter().flatten() {
            let stmt = self.check_stmt(expr);
            match &stmt {
                Err(error) if error.is_of_action() => match &expr.kind {
                    ast::ExprKind::Assign { right, .. } if assign::is_aggregating(expr) => {
                        self.check_operands(right)?;
                    }
                    ast::ExprKind::Call { .. } => self.check_operands(expr)?,
                    _ => {}
                },
                // An earlier statement that failed would have assigned the aggregation.
                Err(error) if error.is_undefined_aggregation() && checked.iter().any(Result::is_err) => {}
                Err(error) => return Err(error.clone()),
                Ok(_) => {}
            }
            checked.push(stmt);
        }
        Ok(checked)
    }

    /// Checks the arguments of an action that refuses one of them: another may be wrong by itself.
    fn check_operands(&mut self, expr: &ast::Expr) -> Result<()> {
        let mut result = Ok(());
        visit::each_operand(expr, &mut |operand| {
            let all = matches!(&operand.kind, ast::ExprKind::Ident(name) if name == "args");
            if result.is_err() || all || assign::as_aggregation(operand).is_some() {
                return;
            }
            result = match &operand.kind {
                ast::ExprKind::Call { callee, .. } if !builtin::is_subroutine(&callee.node) => {
                    self.check_operands(operand)
                }
                _ => self.check_operand(operand).map(drop),
            };
        });
        result
    }

    /// Adds a warning, once: a clause may be checked more than once.
    fn warn(&mut self, warning: Diagnostic) {
        if !self.warnings.contains(&warning) {
            self.warnings.push(warning);
        }
    }

    fn check_predicate(&mut self, clause: &plain::Clause) -> Result<Option<typed::Expr>> {
        let Some(predicate) = &clause.predicate else { return Ok(None) };
        let checked = self.check_expr(predicate).and_then(|checked| match checked.ty.is_scalar() {
            true => Ok(Some(checked)),
            false => {
                Err(error::Operator::PredicateNotScalar { found: checked.ty, span: predicate.span }.into())
            }
        });
        let warning = predicate::constant(predicate).filter(|_| checked.is_ok());
        if let Some(warning) = warning {
            self.warn(warning);
        }
        let checked = checked.map_err(|error| predicate::explain(predicate, error));
        self.reject_misplaced_action(checked)
    }
}
