//! parser/ast/: the tree of a D program as written.
//!
//! Macro arguments are substituted, comments are dropped, and literals keep their text; parentheses have no nodes.
//! Names are not resolved.

mod expr;
mod program;

pub use expr::{
    BinaryOp, Declarator, Derived, EnumDefinition, Expr, ExprKind, MemberDeclaration, MemberDeclarator,
    Param, Params, PostfixOp, RecordDefinition, Scope, Storage, TypeKeyword, TypeName, TypeSpec, UnaryOp,
};
pub use program::{
    Alias, AliasPlace, Clause, Declaration, If, Inline, Item, Pragma, PragmaSubject, ProbeDesc,
    ProbeDescKind, Program, Provider, ProviderProbe, Stmt, Translator,
};
