//! typeck/typed/expr.rs: expressions, each with its type.

use super::names::VariableId;
use kinst_base::source::Span;
use kinst_dif::insn::{Builtin, Subr};
use kinst_types::Type;

/// An expression with its type.
#[derive(Clone, Debug, PartialEq)]
pub struct Expr {
    /// The operation, with its operands.
    pub kind: ExprKind,
    /// The type of the value.
    pub ty: Type,
    /// The span in the source.
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
    /// The value in a place; for a struct, array or string, its address.
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

/// A place that can be read and, except for built-ins, written. The enclosing node has its type.
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
