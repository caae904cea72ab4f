//! codegen/agg.rs: `@a[keys] = function(value)`: the actions for the keys, then the aggregating action.

use super::error::Result;
use super::generator::Generator;
use super::layout;
use super::stmt::{action, number, stack_action};
use crate::typeck::typed::{AggregationId, Expr, Key};
use kinst_dif::{Action, ActionKind};

impl Generator<'_> {
    pub(super) fn aggregate(
        &mut self,
        aggregation: AggregationId,
        keys: &[Key],
        value: Option<&Expr>,
        increment: Option<&Expr>,
        actions: &mut Vec<Action>,
    ) -> Result<()> {
        for key in keys {
            actions.push(match key {
                Key::Value(value) => action(ActionKind::DifExpr, Some(self.value(value)?), 0),
                Key::Stack(stack) => stack_action(*stack),
                Key::Symbol(symbol, address) => {
                    action(layout::symbol_kind(*symbol), Some(self.value(address)?), 0)
                }
            });
        }
        let function = self.program.aggregations[aggregation.0].function;
        let incr = increment.map(|increment| self.value(increment)).transpose()?;
        let difo = value.map(|value| self.value(value)).transpose()?;
        actions.push(Action {
            kind: layout::action_kind(function),
            difo,
            ntuple: keys.len() as u16,
            incr,
            agg: number(&aggregation),
            arg: layout::argument(function),
        });
        Ok(())
    }
}
