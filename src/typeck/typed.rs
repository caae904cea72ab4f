//! typeck/typed.rs: the tree after checking: names resolved, a type on every node, constants folded.
//! Values are 64 bits wide, extended from their type; arithmetic does not narrow them. Where a value must be
//! narrowed there is a `Convert`, pointer arithmetic is scaled, and `p->m`, `p[i]`, `&x` are loads and sums.

use crate::sugar::plain::ProbeDesc;
use kinst_base::attributes::Attributes;
use kinst_base::diag::Diagnostic;
use kinst_base::probe::Description;
use kinst_base::source::Span;
use kinst_dif::insn::{Builtin, Subr};
use kinst_dif::shape::Shape;
use kinst_dif::{ActionKind, Format};
use kinst_types::{Layout, Type};

#[derive(Clone, Debug, PartialEq)]
pub struct Program {
    pub layout: Layout,
    pub variables: Vec<Variable>,
    /// Indexed by id − 1.
    pub aggregations: Vec<Aggregation>,
    pub clauses: Vec<Clause>,
    /// Warnings about the program.
    pub warnings: Vec<Diagnostic>,
    /// What is said with -v.
    pub remarks: Vec<Diagnostic>,
}

/// Index into [`Program::variables`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct VariableId(pub usize);

/// A variable of the program.
#[derive(Clone, Debug, PartialEq)]
pub struct Variable {
    pub scope: Scope,
    pub name: String,
    /// The variable's number in DIF, from 0x500 in each scope.
    pub number: u32,
    /// The key types, if it is an associative array.
    pub keys: Option<Vec<Type>>,
    /// The type of the value, or of one element.
    pub ty: Type,
    /// The place where its type was fixed.
    pub span: Span,
    /// Whether nothing declares it: its type is that of its first value.
    pub inferred: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Scope {
    Global,
    /// `self->`
    Thread,
    /// `this->`
    Clause,
}

/// Index into [`Program::aggregations`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct AggregationId(pub usize);

#[derive(Clone, Debug, PartialEq)]
pub struct Aggregation {
    pub name: String,
    pub function: AggregatingFunction,
    pub keys: Vec<KeyType>,
    /// The D text of each key in the first assignment.
    pub key_texts: Vec<String>,
    /// The place where the function was fixed.
    pub span: Span,
    /// The place where the keys were fixed.
    pub keys_span: Span,
}

impl Aggregation {
    /// The name as the program has it.
    pub fn shown(&self) -> String {
        written_aggregation(&self.name)
    }
}

/// The name of an aggregation as a program writes it: `@name`, or `@` alone.
pub fn written_aggregation(name: &str) -> String {
    format!("@{}", if name == "_" { "" } else { name })
}

/// An aggregating function with its constant parameters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AggregatingFunction {
    Count,
    Sum,
    Avg,
    Min,
    Max,
    Stddev,
    Quantize,
    Lquantize { base: i32, limit: i32, step: u16, levels: u16 },
    Llquantize { factor: u16, low: u16, high: u16, steps: u16 },
}

/// The type of an aggregation's key: a value, or the result of an action.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum KeyType {
    Value(Type),
    Stack(StackAction),
    Symbol(SymbolAction),
}

#[derive(Clone, Debug, PartialEq)]
pub struct Clause {
    pub probes: Vec<ProbeDesc>,
    pub predicate: Option<Expr>,
    pub body: Vec<Stmt>,
    /// `Some` if it was requested.
    pub stability: Option<Stability>,
    /// Whether it is one of several that a clause with `if` was made into.
    pub part: bool,
    pub span: Span,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Stmt {
    pub kind: StmtKind,
    pub span: Span,
}

#[derive(Clone, Debug, PartialEq)]
pub enum StmtKind {
    /// Evaluated for its effect.
    Expr(Expr),
    /// `@a[keys] = function(value, …, increment)`
    Aggregate {
        aggregation: AggregationId,
        keys: Vec<Key>,
        /// `None` for count().
        value: Option<Expr>,
        increment: Option<Expr>,
    },
    Trace(Expr),
    Print(Expr, Shape),
    /// print(args) and print(locals)
    PrintAll(Vec<Printed>),
    Printf {
        action: FormatAction,
        format: Format,
        args: Vec<Key>,
    },
    Printa {
        format: Option<Format>,
        aggregations: Vec<AggregationId>,
    },
    Exit(Expr),
    Stack(StackAction),
    Symbol(SymbolAction, Expr),
    Tracemem {
        address: Expr,
        size: u32,
        length: Option<Expr>,
    },
    Printm {
        size: u32,
        /// A pointer to an address and a length.
        reference: Expr,
    },
    Control(Control),
    /// speculate commit discard
    Speculation(ActionKind, Expr),
    /// stop breakpoint panic, raise(signal), chill(ns)
    Destructive(ActionKind, Option<Expr>),
}

/// One line of print(args) or print(locals).
#[derive(Clone, Debug, PartialEq)]
pub enum Printed {
    /// The function that the variables after it are of.
    Function(String),
    Variable {
        name: String,
        value: Expr,
        shape: Shape,
    },
    /// A variable that cannot be read there, with its type, and why.
    Missing {
        name: String,
        ty: String,
        why: String,
    },
}

/// An action of the consumer, in its place among the records.
#[derive(Clone, Debug, PartialEq)]
pub enum Control {
    Clear(AggregationId),
    Trunc {
        aggregation: AggregationId,
        count: Option<Expr>,
    },
    Normalize {
        aggregation: AggregationId,
        divisor: Expr,
    },
    Denormalize(AggregationId),
    /// Both are strings.
    Setopt {
        name: Expr,
        value: Option<Expr>,
    },
    Ftruncate,
}

/// One element of an aggregation's key, or one argument of printf().
#[derive(Clone, Debug, PartialEq)]
pub enum Key {
    Value(Expr),
    Stack(StackAction),
    Symbol(SymbolAction, Expr),
}

/// The actions that take a format.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FormatAction {
    Printf,
    System,
    Freopen,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StackAction {
    Kernel {
        frames: u32,
    },
    /// `copied`: bytes of the stack.
    User {
        frames: u32,
        strsize: u32,
        copied: u32,
    },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SymbolAction {
    Sym {
        /// Whether the address is one that a call returns to, or of an inlined copy: `caller`.
        called: bool,
    },
    Mod,
    Usym,
    Umod,
    Uaddr,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Expr {
    pub kind: ExprKind,
    pub ty: Type,
    pub span: Span,
}

#[derive(Clone, Debug, PartialEq)]
pub enum ExprKind {
    Int(u64),
    Str(Vec<u8>),
    /// `pid`, `timestamp`, `arg0` …
    Builtin(Builtin),
    /// `args[i]`, `regs[i]`, `uregs[i]`
    BuiltinElement {
        array: Builtin,
        index: Box<Expr>,
    },
    Place(Place),
    /// `-x`
    Negate(Box<Expr>),
    /// `~x`
    Complement(Box<Expr>),
    /// `!x`
    Not(Box<Expr>),
    /// Division and right shift are signed if the type of the node is.
    Arith {
        op: ArithOp,
        left: Box<Expr>,
        right: Box<Expr>,
    },
    Compare {
        op: CompareOp,
        class: CompareClass,
        left: Box<Expr>,
        right: Box<Expr>,
    },
    Logic {
        op: LogicOp,
        left: Box<Expr>,
        right: Box<Expr>,
    },
    Conditional {
        condition: Box<Expr>,
        then: Box<Expr>,
        otherwise: Box<Expr>,
    },
    Comma {
        left: Box<Expr>,
        right: Box<Expr>,
    },
    /// The index; a fault unless it is below the number of elements.
    Bounded {
        index: Box<Expr>,
        length: u64,
    },
    /// The operand, converted to the node's type.
    Convert(Box<Expr>),
    Call {
        subroutine: Subr,
        args: Vec<Expr>,
    },
    Assign {
        place: Place,
        value: Box<Expr>,
    },
    /// `place op= value`; the new value.
    Update {
        op: ArithOp,
        place: Place,
        value: Box<Expr>,
    },
    /// `++place`, `place--` …; `by` is added.
    Step {
        place: Place,
        by: i64,
        /// Whether the result is the old value.
        postfix: bool,
    },
}

/// A place that can be read and, except for built-ins, written. Its type is that of the node around it.
#[derive(Clone, Debug, PartialEq)]
pub enum Place {
    Variable(VariableId),
    Element { array: VariableId, keys: Vec<Expr> },
    Memory(Memory),
    Bits(Bits),
}

/// `*address`
#[derive(Clone, Debug, PartialEq)]
pub struct Memory {
    pub address: Box<Expr>,
    /// Whether it is in the memory of the current process.
    pub user: bool,
}

/// A bit-field: `bits` bits, from bit `shift` on, of the integer in memory.
#[derive(Clone, Debug, PartialEq)]
pub struct Bits {
    pub memory: Memory,
    /// An unsigned integer type of 1, 2, 4 or 8 bytes.
    pub unit: Type,
    pub shift: u32,
    pub bits: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ArithOp {
    Or,
    Xor,
    And,
    Shl,
    Shr,
    Add,
    Sub,
    Mul,
    Div,
    Rem,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CompareOp {
    Eq,
    Ne,
    Lt,
    Le,
    Gt,
    Ge,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CompareClass {
    Signed,
    Unsigned,
    /// Compared by content.
    String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LogicOp {
    Or,
    Xor,
    And,
}

impl Expr {
    pub fn new(kind: ExprKind, ty: Type, span: Span) -> Expr {
        Expr { kind, ty, span }
    }

    /// Returns the value of a constant.
    pub fn constant(&self) -> Option<u64> {
        match self.kind {
            ExprKind::Int(value) => Some(value),
            _ => None,
        }
    }
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

/// The stability of what a clause depends on.
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
    pub probe: Description,
    pub description: Attributes,
    pub arguments: Attributes,
    /// The types of `args[]`; none if they are unknown or differ between probes.
    pub types: Vec<Type>,
}
