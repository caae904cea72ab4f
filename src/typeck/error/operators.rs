//! typeck/error/operators.rs: messages about operators, operands and conditions.

use super::text::{error, operand};
use kinst_base::diag::{Diagnostic, tags};
use kinst_base::source::Span;
use kinst_types::Type;

/// An operator, cast or condition with an operand that it does not take.
#[derive(Clone, Debug, PartialEq)]
pub enum Operator {
    NotInteger { op: &'static str, found: Type, span: Span },
    NotScalar { op: &'static str, found: Type, span: Span },
    ConditionNotScalar { found: Type, span: Span },
    PredicateNotScalar { found: Type, span: Span },
    NotArithmetic { op: &'static str, found: Type, span: Span },
    Incompatible { op: &'static str, left: Type, right: Type, span: Span },
    DynamicOperand { op: &'static str, span: Span },
    DivisionByZero { span: Span },
    ActionOperand { op: &'static str, action: String, span: Span },
    Stringof { found: Type, span: Span },
    Cast { from: Type, to: Type, span: Span },
}

impl Operator {
    pub(super) fn diagnostic(&self) -> Diagnostic {
        match self {
            Self::NotInteger { op, found, span } => {
                operand(tags::OP_INT, format!("`{op}` needs integers, not {found}"), found, *span)
            }
            Self::NotScalar { op, found, span } => operand(
                tags::OP_SCALAR,
                format!("`{op}` needs an integer or a pointer, not {found}"),
                found,
                *span,
            ),
            Self::ConditionNotScalar { found, span } => operand(
                tags::OP_SCALAR,
                format!("the condition of `if` must be an integer or a pointer, not {found}"),
                found,
                *span,
            ),
            Self::PredicateNotScalar { found, span } => {
                let title = format!("a predicate must be an integer or a pointer, not {found}");
                let diagnostic = error(tags::PRED_SCALAR, title).at(*span, format!("this is {found}"));
                match found.is_string() {
                    true => diagnostic.help("compare it: `/ … != \"\"/`"),
                    false => diagnostic,
                }
            }
            Self::NotArithmetic { op, found, span } => {
                operand(tags::OP_ARITH, format!("`{op}` needs integers, not {found}"), found, *span)
            }
            Self::Incompatible { op, left, right, span } => {
                let title = format!("`{op}` cannot be applied to {left} and {right}");
                let diagnostic = error(tags::OP_INCOMPAT, title).at(*span, format!("{left} {op} {right}"));
                incompatible_help(diagnostic, op, left, right)
            }
            Self::DynamicOperand { op, span } => {
                error(tags::OP_DYN, format!("an operand of `{op}` must have a value"))
                    .at(*span, "an aggregation or a translated object has none")
            }
            Self::DivisionByZero { span } => Diagnostic::division_by_zero(*span),
            Self::ActionOperand { op, action, span } => {
                error(tags::OP_ACT, format!("the action {action}() cannot be an operand of `{op}`"))
                    .at(*span, "an action has no value")
                    .help("make the choice a statement, or use `if`/`else`: c ? trace(1) : trace(2);")
            }
            Self::Stringof { found, span } => {
                error(tags::STRINGOF_TYPE, format!("{found} cannot be read as a string"))
                    .at(*span, format!("this is {found}"))
            }
            Self::Cast { from, to, span } => {
                error(tags::CAST_INVAL, format!("{from} cannot be cast to {to}")).at(*span, "invalid cast")
            }
        }
    }

    pub(super) fn is_about_void(&self) -> bool {
        match self {
            Self::NotInteger { found, .. }
            | Self::NotScalar { found, .. }
            | Self::ConditionNotScalar { found, .. }
            | Self::PredicateNotScalar { found, .. }
            | Self::NotArithmetic { found, .. }
            | Self::Stringof { found, .. }
            | Self::Cast { from: found, .. } => found.is_void(),
            Self::Incompatible { left, right, .. } => left.is_void() || right.is_void(),
            Self::DynamicOperand { .. } | Self::DivisionByZero { .. } | Self::ActionOperand { .. } => false,
        }
    }
}

fn incompatible_help(diagnostic: Diagnostic, op: &str, left: &Type, right: &Type) -> Diagnostic {
    let compares = matches!(op, "==" | "!=" | "<" | "<=" | ">" | ">=");
    let char_pointers = left.is_string_compatible() && right.is_string_compatible();
    match op {
        "+" if left.is_string() && right.is_string() => diagnostic.help("join strings with `strjoin(a, b)`"),
        _ if compares && char_pointers => diagnostic.help("compare strings with `stringof(…)` on both sides"),
        _ => diagnostic,
    }
}
