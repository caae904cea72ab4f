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

/// A checked program.
#[derive(Clone, Debug, PartialEq)]
pub struct Program {
    /// The size of a `string`, by option strsize; other sizes do not vary.
    pub layout: Layout,
    /// Variables of all scopes, indexed by [`VariableId`].
    pub variables: Vec<Variable>,
    /// Indexed by [`AggregationId`]; the id in DIF is one more.
    pub aggregations: Vec<Aggregation>,
    /// In the order of the text. A clause that differs between its places comes once for each group of them.
    pub clauses: Vec<Clause>,
    /// Warnings about the program.
    pub warnings: Vec<Diagnostic>,
    /// Messages of -v.
    pub remarks: Vec<Diagnostic>,
}

/// Index into [`Program::variables`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct VariableId(pub usize);

/// A variable of the program.
#[derive(Clone, Debug, PartialEq)]
pub struct Variable {
    /// Global, or that of a thread or of a firing.
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
    /// Whether nothing declares it: its type is that of its first value.
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

/// Index into [`Program::aggregations`].
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

/// A clause, or one of those that it was made into.
#[derive(Clone, Debug, PartialEq)]
pub struct Clause {
    /// Descriptions and sites whose probes run it.
    pub probes: Vec<ProbeDesc>,
    /// A scalar; `None`: the clause always runs.
    pub predicate: Option<Expr>,
    /// Empty for the default action, a record that the probe fired.
    pub body: Vec<Stmt>,
    /// `Some` if it was requested.
    pub stability: Option<Stability>,
    /// Whether it is one of several that a clause with `if` was made into.
    pub part: bool,
    /// The text that it was made of.
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
    /// `print(value)`, and the shape of the value's type.
    Print(Expr, Shape),
    /// print(args) and print(locals)
    PrintAll(Vec<Printed>),
    /// `printf(format, …)`, `system(format, …)`, `freopen(format, …)`
    Printf {
        /// The use of the formatted string.
        action: FormatAction,
        /// Each of its conversions fits its argument.
        format: Format,
        /// The arguments of the conversions, and those of `*` before them.
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

/// One line of print(args) or print(locals).
#[derive(Clone, Debug, PartialEq)]
pub enum Printed {
    /// The function that the variables after it are of.
    Function(String),
    /// A variable with its value.
    Variable {
        /// The variable's name in the output.
        name: String,
        /// The expression that reads it.
        value: Expr,
        /// The shape of the value's type.
        shape: Shape,
    },
    /// A variable that cannot be read there, with its type, and why.
    Missing {
        /// The variable's name in the output.
        name: String,
        /// Its type, as a message shows it.
        ty: String,
        /// The reason, which the output gives in place of the value.
        why: String,
    },
}

/// An action of the consumer, in its place among the records.
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
        /// Whether the address is one that a call returns to, or of an inlined copy: `caller`.
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

/// An expression with its type.
#[derive(Clone, Debug, PartialEq)]
pub struct Expr {
    /// The operation, with its operands.
    pub kind: ExprKind,
    /// The type of the value.
    pub ty: Type,
    /// The text that it was made of.
    pub span: Span,
}

/// The kinds of expressions.
#[derive(Clone, Debug, PartialEq)]
pub enum ExprKind {
    /// A constant of a scalar type, in 64 bits.
    Int(u64),
    /// A string constant; no NUL is added.
    Str(Vec<u8>),
    /// `pid`, `timestamp`, `arg0` …
    Builtin(Builtin),
    /// `regs[i]`, `uregs[i]`
    BuiltinElement {
        /// `Regs` or `Uregs`.
        array: Builtin,
        /// A constant, the index of a register.
        index: Box<Expr>,
    },
    /// The value in a place; that of a struct, array or string is its address.
    Place(Place),
    /// `-x`
    Negate(Box<Expr>),
    /// `~x`
    Complement(Box<Expr>),
    /// `!x`
    Not(Box<Expr>),
    /// Division and right shift are signed if the type of the node is.
    Arith {
        /// The operator; an index that is added to a pointer is in bytes.
        op: ArithOp,
        /// The operand before the operator.
        left: Box<Expr>,
        /// The operand after the operator.
        right: Box<Expr>,
    },
    /// `left op right`: 0 or 1.
    Compare {
        /// The relation.
        op: CompareOp,
        /// The kind of both operands.
        class: CompareClass,
        /// The operand before the operator.
        left: Box<Expr>,
        /// The operand after the operator.
        right: Box<Expr>,
    },
    /// `left op right`: 0 or 1.
    Logic {
        /// `||` and `&&` may skip the right operand.
        op: LogicOp,
        /// The operand before the operator.
        left: Box<Expr>,
        /// The operand after the operator.
        right: Box<Expr>,
    },
    /// `condition ? then : otherwise`
    Conditional {
        /// A scalar; 0 is false.
        condition: Box<Expr>,
        /// The value if the condition is not 0.
        then: Box<Expr>,
        /// The value if the condition is 0.
        otherwise: Box<Expr>,
    },
    /// `left, right`
    Comma {
        /// Evaluated for its effect.
        left: Box<Expr>,
        /// The value of the whole.
        right: Box<Expr>,
    },
    /// The index; a fault unless it is below the number of elements.
    Bounded {
        /// An integer that is not a constant.
        index: Box<Expr>,
        /// The number of elements; of a string, its size in bytes.
        length: u64,
    },
    /// The operand, converted to the node's type.
    Convert(Box<Expr>),
    /// `subroutine(args)`
    Call {
        /// A subroutine of DIF; actions are statements.
        subroutine: Subr,
        /// The arguments, converted to the types of its parameters.
        args: Vec<Expr>,
    },
    /// `place = value`
    Assign {
        /// The place that is written.
        place: Place,
        /// A value that the type of the place accepts; code generation narrows it.
        value: Box<Expr>,
    },
    /// `place op= value`; the new value.
    Update {
        /// The operator without the `=`.
        op: ArithOp,
        /// The place that is read and written; its address or keys are evaluated once.
        place: Place,
        /// The right operand; scaled if the place is a pointer.
        value: Box<Expr>,
    },
    /// `++place`, `place--` …; `by` is added.
    Step {
        /// The place that is read and written; its address or keys are evaluated once.
        place: Place,
        /// 1 or −1, times the size of the target in bytes if the place is a pointer.
        by: i64,
        /// Whether the result is the old value.
        postfix: bool,
    },
}

/// A place that can be read and, except for built-ins, written. Its type is that of the node around it.
#[derive(Clone, Debug, PartialEq)]
pub enum Place {
    /// A variable that is not an associative array.
    Variable(VariableId),
    /// `array[keys]`
    Element {
        /// An associative array.
        array: VariableId,
        /// One value for each key type of the array.
        keys: Vec<Expr>,
    },
    /// `*address`, `p->member`, `p[i]`
    Memory(Memory),
    /// A bit-field of `p->member`.
    Bits(Bits),
}

/// `*address`
#[derive(Clone, Debug, PartialEq)]
pub struct Memory {
    /// A pointer, or a string whose characters are accessed.
    pub address: Box<Expr>,
    /// Whether it is in the memory of the current process.
    pub user: bool,
}

/// A bit-field: `bits` bits, from bit `shift` on, of the integer in memory.
#[derive(Clone, Debug, PartialEq)]
pub struct Bits {
    /// The integer that contains the bits.
    pub memory: Memory,
    /// An unsigned integer type of 1, 2, 4 or 8 bytes.
    pub unit: Type,
    /// The lowest bit, counted from the least significant one.
    pub shift: u32,
    /// From 1; with `shift` it does not exceed the unit.
    pub bits: u32,
}

/// An operator on two numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ArithOp {
    /// `a | b`
    Or,
    /// `a ^ b`
    Xor,
    /// `a & b`
    And,
    /// `a << b`
    Shl,
    /// `a >> b`
    Shr,
    /// `a + b`
    Add,
    /// `a - b`
    Sub,
    /// `a * b`
    Mul,
    /// `a / b`
    Div,
    /// `a % b`
    Rem,
}

/// A relation of two values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CompareOp {
    /// `a == b`
    Eq,
    /// `a != b`
    Ne,
    /// `a < b`
    Lt,
    /// `a <= b`
    Le,
    /// `a > b`
    Gt,
    /// `a >= b`
    Ge,
}

/// The kind of values that are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CompareClass {
    /// Integers whose common type is signed.
    Signed,
    /// Integers whose common type is unsigned, and addresses.
    Unsigned,
    /// Compared by content.
    String,
}

/// An operator on two truth values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LogicOp {
    /// `a || b`
    Or,
    /// `a ^^ b`
    Xor,
    /// `a && b`
    And,
}

impl Expr {
    /// Makes an expression.
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
    /// The description; if it is the id of a known probe, that probe.
    pub probe: Description,
    /// The least of its provider and of the fields that are written out.
    pub description: Attributes,
    /// The attributes of `args[]`.
    pub arguments: Attributes,
    /// The types of `args[]`; none if they are unknown or differ between probes.
    pub types: Vec<Type>,
}
