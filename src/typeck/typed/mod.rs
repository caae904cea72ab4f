//! typeck/typed/: the tree after checking: names resolved, a type on every node, constants folded.
//! Values are 64 bits wide, extended from their type; arithmetic does not narrow them. A `Convert` marks
//! each required narrowing, pointer arithmetic is scaled, and `p->m`, `p[i]`, `&x` are loads and sums.

mod expr;
mod names;
mod program;

pub use expr::{ArithOp, Bits, CompareClass, CompareOp, Expr, ExprKind, LogicOp, Memory, Place};
pub use names::{
    AggregatingFunction, Aggregation, AggregationId, KeyType, Scope, StackAction, SymbolAction, Variable,
    VariableId, written_aggregation,
};
pub use program::{
    Clause, Control, FormatAction, Key, Printed, PrintedValue, ProbeStability, Program, Referent, Stability,
    Stmt, StmtKind,
};
