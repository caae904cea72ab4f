//! typeck/clause.rs: one clause: its descriptions, statements and predicate, in the order that errors require.

use super::error::{self, Result};
use super::expr::assign;
use super::state::Checker;
use super::stmt::{order, predicate};
use super::typed;
use crate::parser::{ast, visit};
use crate::sugar::plain::{self, ProbeDesc};
use crate::vocabulary::builtin;

impl Checker<'_> {
    /// The probes of a clause share its compiled code, unless the `args[]` of its descriptions differ.
    pub(super) fn check_descriptions(&mut self, clause: &plain::Clause) -> Result<Vec<typed::Clause>> {
        match self.fan_out(clause)? {
            Some(clauses) => Ok(clauses),
            None => self.check_together(clause),
        }
    }

    pub(super) fn check_together(&mut self, clause: &plain::Clause) -> Result<Vec<typed::Clause>> {
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

    /// Checks the actions first, so that the predicate may use their variables. If they need a variable
    /// that is not assigned yet, the predicate may assign it: then it is checked first, and may use the
    /// variables that the preceding actions assign. The arguments of actions are checked after all
    /// expressions.
    pub(super) fn check_clause(&mut self, clause: &plain::Clause) -> Result<typed::Clause> {
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

    /// Checks each statement and keeps the errors of its action; any other error is an error of the clause.
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

    /// Checks the arguments of an action that refuses one of them: another argument may be wrong in itself.
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
