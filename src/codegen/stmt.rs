//! codegen/stmt.rs: generation of actions and consumer statements from clauses and statements.

use super::error::Result;
use super::generator::Generator;
use super::layout;
use crate::typeck::typed::{
    AggregationId, Clause, Control, Expr, FormatAction, Key, Printed, PrintedValue, StackAction, Stmt,
    StmtKind,
};
use kinst_dif::action::{Printm, Ustack};
use kinst_dif::{Action, ActionKind, DifoIndex, PrintedLine, Statement, StatementKind};

impl Generator<'_> {
    pub(super) fn clause(&mut self, clause: &Clause) -> Result<kinst_dif::Clause> {
        let predicate = clause.predicate.as_ref().map(|predicate| self.value(predicate)).transpose()?;
        let mut generated = kinst_dif::Clause {
            probes: clause.probes.iter().map(|probe| probe.kind.clone()).collect(),
            predicate,
            actions: Vec::new(),
            statements: Vec::new(),
            // The default action records only that the probe fired.
            record: clause.body.is_empty(),
            part: clause.part,
        };
        for stmt in &clause.body {
            let start = generated.actions.len();
            let kind = self.stmt(stmt, &mut generated)?;
            let actions = start..generated.actions.len();
            generated.statements.push(Statement { actions, kind });
        }
        Ok(generated)
    }

    fn print_all(&mut self, lines: &[Printed], actions: &mut Vec<Action>) -> Result<Vec<PrintedLine>> {
        let mut shown = Vec::new();
        for line in lines {
            shown.push(match line.clone() {
                Printed::Function(function) => PrintedLine::Function(function),
                Printed::Missing { name, ty, why } => PrintedLine::Missing { name, type_name: ty, why },
                Printed::Variable { name, printed } => {
                    self.printed(&printed, actions)?;
                    let (type_name, referents) = (printed.value.ty.to_string(), printed.referents.len());
                    PrintedLine::Value { name, type_name, shape: printed.shape, referents }
                }
            });
        }
        Ok(shown)
    }

    /// Records a value and the memory that it refers to.
    fn printed(&mut self, printed: &PrintedValue, actions: &mut Vec<Action>) -> Result<()> {
        let difo = self.value(&printed.value)?;
        actions.push(action(ActionKind::DifExpr, Some(difo), 0));
        for referent in &printed.referents {
            let difo = self.value(&referent.pair)?;
            let arg = Printm { bytes: referent.most, process: true };
            actions.push(action(ActionKind::Printm, Some(difo), arg.pack()));
        }
        Ok(())
    }

    fn stmt(&mut self, stmt: &Stmt, clause: &mut kinst_dif::Clause) -> Result<StatementKind> {
        let actions = &mut clause.actions;
        Ok(match &stmt.kind {
            StmtKind::Expr(expr) => {
                let difo = self.effect(expr)?;
                actions.push(action(ActionKind::DifExpr, Some(difo), 0));
                StatementKind::Silent
            }
            StmtKind::Aggregate { aggregation, keys, value, increment } => {
                self.aggregate(*aggregation, keys, value.as_ref(), increment.as_ref(), actions)?;
                StatementKind::Silent
            }
            StmtKind::Trace(value) => {
                let difo = self.value(value)?;
                actions.push(action(ActionKind::DifExpr, Some(difo), 0));
                StatementKind::Trace(layout::display(&value.ty))
            }
            StmtKind::Print(printed) => {
                self.printed(printed, actions)?;
                StatementKind::Print { shape: printed.shape.clone(), type_name: printed.value.ty.to_string() }
            }
            StmtKind::PrintAll(lines) => {
                // A record is written even if none of the variables can be read.
                clause.record = true;
                StatementKind::PrintAll(self.print_all(lines, actions)?)
            }
            StmtKind::Printf { action: format_action, format, args } => {
                let (kind, statement) = match format_action {
                    FormatAction::Printf => (ActionKind::Printf, StatementKind::Printf(format.clone())),
                    FormatAction::System => (ActionKind::System, StatementKind::System(format.clone())),
                    FormatAction::Freopen => (ActionKind::Freopen, StatementKind::Freopen(format.clone())),
                };
                for arg in args {
                    let recorded = match arg {
                        Key::Value(value) => action(kind, Some(self.value(value)?), 0),
                        Key::Stack(stack) => stack_action(*stack),
                        Key::Symbol(symbol, address) => {
                            action(layout::symbol_kind(*symbol), Some(self.value(address)?), 0)
                        }
                    };
                    actions.push(recorded);
                }
                // A format without arguments adds nothing to the record, but must be printed.
                clause.record |= args.is_empty();
                statement
            }
            StmtKind::Printa { format, aggregations } => {
                let aggregations: Vec<u32> = aggregations.iter().map(number).collect();
                for id in &aggregations {
                    actions.push(action(ActionKind::Printa, None, (*id).into()));
                }
                StatementKind::Printa { format: format.clone(), aggregations }
            }
            StmtKind::Exit(status) => {
                let difo = self.value(status)?;
                actions.push(action(ActionKind::Exit, Some(difo), 0));
                StatementKind::Exit
            }
            StmtKind::Stack(stack) => {
                actions.push(stack_action(*stack));
                match stack {
                    StackAction::Kernel { .. } => StatementKind::Stack,
                    StackAction::User { .. } => StatementKind::Ustack,
                }
            }
            StmtKind::Symbol(symbol, address) => {
                let difo = self.value(address)?;
                actions.push(action(layout::symbol_kind(*symbol), Some(difo), 0));
                StatementKind::Sym(layout::symbol_display(*symbol))
            }
            StmtKind::Tracemem { address, size, length } => {
                if let Some(length) = length {
                    let difo = self.value(length)?;
                    actions.push(action(ActionKind::TracememDyn, Some(difo), 0));
                }
                let difo = self.value(address)?;
                actions.push(action(ActionKind::Tracemem, Some(difo), (*size).into()));
                StatementKind::Tracemem
            }
            StmtKind::Printm { size, reference } => {
                let difo = self.value(reference)?;
                actions.push(action(ActionKind::Printm, Some(difo), (*size).into()));
                StatementKind::Printm
            }
            StmtKind::Speculation(kind, id) => {
                let difo = self.value(id)?;
                // A clause with only speculate() traces, speculatively, that the probe fired.
                clause.record |= *kind == ActionKind::Speculate;
                let actions = &mut clause.actions;
                actions.push(action(*kind, Some(difo), 0));
                StatementKind::Silent
            }
            StmtKind::Destructive(kind, arg) => {
                let difo = arg.as_ref().map(|arg| self.value(arg)).transpose()?;
                actions.push(action(*kind, difo, 0));
                StatementKind::Silent
            }
            StmtKind::Control(control) => self.control(control, actions)?,
        })
    }

    /// Generates an action of the consumer, in its position among the records.
    fn control(&mut self, control: &Control, actions: &mut Vec<Action>) -> Result<StatementKind> {
        let mut libact = |generator: &mut Self, value: Option<&Expr>, arg: u32| -> Result<()> {
            let difo = value.map(|value| generator.value(value)).transpose()?;
            actions.push(action(ActionKind::Libact, difo, arg.into()));
            Ok(())
        };
        Ok(match control {
            Control::Clear(id) => {
                libact(self, None, number(id))?;
                StatementKind::Clear(number(id))
            }
            Control::Trunc { aggregation, count } => {
                libact(self, count.as_ref(), number(aggregation))?;
                StatementKind::Trunc { aggregation: number(aggregation), count: count.is_some() }
            }
            Control::Normalize { aggregation, divisor } => {
                libact(self, Some(divisor), number(aggregation))?;
                StatementKind::Normalize(number(aggregation))
            }
            Control::Denormalize(id) => {
                libact(self, None, number(id))?;
                StatementKind::Denormalize(number(id))
            }
            Control::Setopt { name, value } => {
                for text in std::iter::once(name).chain(value) {
                    let difo = self.value(text)?;
                    actions.push(action(ActionKind::DifExpr, Some(difo), 0));
                }
                StatementKind::Setopt
            }
            Control::Ftruncate => {
                libact(self, None, 0)?;
                StatementKind::Ftruncate
            }
        })
    }
}

/// Returns the id of an aggregation; ids start at 1.
pub(super) fn number(id: &AggregationId) -> u32 {
    id.0 as u32 + 1
}

pub(super) fn action(kind: ActionKind, difo: Option<DifoIndex>, arg: u64) -> Action {
    Action { kind, difo, ntuple: 0, incr: None, agg: 0, arg }
}

pub(super) fn stack_action(stack: StackAction) -> Action {
    match stack {
        StackAction::Kernel { frames } => action(ActionKind::Stack, None, frames.into()),
        // The kernel does not need the string size: it records addresses.
        StackAction::User { frames, strsize: _, copied } => {
            let copied = copied.next_multiple_of(8);
            action(ActionKind::Ustack, None, Ustack { frames, copied }.pack())
        }
    }
}
