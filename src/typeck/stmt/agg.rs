//! typeck/stmt/agg.rs: `@name[keys] = function(…)`: one function and one key signature for each aggregation.

use crate::parser::ast;
use crate::typeck::error;
use crate::typeck::error::Result;
use crate::typeck::state::Checker;
use crate::typeck::typed::{
    AggregatingFunction, Aggregation, AggregationId, Key, KeyType, StmtKind, SymbolAction,
};
use crate::vocabulary::builtin::{self, Action, Aggregating, What};
use crate::vocabulary::callee;
use kinst_base::source::Span;

impl Checker<'_> {
    pub(in crate::typeck) fn check_aggregate(
        &mut self,
        left: &ast::Expr,
        right: &ast::Expr,
        span: Span,
    ) -> Result<StmtKind> {
        let (name, indices) = match &left.kind {
            ast::ExprKind::Aggregation(name) => (name, &[][..]),
            ast::ExprKind::Index { base, indices } => match &base.kind {
                ast::ExprKind::Aggregation(name) => (name, indices.as_slice()),
                _ => return Err(error::Aggregation::Dimensions { span: left.span }.into()),
            },
            _ => return Err(error::Aggregation::InExpression { span }.into()),
        };
        let (function_name, kind, args) = aggregating_call(right)?;
        let mut keys = Vec::new();
        for index in indices {
            keys.push(self.check_aggregation_key(index)?);
        }
        let known = self.names.find_aggregation(name);
        let previous = known.map(|id| self.names.aggregation(id).function);
        if let Some(id) = known {
            self.require_function(id, kind, function_name, right.span)?;
        }
        let checked = self.check_aggregating(kind, function_name, args, previous, right.span)?;
        let aggregation = match known {
            Some(id) => {
                keys = self.match_keys(id, keys, left.span)?;
                id
            }
            None => self.names.create_aggregation(Aggregation {
                name: name.clone(),
                function: checked.function,
                keys: keys.iter().map(key_type).collect(),
                key_texts: indices.iter().map(ast::Expr::to_string).collect(),
                span: right.span,
                keys_span: left.span,
            }),
        };
        Ok(StmtKind::Aggregate { aggregation, keys, value: checked.value, increment: checked.increment })
    }

    /// Checks a key: a value, or the result of stack(), ustack(), sym() and their like.
    fn check_aggregation_key(&mut self, index: &ast::Expr) -> Result<Key> {
        match self.check_left_by_action(index)? {
            Some(key) => Ok(key),
            None => Ok(Key::Value(self.check_key(index)?)),
        }
    }

    /// Checks an action whose result is used in place of a value; `None` if it is not one.
    pub(in crate::typeck) fn check_left_by_action(&mut self, index: &ast::Expr) -> Result<Option<Key>> {
        if let ast::ExprKind::Call { callee, args } = &index.kind
            && let Some(entry) = builtin::lookup(&callee.node)
            && let What::Action(action) = entry.what
        {
            match action {
                Action::Stack | Action::Ustack | Action::Jstack => {
                    self.function(callee)?;
                    return Ok(Some(Key::Stack(self.check_stack(action, args, index.span)?)));
                }
                Action::Sym | Action::Mod | Action::Usym | Action::Umod | Action::Uaddr => {
                    self.function(callee)?;
                    let (symbol, address) = self.check_symbol(action, entry.name, args, index.span)?;
                    return Ok(Some(Key::Symbol(symbol, address)));
                }
                _ => {}
            }
        }
        Ok(None)
    }

    fn require_function(
        &self,
        id: AggregationId,
        kind: Aggregating,
        function: &str,
        span: Span,
    ) -> Result<()> {
        let known = self.names.aggregation(id);
        if kind_of(known.function) == kind {
            return Ok(());
        }
        Err(error::Aggregation::Redefined {
            name: known.shown(),
            function: function.to_string(),
            before: function_name(known.function),
            span,
            declared: known.span,
        }
        .into())
    }

    /// Converts the keys to the types of the first assignment.
    fn match_keys(&self, id: AggregationId, keys: Vec<Key>, span: Span) -> Result<Vec<Key>> {
        let known = self.names.aggregation(id);
        let (name, declared) = (known.shown(), known.keys_span);
        if known.keys.len() != keys.len() {
            let (expected, found) = (known.keys.len(), keys.len());
            return Err(error::Array::KeyCount { name, expected, found, span, declared }.into());
        }
        let mut matched = Vec::new();
        for (number, (key, expected)) in keys.into_iter().zip(&known.keys).enumerate() {
            let number = number + 1;
            let key = match (key, expected) {
                (Key::Value(value), KeyType::Value(ty)) if self.is_compatible(&value, ty) => {
                    Key::Value(self.convert(value, ty))
                }
                (Key::Value(value), KeyType::Value(ty)) => {
                    let (expected, found, span) = (ty.clone(), value.ty, value.span);
                    return Err(
                        error::Array::KeyType { name, number, expected, found, span, declared }.into()
                    );
                }
                // The first assignment decides how addresses of both kinds are shown.
                (
                    key @ Key::Symbol(SymbolAction::Sym { .. }, _),
                    KeyType::Symbol(SymbolAction::Sym { .. }),
                ) => key,
                (key, expected) if key_type(&key) == *expected => key,
                _ => return Err(error::Array::KeyKind { name, number, span, declared }.into()),
            };
            matched.push(key);
        }
        Ok(matched)
    }
}

/// Returns the aggregating function on the right side; anything else is an error.
fn aggregating_call(right: &ast::Expr) -> Result<(&'static str, Aggregating, &[ast::Expr])> {
    let span = right.span;
    let ast::ExprKind::Call { callee, args } = &right.kind else {
        return Err(error::Aggregation::NotAggregating { found: None, span }.into());
    };
    match builtin::lookup(&callee.node) {
        Some(entry) => match entry.what {
            What::Aggregating(kind) => Ok((entry.name, kind, args)),
            _ => Err(error::Aggregation::NotAggregating { found: Some(callee.node.clone()), span }.into()),
        },
        None => {
            let similar = callee::similar(&callee.node);
            let name = callee.node.clone();
            Err(error::Call::Undefined { name, similar, span: callee.span }.into())
        }
    }
}

pub(in crate::typeck) fn key_type(key: &Key) -> KeyType {
    match key {
        Key::Value(value) => KeyType::Value(value.ty.clone()),
        Key::Stack(stack) => KeyType::Stack(*stack),
        Key::Symbol(symbol, _) => KeyType::Symbol(*symbol),
    }
}

pub(in crate::typeck) fn kind_of(function: AggregatingFunction) -> Aggregating {
    match function {
        AggregatingFunction::Count => Aggregating::Count,
        AggregatingFunction::Sum => Aggregating::Sum,
        AggregatingFunction::Avg => Aggregating::Avg,
        AggregatingFunction::Min => Aggregating::Min,
        AggregatingFunction::Max => Aggregating::Max,
        AggregatingFunction::Stddev => Aggregating::Stddev,
        AggregatingFunction::Quantize => Aggregating::Quantize,
        AggregatingFunction::Lquantize { .. } => Aggregating::Lquantize,
        AggregatingFunction::Llquantize { .. } => Aggregating::Llquantize,
    }
}

pub(in crate::typeck) fn function_name(function: AggregatingFunction) -> &'static str {
    let kind = kind_of(function);
    let entry = builtin::TABLE.iter().find(|e| matches!(e.what, What::Aggregating(k) if k == kind));
    entry.map_or("", |entry| entry.name)
}
