//! typeck/expr/: expressions: names, constants, members, elements.

pub(super) mod ahead;
pub(super) mod assign;
mod call;
mod check;
mod convert;
pub(super) mod fold;
pub(super) mod layouts;
pub(super) mod member;
mod ops;
mod symbols;
mod text;
