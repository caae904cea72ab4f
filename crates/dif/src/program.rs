//! dif/program.rs: a compiled program: objects, variables, aggregations, clauses, and the meaning of their records.

use std::ops::Range;

use super::action::ActionKind;
use super::shape;
use kinst_base::probe::Description;
use kinst_base::uapi;

/// The maximum size of a by-reference variable that is not a string, in bytes.
pub const MAX_VALUE: u32 = uapi::MAX_VALUE;
/// The maximum number of bytes for tracemem() and printm().
pub const MAX_TRACEMEM: u32 = uapi::MAX_TRACEMEM;
/// The maximum number of frames for stack() and ustack().
pub const MAX_FRAMES: u32 = uapi::MAX_FRAMES;

/// A compiled program: what the kernel runs, and how the consumer reads its records.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Program {
    /// Objects of all clauses; a [`DifoIndex`] is an index into them.
    pub difos: Vec<Difo>,
    /// User variables of the whole program, one entry for each (scope, id).
    pub variables: Vec<Variable>,
    /// Indexed by id − 1.
    pub aggregations: Vec<Aggregation>,
    /// Clauses in the order of the program.
    pub clauses: Vec<Clause>,
}

/// Settings that the kernel gets with the program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Options {
    /// The size of one CPU's principal buffer in bytes.
    pub bufsize: u64,
    /// Bytes of one CPU's aggregation buffer.
    pub aggsize: u64,
    /// Bytes for thread-local variables and elements of associative arrays, for all CPUs together.
    pub dynvarsize: u64,
    /// Bytes of one speculation on one CPU.
    pub specsize: u64,
    /// The maximum number of concurrent speculations.
    pub nspec: u32,
    /// The size in bytes of a string whose type does not give one.
    pub strsize: u32,
    /// Process id of `$target`, or 0.
    pub target: u32,
    /// Whether destructive actions are allowed.
    pub destructive: bool,
    /// Microseconds between two cleanings of dynamic variables and speculations; 0 for the module's default.
    pub clean_us: u32,
    /// The only CPU to trace.
    pub cpu: Option<u32>,
    /// Whether new records overwrite the oldest ones in a full buffer.
    pub overwrite: bool,
    /// Whether to use only breakpoints, without replacing them by jumps.
    pub nojump: bool,
    /// Whether each kinst probe is removed at its first hit.
    pub once: bool,
}

impl Default for Options {
    /// The defaults of the D language's options.
    fn default() -> Options {
        Options {
            bufsize: 4 << 20,
            aggsize: 4 << 20,
            dynvarsize: 1 << 20,
            specsize: 32 << 10,
            nspec: 1,
            strsize: 256,
            target: 0,
            destructive: false,
            clean_us: 0,
            cpu: None,
            overwrite: false,
            nojump: false,
            once: false,
        }
    }
}

/// Index into [`Program::difos`].
pub type DifoIndex = u32;

/// A DIF object: one expression.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Difo {
    /// Instruction words.
    pub insns: Vec<u32>,
    /// Integer constants; setx takes an index into them.
    pub ints: Vec<u64>,
    /// NUL-terminated strings; offset 0 is the empty string. Empty if no string is used.
    pub strings: Vec<u8>,
    /// The variables that this object reads or writes, in order of first use, for its listing.
    pub variables: Vec<Variable>,
    /// Type of the value that the last ret returns.
    pub rtype: Type,
}

/// A D type in DIF's terms.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Type {
    /// D type or string.
    pub kind: TypeKind,
    /// Kind of the C type, for the listing.
    pub ctf: CtfKind,
    /// Whether the value is the address of `size` bytes.
    pub by_ref: bool,
    /// Whether the value is the address of `size` bytes in process memory.
    pub by_user_ref: bool,
    /// The size in bytes. By value it is 0 (void), 1, 2, 4 or 8; a string of size 0 has the size of option `strsize`.
    pub size: u32,
}

impl Type {
    /// The type of an object whose value is not recorded.
    pub const VOID: Type = Type::by_value(CtfKind::Unknown, 0);

    /// Makes a type held by value; `size` is 0, 1, 2, 4 or 8.
    pub const fn by_value(ctf: CtfKind, size: u32) -> Type {
        Type { kind: TypeKind::D, ctf, by_ref: false, by_user_ref: false, size }
    }

    /// Makes the type of a structure, union or array of `size` bytes.
    pub const fn by_ref(ctf: CtfKind, size: u32) -> Type {
        Type { kind: TypeKind::D, ctf, by_ref: true, by_user_ref: false, size }
    }

    /// Makes a string type; `size` 0 means the size of option `strsize`.
    pub const fn string(size: u32) -> Type {
        Type { kind: TypeKind::String, ctf: CtfKind::Unknown, by_ref: true, by_user_ref: false, size }
    }
}

/// Kind of a type, as in `kinst_dtype.kind`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TypeKind {
    /// Any type but a string.
    #[default]
    D,
    /// Bytes up to a NUL, by reference.
    String,
}

/// Kind of a C type, by its number in CTF and `kinst_dtype.ckind`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(u8)]
pub enum CtfKind {
    /// Not a C type: void or a string.
    #[default]
    Unknown = 0,
    /// Integer, `char` and `_Bool` included.
    Integer = 1,
    /// `float`, `double`
    Float = 2,
    /// `T *`
    Pointer = 3,
    /// `T [n]`
    Array = 4,
    /// `T (…)`
    Function = 5,
    /// `struct`
    Struct = 6,
    /// `union`
    Union = 7,
    /// `enum`
    Enum = 8,
    /// A struct, union or enum without a definition.
    Forward = 9,
    /// `typedef`
    Typedef = 10,
    /// `volatile`
    Volatile = 11,
    /// `const`
    Const = 12,
    /// `restrict`
    Restrict = 13,
}

impl CtfKind {
    /// Returns the kind with this number in an image; `None` above 13.
    pub fn from_number(number: u8) -> Option<CtfKind> {
        use CtfKind::*;
        let kinds = [
            Unknown, Integer, Float, Pointer, Array, Function, Struct, Union, Enum, Forward, Typedef,
            Volatile, Const, Restrict,
        ];
        kinds.get(usize::from(number)).copied()
    }
}

/// A built-in or user-defined variable.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Variable {
    /// Name in D: `x` for `self->x`.
    pub name: String,
    /// Id of a [`Builtin`](crate::insn::Builtin), or from `FIRST_USER_VARIABLE` on in each scope.
    pub id: u32,
    /// Scalar or array.
    pub kind: VariableKind,
    /// Scope of the variable; ids are separate in each scope.
    pub scope: Scope,
    /// Whether the object, or any object of the program, loads it.
    pub read: bool,
    /// Whether the object, or any object of the program, stores to it.
    pub written: bool,
    /// Type of the value; for an array, of an element.
    pub ty: Type,
}

/// Kind of a variable, as in `kinst_var.kind`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum VariableKind {
    /// An associative array, or a built-in one.
    Array = 0,
    /// A variable with one value in its scope.
    Scalar = 1,
}

/// Scope of a variable, as in `kinst_var.scope`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Scope {
    /// One for the session; built-in variables are global too.
    Global = 0,
    /// `self->x`: one for each thread.
    Thread = 1,
    /// `this->x`: one for each firing of a probe.
    Local = 2,
}

/// An aggregation variable.
#[derive(Clone, Debug, PartialEq)]
pub struct Aggregation {
    /// Name without the `@`; `_` for `@` itself.
    pub name: String,
    /// The aggregating action.
    pub function: ActionKind,
    /// Packed parameters of lquantize and llquantize.
    pub arg: u64,
    /// How to print each key.
    pub keys: Vec<Display>,
    /// The variable of each key in the program; `None` for other expressions.
    pub key_names: Vec<Option<String>>,
    /// The source text of each key, which names it.
    pub key_texts: Vec<String>,
    /// Whether the aggregated value is signed (count is not).
    pub signed: bool,
    /// Whether all added values have unsigned types.
    pub grows: bool,
}

impl Aggregation {
    /// Returns the name after the `@`, which is empty for `@` itself.
    pub fn written(&self) -> &str {
        if self.name == "_" { "" } else { &self.name }
    }
}

/// One desugared clause: an enabling.
#[derive(Clone, Debug, PartialEq)]
pub struct Clause {
    /// Descriptions of the probes at which it is enabled.
    pub probes: Vec<Description>,
    /// The clause runs if its value is not 0; always for `None`.
    pub predicate: Option<DifoIndex>,
    /// Actions in the order in which they run.
    pub actions: Vec<Action>,
    /// The statements in order; together they cover `actions`.
    pub statements: Vec<Statement>,
    /// Whether a record is written even if no action records anything (no actions, or printf without arguments).
    pub record: bool,
    /// Whether it is one of several clauses that an `if` was desugared to: it has an output row only for
    /// values that it prints.
    pub part: bool,
}

/// One step of a clause, as the kernel sees it (struct kinst_action).
#[derive(Clone, Debug, PartialEq)]
pub struct Action {
    /// The action; see [`ActionKind::takes`] and [`ActionKind::records`].
    pub kind: ActionKind,
    /// Object of the argument, or of the value to record or to aggregate.
    pub difo: Option<DifoIndex>,
    /// For an aggregating action, the number of directly preceding actions that form its key.
    pub ntuple: u16,
    /// For the quantize family, the increment.
    pub incr: Option<DifoIndex>,
    /// For an aggregating action, the id of the aggregation, from 1.
    pub agg: u32,
    /// Bytes, frames, packed parameters or an aggregation's id, depending on the kind.
    pub arg: u64,
}

/// One D statement: how the consumer handles the records of `actions`.
#[derive(Clone, Debug, PartialEq)]
pub struct Statement {
    /// A range of [`Clause::actions`].
    pub actions: Range<usize>,
    /// The statement's output, or its effect in the consumer.
    pub kind: StatementKind,
}

/// Kind of a statement for the consumer.
#[derive(Clone, Debug, PartialEq)]
pub enum StatementKind {
    /// Nothing to print: an assignment, an aggregation.
    Silent,
    /// trace(): one record.
    Trace(Display),
    /// print(): one record, and the name of its type. The records of the memory that the value refers to follow.
    Print {
        /// Meaning of the record's bytes.
        shape: shape::Shape,
        /// Type of the value: `struct page`.
        type_name: String,
    },
    /// print(args) and print(locals): the records of each value as of print(), in order.
    PrintAll(Vec<PrintedLine>),
    /// printf(): one record for each argument of the format.
    Printf(Format),
    /// system(): the formatted text is a command to run.
    System(Format),
    /// freopen(): the formatted text is the path of the new output; empty to return to the first one.
    Freopen(Format),
    /// One Printa action for each aggregation id.
    Printa {
        /// Format of a row; `None` for the default one.
        format: Option<Format>,
        /// Ids from 1, as many as columns.
        aggregations: Vec<u32>,
    },
    /// stack(): kernel addresses, followed by 0 if there are fewer than requested.
    Stack,
    /// ustack(): the process id, and addresses as in a kernel stack.
    Ustack,
    /// sym func mod usym ufunc umod uaddr as statements.
    Sym(Display),
    /// tracemem(): the bytes, after a record with their number if it is dynamic.
    Tracemem,
    /// printm(): a length, and the bytes.
    Printm,
    /// exit(): one record, the status.
    Exit,
    /// clear(): the id of the aggregation.
    Clear(u32),
    /// trunc(): the id of the aggregation; the action's record is the count, if given.
    Trunc {
        /// Id from 1.
        aggregation: u32,
        /// Whether a count is given: it is the number of largest values to keep or, if negative, of smallest ones.
        count: bool,
    },
    /// normalize(): the id of the aggregation; the action's record is the divisor.
    Normalize(u32),
    /// denormalize(): the id of the aggregation.
    Denormalize(u32),
    /// setopt(): a record for the name, and one for the value, if given.
    Setopt,
    /// ftruncate(): empties the output.
    Ftruncate,
    /// Not in the program: pid, tid and execname, for output that draws threads.
    Thread,
}

/// One line of print(args) or print(locals).
#[derive(Clone, Debug, PartialEq)]
pub enum PrintedLine {
    /// The function that the following variables belong to.
    Function(String),
    /// A variable with a record.
    Value {
        /// Name in C.
        name: String,
        /// Type in C.
        type_name: String,
        /// Meaning of the record's bytes.
        shape: shape::Shape,
        /// The number of records that follow the value's, with memory that it refers to.
        referents: usize,
    },
    /// An unavailable variable, with the reason in place of a value.
    Missing {
        /// Name in C.
        name: String,
        /// Type in C.
        type_name: String,
        /// The reason, printed after `is not available:`.
        why: String,
    },
}

/// How a recorded value is shown without a format.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Display {
    /// A value of 1, 2, 4 or 8 bytes.
    Int {
        /// Whether the highest bit is the sign.
        signed: bool,
    },
    /// A floating-point number of 4 or 8 bytes.
    Float,
    /// Text up to a NUL.
    String,
    /// A struct, union or array.
    Bytes,
    /// Kernel addresses, the innermost first.
    Stack,
    /// The process id, and addresses in the process, the innermost first.
    Ustack,
    /// An address in kernel code, as `` module`symbol+0xoff ``.
    Address {
        /// Whether it is a return address, or in an inlined copy: the first address of a stack.
        called: bool,
    },
    /// `` module`symbol ``
    Sym {
        /// As in `Address`.
        called: bool,
    },
    /// The module of a kernel address: `` module ``
    Mod,
    /// A process id and an address in it, as `` object`symbol ``
    Usym,
    /// A process id and an address in it, as `` object ``
    Umod,
    /// A process id and an address in it, as `` object`symbol+0xoff ``
    Uaddr,
}

/// A printf format, checked against its arguments.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Format {
    /// Text and conversions in order.
    pub pieces: Vec<FormatPiece>,
}

/// A part of a format.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FormatPiece {
    /// Bytes printed unchanged; `%%` has become one `%`.
    Text(Vec<u8>),
    /// One to three arguments.
    Conversion(Conversion),
}

/// `%[flags][width][.precision]conversion`; takes its arguments in order: width, precision, value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Conversion {
    /// `#`: `0x` or `0` before the digits.
    pub alternate: bool,
    /// `+`: a sign before positive numbers too.
    pub plus: bool,
    /// `-`: the value is left-aligned in its field.
    pub minus: bool,
    /// A space before positive numbers.
    pub space: bool,
    /// `0`: zeros fill the field.
    pub zero: bool,
    /// `'`: a comma after every three digits.
    pub grouping: bool,
    /// `@`: the value of an aggregation (printa).
    pub aggregation: bool,
    /// Minimum number of columns of the field.
    pub width: Count,
    /// Minimum number of digits, or maximum number of characters of a string.
    pub precision: Count,
    /// The letter: a A c C d i u o x X p s S k T Y P I e f g …
    pub letter: char,
    /// Whether the integer argument is signed; d and i widen it accordingly.
    pub signed: bool,
    /// Number of significant bytes of the integer argument (hd 2, ld 8 …); 0 for all.
    pub size: u8,
}

/// A width or a precision.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Count {
    /// Neither digits nor `*`.
    #[default]
    None,
    /// Digits in the format.
    Fixed(u32),
    /// `*`: the next argument.
    Argument,
}
