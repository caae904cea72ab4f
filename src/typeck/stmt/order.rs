//! typeck/stmt/order.rs: the permitted order of actions in one clause.

use crate::typeck::error;
use crate::typeck::error::Result;
use crate::typeck::typed::{Expr, ExprKind, Stmt, StmtKind};
use kinst_base::diag::tags;
use kinst_base::source::Span;
use kinst_dif::ActionKind;
use kinst_dif::insn::Subr;

/// The actions of a clause so far.
#[derive(Debug, Default)]
pub(in crate::typeck) struct Order {
    speculate: Option<Span>,
    commit: Option<Span>,
    data: Option<Span>,
}

/// The role of a statement in this order.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Role {
    Speculate,
    Commit,
    Aggregation,
    Destructive,
    Exit,
    Data,
    Other,
}

impl Order {
    pub(crate) fn follow(&mut self, stmt: &Stmt) -> Result<()> {
        let role = role(&stmt.kind);
        let span = stmt.span;
        let refuse = |tag, title, before| Err(error::Action::Order { tag, title, span, before }.into());
        match role {
            Role::Commit => {
                if let Some(before) = self.commit {
                    return refuse(tags::COMM_COMM, "a clause commits only once", before);
                }
                if let Some(before) = self.data {
                    return refuse(
                        tags::COMM_DREC,
                        "commit() cannot follow actions that record data",
                        before,
                    );
                }
                self.commit = Some(span);
            }
            Role::Speculate => {
                if let Some(before) = self.speculate {
                    return refuse(tags::SPEC_SPEC, "a clause speculates only once", before);
                }
                if let Some(before) = self.commit {
                    return refuse(tags::SPEC_COMM, "speculate() cannot follow commit()", before);
                }
                if let Some(before) = self.data {
                    return refuse(
                        tags::SPEC_DREC,
                        "speculate() cannot follow actions that record data",
                        before,
                    );
                }
                self.speculate = Some(span);
            }
            Role::Aggregation => {
                if let Some(before) = self.commit {
                    return refuse(tags::AGG_COMM, "an aggregation cannot follow commit()", before);
                }
                if let Some(before) = self.speculate {
                    return refuse(tags::AGG_SPEC, "an aggregation cannot be speculative", before);
                }
                self.data = Some(span);
            }
            Role::Destructive | Role::Exit => {
                if let Some(before) = self.speculate {
                    return match role {
                        Role::Exit => refuse(tags::EXIT_SPEC, "exit() cannot be speculative", before),
                        _ => refuse(tags::ACT_SPEC, "a destructive action cannot be speculative", before),
                    };
                }
                if role == Role::Exit {
                    self.record(span)?;
                }
            }
            Role::Data => self.record(span)?,
            Role::Other => {}
        }
        Ok(())
    }

    fn record(&mut self, span: Span) -> Result<()> {
        if let Some(before) = self.commit {
            let (tag, title) = (tags::DREC_COMM, "an action that records data cannot follow commit()");
            return Err(error::Action::Order { tag, title, span, before }.into());
        }
        // Speculative data does not reach the principal buffer yet.
        if self.speculate.is_none() {
            self.data = Some(span);
        }
        Ok(())
    }
}

fn role(stmt: &StmtKind) -> Role {
    match stmt {
        StmtKind::Speculation(ActionKind::Speculate, _) => Role::Speculate,
        StmtKind::Speculation(ActionKind::Commit, _) => Role::Commit,
        StmtKind::Expr(expr) if writes_to_process(expr) => Role::Destructive,
        StmtKind::Speculation(..) | StmtKind::Expr(_) => Role::Other,
        StmtKind::Aggregate { .. } => Role::Aggregation,
        StmtKind::Destructive(..) => Role::Destructive,
        StmtKind::Exit(_) => Role::Exit,
        StmtKind::Printf { action, .. } if *action != crate::typeck::typed::FormatAction::Printf => {
            Role::Destructive
        }
        _ => Role::Data,
    }
}

/// Whether this is copyout() or copyoutstr() as a statement.
fn writes_to_process(expr: &Expr) -> bool {
    matches!(&expr.kind, ExprKind::Call { subroutine: Subr::Copyout | Subr::Copyoutstr, .. })
}
