//! codegen/uses.rs: an aggregation's uses in a program: the names of its keys, and whether its value can fall.

use crate::typeck::typed::{AggregatingFunction, Expr, ExprKind, Key, Place, Program, StmtKind};

#[derive(Clone, Debug, Default)]
pub(super) struct Uses {
    /// The name of each key that is the same variable in all statements.
    pub key_names: Vec<Option<String>>,
    /// Whether an added value may be negative by its type.
    pub may_fall: bool,
}

/// The uses, parallel to the aggregations of the program.
pub(super) fn of_aggregations(program: &Program) -> Vec<Uses> {
    let mut all: Vec<Option<Uses>> = vec![None; program.aggregations.len()];
    for statement in program.clauses.iter().flat_map(|clause| &clause.body) {
        let StmtKind::Aggregate { aggregation, keys, value, increment } = &statement.kind else { continue };
        let Some(uses) = all.get_mut(aggregation.0) else { continue };
        let names = keys.iter().map(|key| name(key, program));
        let uses = match uses {
            None => uses.insert(Uses { key_names: names.collect(), may_fall: false }),
            Some(uses) => {
                for (known, name) in uses.key_names.iter_mut().zip(names) {
                    *known = known.take().filter(|known| name.as_ref() == Some(known));
                }
                uses
            }
        };
        // In a distribution, the value selects the bucket, and the increment is the amount added.
        let function = program.aggregations[aggregation.0].function;
        let added = if is_distribution(function) { increment } else { value };
        uses.may_fall |= added.as_ref().is_some_and(may_be_negative);
    }
    all.into_iter().map(Option::unwrap_or_default).collect()
}

fn name(key: &Key, program: &Program) -> Option<String> {
    let Key::Value(value) = key else { return None };
    let mut value = value;
    while let ExprKind::Convert(inner) = &value.kind {
        value = inner;
    }
    if let ExprKind::Builtin(builtin) = &value.kind {
        return Some(builtin.name().to_owned());
    }
    let ExprKind::Place(Place::Variable(id)) = &value.kind else { return None };
    program.variables.get(id.0).map(|variable| variable.name.clone())
}

fn may_be_negative(value: &Expr) -> bool {
    if let ExprKind::Int(constant) = value.kind { (constant as i64) < 0 } else { value.ty.is_signed() }
}

fn is_distribution(function: AggregatingFunction) -> bool {
    use AggregatingFunction as F;
    matches!(function, F::Quantize | F::Lquantize { .. } | F::Llquantize { .. })
}
