//! typeck/typed/names.rs: the variables of a program, and its aggregations with their keys.

use kinst_base::source::Span;
use kinst_types::Type;

/// Index into [`super::Program::variables`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct VariableId(pub usize);

/// A variable of the program.
#[derive(Clone, Debug, PartialEq)]
pub struct Variable {
    /// The scope: global, thread or clause.
    pub scope: Scope,
    /// Without `self->` or `this->`; with a `%` in front if the compiler made it.
    pub name: String,
    /// The variable's number in DIF, from 0x500 in each scope.
    pub number: u32,
    /// The key types, if it is an associative array.
    pub keys: Option<Vec<Type>>,
    /// The type of the value, or of one element.
    pub ty: Type,
    /// The place where its type was fixed.
    pub span: Span,
    /// Whether the variable is undeclared, and its first value fixed the type.
    pub inferred: bool,
}

/// The lifetime and the name space of a variable.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Scope {
    /// Without a prefix.
    Global,
    /// `self->`
    Thread,
    /// `this->`
    Clause,
}

/// Index into [`super::Program::aggregations`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct AggregationId(pub usize);

/// An aggregation of the program.
#[derive(Clone, Debug, PartialEq)]
pub struct Aggregation {
    /// Without the `@`; `_` for a lone `@`.
    pub name: String,
    /// The same in all assignments.
    pub function: AggregatingFunction,
    /// The type of each element of the key; empty for `@a`.
    pub keys: Vec<KeyType>,
    /// The D text of each key in the first assignment.
    pub key_texts: Vec<String>,
    /// The place where the function was fixed.
    pub span: Span,
    /// The place where the keys were fixed.
    pub keys_span: Span,
}

impl Aggregation {
    /// The name as the program writes it.
    pub fn shown(&self) -> String {
        written_aggregation(&self.name)
    }
}

/// The name of an aggregation as a program writes it: `@name`, or a lone `@`.
pub fn written_aggregation(name: &str) -> String {
    format!("@{}", if name == "_" { "" } else { name })
}

/// An aggregating function with its constant parameters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AggregatingFunction {
    /// `count()`
    Count,
    /// `sum(value)`
    Sum,
    /// `avg(value)`
    Avg,
    /// `min(value)`
    Min,
    /// `max(value)`
    Max,
    /// `stddev(value)`
    Stddev,
    /// `quantize(value, increment)`
    Quantize,
    /// `lquantize(value, base, limit, step, increment)`
    Lquantize {
        /// The lower bound of the first bucket.
        base: i32,
        /// The upper bound as written, above `base`.
        limit: i32,
        /// The width of a bucket, from 1; 1 if it is not given.
        step: u16,
        /// The number of whole steps from `base` to `limit`, from 1.
        levels: u16,
    },
    /// `llquantize(value, factor, low, high, steps, increment)`
    Llquantize {
        /// The base of the magnitudes, from 2.
        factor: u16,
        /// The exponent of the lowest magnitude, below `high`.
        low: u16,
        /// The exponent of the highest magnitude; `factor` to the power of `high` + 1 fits 64 bits.
        high: u16,
        /// The steps from 0 to the end of a magnitude, a multiple of `factor`.
        steps: u16,
    },
}

/// The type of an aggregation's key: a value, or the result of an action.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum KeyType {
    /// A value of this type.
    Value(Type),
    /// `stack()`, `ustack()`, `jstack()`
    Stack(StackAction),
    /// `sym(a)`, `mod(a)`, `usym(a)`, `umod(a)`, `uaddr(a)`
    Symbol(SymbolAction),
}

impl Scope {
    /// Returns the prefix of names in this scope.
    pub fn prefix(self) -> &'static str {
        match self {
            Scope::Global => "",
            Scope::Thread => "self->",
            Scope::Clause => "this->",
        }
    }
}

impl Variable {
    /// Returns the name as the program writes it.
    pub fn full_name(&self) -> String {
        format!("{}{}", self.scope.prefix(), self.name)
    }
}

/// An action that records a stack.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StackAction {
    /// `stack(frames)`
    Kernel {
        /// The most frames that are recorded.
        frames: u32,
    },
    /// `ustack(frames, strsize)`, `jstack(frames, strsize)`
    User {
        /// The most frames that are recorded.
        frames: u32,
        /// The second argument, bytes for the names in the stack; no code is generated for it.
        strsize: u32,
        /// Bytes of the stack that are copied, to be unwound later; 0: none.
        copied: u32,
    },
}

/// An action that records an address, for the consumer to name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SymbolAction {
    /// `sym(address)`, `func(address)`
    Sym {
        /// Whether the address is a return address, or in an inlined copy: `caller`.
        called: bool,
    },
    /// `mod(address)`
    Mod,
    /// `usym(address)`, `ufunc(address)`
    Usym,
    /// `umod(address)`
    Umod,
    /// `uaddr(address)`
    Uaddr,
}
