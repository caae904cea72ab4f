//! codegen/layout.rs: types, variables and aggregations in DIF's terms, and how values are shown.

use super::uses::Uses;
use crate::typeck::typed::{self, AggregatingFunction, KeyType, StackAction, SymbolAction};
use kinst_dif::{ActionKind, CtfKind, Display, Scope, Type, Variable, VariableKind};
use kinst_types::Layout;
use kinst_types::TagKind;

pub(super) fn dif_type(ty: &kinst_types::Type, layout: &Layout) -> Type {
    let size = layout.size(ty).and_then(|size| u32::try_from(size).ok()).unwrap_or(0);
    match ty.resolved() {
        kinst_types::Type::Int(_) => Type::by_value(CtfKind::Integer, size),
        kinst_types::Type::Enum(_) => Type::by_value(CtfKind::Enum, size),
        kinst_types::Type::Float { .. } => Type::by_value(CtfKind::Float, size),
        kinst_types::Type::Pointer { .. } => Type::by_value(CtfKind::Pointer, size),
        kinst_types::Type::Array { .. } => Type::by_ref(CtfKind::Array, size),
        kinst_types::Type::Record(tagged) => match tagged.kind {
            TagKind::Union => Type::by_ref(CtfKind::Union, size),
            TagKind::Struct | TagKind::Enum => Type::by_ref(CtfKind::Struct, size),
        },
        kinst_types::Type::String => Type::string(size),
        kinst_types::Type::Void
        | kinst_types::Type::Function
        | kinst_types::Type::Dynamic
        | kinst_types::Type::Typedef { .. } => Type::VOID,
    }
}

pub(super) fn variable(variable: &typed::Variable, layout: &Layout) -> Variable {
    Variable {
        name: variable.name.clone(),
        id: variable.number,
        kind: if variable.keys.is_some() { VariableKind::Array } else { VariableKind::Scalar },
        scope: match variable.scope {
            typed::Scope::Global => Scope::Global,
            typed::Scope::Thread => Scope::Thread,
            typed::Scope::Clause => Scope::Local,
        },
        read: false,
        written: false,
        ty: dif_type(&variable.ty, layout),
    }
}

/// Makes a clause-local variable for a spilled value; a user cannot type its name.
pub(super) fn slot(number: usize, id: u32) -> Variable {
    Variable {
        name: format!("%spill_{number}"),
        id,
        kind: VariableKind::Scalar,
        scope: Scope::Local,
        read: false,
        written: false,
        ty: Type::by_value(CtfKind::Integer, 8),
    }
}

/// Makes a built-in variable or array, for the object's table.
pub(super) fn builtin(builtin: kinst_dif::insn::Builtin, ty: Type) -> Variable {
    let array = builtin.number() < 0x100;
    Variable {
        name: builtin.name().to_string(),
        id: builtin.number(),
        kind: if array { VariableKind::Array } else { VariableKind::Scalar },
        scope: Scope::Global,
        read: false,
        written: false,
        ty,
    }
}

pub(super) fn aggregation(aggregation: &typed::Aggregation, uses: &Uses) -> kinst_dif::Aggregation {
    kinst_dif::Aggregation {
        name: aggregation.name.clone(),
        function: action_kind(aggregation.function),
        arg: argument(aggregation.function),
        keys: aggregation.keys.iter().map(key_display).collect(),
        key_names: uses.key_names.clone(),
        key_texts: aggregation.key_texts.clone(),
        signed: aggregation.function != AggregatingFunction::Count,
        grows: !uses.may_fall,
    }
}

pub(super) fn action_kind(function: AggregatingFunction) -> ActionKind {
    match function {
        AggregatingFunction::Count => ActionKind::Count,
        AggregatingFunction::Sum => ActionKind::Sum,
        AggregatingFunction::Avg => ActionKind::Avg,
        AggregatingFunction::Min => ActionKind::Min,
        AggregatingFunction::Max => ActionKind::Max,
        AggregatingFunction::Stddev => ActionKind::Stddev,
        AggregatingFunction::Quantize => ActionKind::Quantize,
        AggregatingFunction::Lquantize { .. } => ActionKind::Lquantize,
        AggregatingFunction::Llquantize { .. } => ActionKind::Llquantize,
    }
}

/// Packs the parameters into the word that DIF reserves for them.
pub(super) fn argument(function: AggregatingFunction) -> u64 {
    match function {
        AggregatingFunction::Lquantize { base, step, levels, .. } => {
            u64::from(step) << 48 | u64::from(levels) << 32 | u64::from(base as u32)
        }
        AggregatingFunction::Llquantize { factor, low, high, steps } => {
            u64::from(factor) << 48 | u64::from(low) << 32 | u64::from(high) << 16 | u64::from(steps)
        }
        AggregatingFunction::Count
        | AggregatingFunction::Sum
        | AggregatingFunction::Avg
        | AggregatingFunction::Min
        | AggregatingFunction::Max
        | AggregatingFunction::Stddev
        | AggregatingFunction::Quantize => 0,
    }
}

/// Returns the default display of a value.
pub(super) fn display(ty: &kinst_types::Type) -> Display {
    if ty.is_place_in_code() {
        return Display::Address { called: !matches!(ty.resolved(), kinst_types::Type::Pointer { .. }) };
    }
    match ty.resolved() {
        kinst_types::Type::String => Display::String,
        kinst_types::Type::Array { .. } | kinst_types::Type::Record(_) => Display::Bytes,
        kinst_types::Type::Float { .. } => Display::Float,
        kinst_types::Type::Void
        | kinst_types::Type::Int(_)
        | kinst_types::Type::Enum(_)
        | kinst_types::Type::Pointer { .. }
        | kinst_types::Type::Function
        | kinst_types::Type::Dynamic
        | kinst_types::Type::Typedef { .. } => Display::Int { signed: ty.is_signed() },
    }
}

fn key_display(key: &KeyType) -> Display {
    match key {
        KeyType::Value(ty) => display(ty),
        KeyType::Stack(StackAction::Kernel { .. }) => Display::Stack,
        KeyType::Stack(StackAction::User { .. }) => Display::Ustack,
        KeyType::Symbol(symbol) => symbol_display(*symbol),
    }
}

pub(super) fn symbol_display(symbol: SymbolAction) -> Display {
    match symbol {
        SymbolAction::Sym { called } => Display::Sym { called },
        SymbolAction::Mod => Display::Mod,
        SymbolAction::Usym => Display::Usym,
        SymbolAction::Umod => Display::Umod,
        SymbolAction::Uaddr => Display::Uaddr,
    }
}

pub(super) fn symbol_kind(symbol: SymbolAction) -> ActionKind {
    match symbol {
        SymbolAction::Sym { .. } => ActionKind::Sym,
        SymbolAction::Mod => ActionKind::Mod,
        SymbolAction::Usym => ActionKind::Usym,
        SymbolAction::Umod => ActionKind::Umod,
        SymbolAction::Uaddr => ActionKind::Uaddr,
    }
}
