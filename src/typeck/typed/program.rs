//! typeck/typed/program.rs: a program, its clauses and statements.

use super::expr::Expr;
use super::names::{Aggregation, AggregationId, StackAction, SymbolAction, Variable};
use crate::sugar::plain::ProbeDesc;
use kinst_base::attributes::Attributes;
use kinst_base::diag::Diagnostic;
use kinst_base::probe::Description;
use kinst_base::source::Span;
use kinst_dif::shape::Shape;
use kinst_dif::{ActionKind, Format};
use kinst_types::{Layout, Type};

/// A checked program.
#[derive(Clone, Debug, PartialEq)]
pub struct Program {
    /// The size of a `string`, by option strsize; all other sizes are fixed.
    pub layout: Layout,
    /// Variables of all scopes, indexed by [`super::VariableId`].
    pub variables: Vec<Variable>,
    /// Indexed by [`AggregationId`]; the id in DIF is one more.
    pub aggregations: Vec<Aggregation>,
    /// In source order. A clause that differs between its places has one entry for each group of them.
    pub clauses: Vec<Clause>,
    /// Warnings about the program.
    pub warnings: Vec<Diagnostic>,
    /// Messages of -v.
    pub remarks: Vec<Diagnostic>,
}

/// A clause, or one of the parts that a clause was split into.
#[derive(Clone, Debug, PartialEq)]
pub struct Clause {
    /// The descriptions and sites whose probes run it.
    pub probes: Vec<ProbeDesc>,
    /// A scalar; `None`: the clause always runs.
    pub predicate: Option<Expr>,
    /// Empty for the default action, a record that the probe fired.
    pub body: Vec<Stmt>,
    /// `Some` if it was requested.
    pub stability: Option<Stability>,
    /// Whether it is one of several parts that a clause with `if` was split into.
    pub part: bool,
    /// The span in the source.
    pub span: Span,
}

/// A statement.
#[derive(Clone, Debug, PartialEq)]
pub struct Stmt {
    /// The action or expression.
    pub kind: StmtKind,
    /// The statement without the semicolon.
    pub span: Span,
}

/// The kinds of statements.
#[derive(Clone, Debug, PartialEq)]
pub enum StmtKind {
    /// Evaluated for its effect.
    Expr(Expr),
    /// `@a[keys] = function(value, …, increment)`
    Aggregate {
        /// The id of `@a`.
        aggregation: AggregationId,
        /// One element for each key type of the aggregation.
        keys: Vec<Key>,
        /// `None` for count().
        value: Option<Expr>,
        /// The weight of the value in one of the three quantizing functions; `None`: 1.
        increment: Option<Expr>,
    },
    /// `trace(value)`
    Trace(Expr),
    /// `print(value)`
    Print(PrintedValue),
    /// print(args) and print(locals)
    PrintAll(Vec<Printed>),
    /// `printf(format, …)`, `system(format, …)`, `freopen(format, …)`
    Printf {
        /// The use of the formatted string.
        action: FormatAction,
        /// Each of its conversions fits its argument.
        format: Format,
        /// The arguments of the conversions, and of any `*` that precedes them.
        args: Vec<Key>,
    },
    /// `printa(@a)`, `printa(format, @a, @b)`
    Printa {
        /// `None`: the default layout.
        format: Option<Format>,
        /// At least one; all have the same key types.
        aggregations: Vec<AggregationId>,
    },
    /// `exit(status)`
    Exit(Expr),
    /// `stack()`, `ustack()`, `jstack()`
    Stack(StackAction),
    /// `sym(a)`, `mod(a)`, `usym(a)`, `umod(a)`, `uaddr(a)`
    Symbol(SymbolAction, Expr),
    /// `tracemem(address, size, length)`
    Tracemem {
        /// A pointer or an integer.
        address: Expr,
        /// The bytes that are recorded, 1 to [`kinst_dif::MAX_TRACEMEM`].
        size: u32,
        /// The bytes that are printed, if fewer; `None`: all.
        length: Option<Expr>,
    },
    /// `printm(size, memref(address, length))`
    Printm {
        /// The most bytes that are recorded, 1 to [`kinst_dif::MAX_TRACEMEM`].
        size: u32,
        /// A pointer to an address and a length.
        reference: Expr,
    },
    /// `clear(@a)`, `setopt(name)` …
    Control(Control),
    /// speculate commit discard
    Speculation(ActionKind, Expr),
    /// stop breakpoint panic, raise(signal), chill(ns)
    Destructive(ActionKind, Option<Expr>),
}

/// A value that print() shows.
#[derive(Clone, Debug, PartialEq)]
pub struct PrintedValue {
    /// The expression that reads it.
    pub value: Expr,
    /// The shape of the value.
    pub shape: Shape,
    /// The memory that it refers to, in the order of [`kinst_dif::shape::Referring::record`].
    pub referents: Vec<Referent>,
}

/// Memory of the process that is recorded with a value.
#[derive(Clone, Debug, PartialEq)]
pub struct Referent {
    /// A pointer to an address and a length, as of memref().
    pub pair: Expr,
    /// The most bytes that are recorded, 1 to [`kinst_dif::MAX_TRACEMEM`].
    pub most: u32,
}

/// One line of print(args) or print(locals).
#[derive(Clone, Debug, PartialEq)]
pub enum Printed {
    /// The function that the following variables belong to.
    Function(String),
    /// A variable with its value.
    Variable {
        /// The variable's name in the output.
        name: String,
        /// The value.
        printed: Box<PrintedValue>,
    },
    /// A variable that cannot be read there, with its type and the reason.
    Missing {
        /// The variable's name in the output.
        name: String,
        /// Its type, as a message shows it.
        ty: String,
        /// The reason, which the output gives in place of the value.
        why: String,
    },
}

/// An action of the consumer, in its position among the records.
#[derive(Clone, Debug, PartialEq)]
pub enum Control {
    /// `clear(@a)`
    Clear(AggregationId),
    /// `trunc(@a)`, `trunc(@a, count)`
    Trunc {
        /// The id of `@a`.
        aggregation: AggregationId,
        /// The number of entries to keep, the lowest if it is negative; `None`: 0.
        count: Option<Expr>,
    },
    /// `normalize(@a, divisor)`
    Normalize {
        /// The id of `@a`.
        aggregation: AggregationId,
        /// A scalar, not the constant 0.
        divisor: Expr,
    },
    /// `denormalize(@a)`
    Denormalize(AggregationId),
    /// `setopt(name)`, `setopt(name, value)`; both are strings.
    Setopt {
        /// The option's name, looked up by the consumer.
        name: Expr,
        /// `None` for an option that is only set.
        value: Option<Expr>,
    },
    /// `ftruncate()`
    Ftruncate,
}

/// One element of an aggregation's key, or one argument of printf().
#[derive(Clone, Debug, PartialEq)]
pub enum Key {
    /// Any expression with a value.
    Value(Expr),
    /// `stack()`, `ustack()`, `jstack()`
    Stack(StackAction),
    /// `sym(a)`, `mod(a)`, `usym(a)`, `umod(a)`, `uaddr(a)`
    Symbol(SymbolAction, Expr),
}

/// The actions that take a format.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FormatAction {
    /// `printf(format, …)`: the string is output.
    Printf,
    /// `system(format, …)`: the string is a shell command.
    System,
    /// `freopen(format, …)`: the string is the name of the output file, or empty for standard output.
    Freopen,
}

/// The stability of a clause's dependencies.
#[derive(Clone, Debug, PartialEq)]
pub struct Stability {
    /// By description of the clause.
    pub probes: Vec<ProbeStability>,
    /// The attributes of the least stable thing in the predicate and the statements.
    pub statements: Attributes,
}

/// The stability promised for the probes of one description.
#[derive(Clone, Debug, PartialEq)]
pub struct ProbeStability {
    /// The description; if it is the id of a known probe, that probe.
    pub probe: Description,
    /// The least of its provider and of the fields that are written out.
    pub description: Attributes,
    /// The attributes of `args[]`.
    pub arguments: Attributes,
    /// The types of `args[]`; none if they are unknown or differ between probes.
    pub types: Vec<Type>,
}
