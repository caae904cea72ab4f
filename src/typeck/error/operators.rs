//! typeck/error/operators.rs: messages about operators and operands.

use super::{Error, did_you_mean, error, operand};
use crate::diag::{Diagnostic, tags};
use crate::types::Type;

impl Error {
    pub(super) fn of_operators(&self) -> Option<Diagnostic> {
        Some(match self {
            Error::NotInteger { op, found, span } => {
                operand(tags::OP_INT, format!("`{op}` needs integers, not {found}"), found, *span)
            }
            Error::NotScalar { op, found, span } => operand(
                tags::OP_SCALAR,
                format!("`{op}` needs an integer or a pointer, not {found}"),
                found,
                *span,
            ),
            Error::ConditionNotScalar { found, span } => operand(
                tags::OP_SCALAR,
                format!("the condition of `if` must be an integer or a pointer, not {found}"),
                found,
                *span,
            ),
            Error::NotArithmetic { op, found, span } => {
                operand(tags::OP_ARITH, format!("`{op}` needs integers, not {found}"), found, *span)
            }
            Error::Incompatible { op, left, right, span } => {
                let title = format!("`{op}` does not go with {left} and {right}");
                let diagnostic = error(tags::OP_INCOMPAT, title).at(*span, format!("{left} {op} {right}"));
                incompatible_help(diagnostic, op, left, right)
            }
            Error::DynamicOperand { op, span } => {
                error(tags::OP_DYN, format!("an operand of `{op}` must have a value"))
                    .at(*span, "an aggregation or a translated object has none")
            }
            Error::DivisionByZero { span } => Diagnostic::division_by_zero(*span),
            Error::NotPointer { found, span } => {
                error(tags::DEREF_NONPTR, format!("a pointer is needed here, not {found}"))
                    .at(*span, format!("this is {found}"))
                    .help("cast an address first, for example `(int *)arg0`")
            }
            Error::ArrowNotPointer { found, span } => {
                let diagnostic = error(tags::OP_PTR, format!("`->` needs a pointer, not {found}"))
                    .at(*span, format!("this is {found}"));
                match found.is_record() {
                    true => diagnostic.help("a struct's members follow a `.`"),
                    false => diagnostic.help("cast an address first, for example `((struct s *)arg0)->m`"),
                }
            }
            Error::DereferenceVoid { span } => {
                error(tags::DEREF_VOID, "what a `void *` points to has no type")
                    .at(*span, "cannot be loaded")
                    .help("cast the pointer first, for example `*(int *)p`")
            }
            Error::DereferenceFunction { span } => {
                error(tags::DEREF_FUNC, "a function cannot be loaded").at(*span, "points to a function")
            }
            Error::NotRecord { found, span } => {
                error(tags::OP_SOU, format!("only a struct or union has members, not {found}"))
                    .at(*span, format!("this is {found}"))
            }
            Error::NoMember { tag, member, record, similar, span } => {
                let diagnostic = error(*tag, format!("{record} has no member `{member}`"));
                did_you_mean(diagnostic.at(*span, "no such member"), similar)
            }
            Error::AddressOfVariable { span } => error(tags::ADDROF_VAR, "a variable of D has no address")
                .at(*span, "`&` is not possible here"),
            Error::AddressOfValue { span } => {
                error(tags::ADDROF_LVAL, "only what is in memory has an address").at(*span, "this is a value")
            }
            Error::NoSize { found, span } => {
                error(tags::SIZEOF_TYPE, format!("{found} has no size")).at(*span, "the size is not known")
            }
            Error::OffsetofType { found, span } => {
                error(tags::OFFSETOF_TYPE, format!("only a struct or union has members, not {found}"))
                    .at(*span, format!("this is {found}"))
            }
            Error::Stringof { found, span } => {
                error(tags::STRINGOF_TYPE, format!("{found} cannot be read as a string"))
                    .at(*span, format!("this is {found}"))
            }
            Error::Cast { from, to, span } => {
                error(tags::CAST_INVAL, format!("{from} cannot be cast to {to}")).at(*span, "invalid cast")
            }
            _ => return None,
        })
    }
}

fn incompatible_help(diagnostic: Diagnostic, op: &str, left: &Type, right: &Type) -> Diagnostic {
    let compares = matches!(op, "==" | "!=" | "<" | "<=" | ">" | ">=");
    let char_pointers = left.is_string_compatible() && right.is_string_compatible();
    match op {
        "+" if left.is_string() && right.is_string() => diagnostic.help("join strings with `strjoin(a, b)`"),
        _ if compares && char_pointers => diagnostic.help("compare texts with `stringof(…)` on both sides"),
        _ => diagnostic,
    }
}
