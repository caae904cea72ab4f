//! dif/program.rs: a compiled program: objects, variables, aggregations, clauses, and the meaning of their records.

use std::ops::Range;

use super::action::ActionKind;
use super::shape;
use kinst_base::probe::Description;
use kinst_base::uapi;

/// The most bytes of a by-reference variable that is not a string.
pub const MAX_VALUE: u32 = uapi::MAX_VALUE;
/// The most bytes of tracemem() and printm().
pub const MAX_TRACEMEM: u32 = uapi::MAX_TRACEMEM;
/// The most frames of stack() and ustack().
pub const MAX_FRAMES: u32 = uapi::MAX_FRAMES;

/// A compiled program: what the kernel runs, and how the consumer reads its records.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Program {
    pub difos: Vec<Difo>,
    /// User variables of the whole program, one entry for each (scope, id).
    pub variables: Vec<Variable>,
    /// Indexed by id − 1.
    pub aggregations: Vec<Aggregation>,
    pub clauses: Vec<Clause>,
}

/// Settings that the kernel gets with the program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Options {
    /// The size of one CPU's principal buffer in bytes.
    pub bufsize: u64,
    pub aggsize: u64,
    pub dynvarsize: u64,
    pub specsize: u64,
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
    /// Whether the oldest records of a full buffer make room for new ones.
    pub overwrite: bool,
    /// Whether to use only breakpoints, without replacing them by jumps.
    pub nojump: bool,
    /// Each kinst probe is taken away at its first hit.
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
    pub ints: Vec<u64>,
    /// NUL-terminated strings; offset 0 is the empty string. Empty if no string is used.
    pub strings: Vec<u8>,
    /// The variables that this object reads or writes, in order of first use, for its listing.
    pub variables: Vec<Variable>,
    pub rtype: Type,
}

/// A D type in DIF's terms.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Type {
    pub kind: TypeKind,
    pub ctf: CtfKind,
    /// Whether the value is an address, at which there are `size` bytes.
    pub by_ref: bool,
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

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TypeKind {
    #[default]
    D,
    String,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(u8)]
pub enum CtfKind {
    #[default]
    Unknown = 0,
    Integer = 1,
    Float = 2,
    Pointer = 3,
    Array = 4,
    Function = 5,
    Struct = 6,
    Union = 7,
    Enum = 8,
    Forward = 9,
    Typedef = 10,
    Volatile = 11,
    Const = 12,
    Restrict = 13,
}

impl CtfKind {
    pub fn from_number(number: u8) -> Option<CtfKind> {
        use CtfKind::*;
        let kinds = [
            Unknown, Integer, Float, Pointer, Array, Function, Struct, Union, Enum, Forward, Typedef,
            Volatile, Const, Restrict,
        ];
        kinds.get(usize::from(number)).copied()
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Variable {
    pub name: String,
    pub id: u32,
    pub kind: VariableKind,
    pub scope: Scope,
    pub read: bool,
    pub written: bool,
    pub ty: Type,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum VariableKind {
    Array = 0,
    Scalar = 1,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Scope {
    Global = 0,
    Thread = 1,
    Local = 2,
}

/// An aggregation variable.
#[derive(Clone, Debug, PartialEq)]
pub struct Aggregation {
    pub name: String,
    /// An aggregating kind.
    pub function: ActionKind,
    /// The packed parameters of lquantize and llquantize.
    pub arg: u64,
    /// How to print each key.
    pub keys: Vec<Display>,
    /// The variable that each key is in the program; `None` for other expressions.
    pub key_names: Vec<Option<String>>,
    /// The text of each key in the program, which names it.
    pub key_texts: Vec<String>,
    /// Whether the aggregated value is signed (count is not).
    pub signed: bool,
    /// Whether the values that are added have types without negative numbers.
    pub grows: bool,
}

impl Aggregation {
    /// The name as it is written after the `@`: that of `@` itself is empty.
    pub fn written(&self) -> &str {
        if self.name == "_" { "" } else { &self.name }
    }
}

/// One clause after sugar: an enabling.
#[derive(Clone, Debug, PartialEq)]
pub struct Clause {
    pub probes: Vec<Description>,
    pub predicate: Option<DifoIndex>,
    pub actions: Vec<Action>,
    /// The statements in order; together they cover `actions`.
    pub statements: Vec<Statement>,
    /// Whether a record is written even if no action records anything (no actions, or printf without arguments).
    pub record: bool,
    /// Whether it is one of several that a clause with `if` was made into: it has a row only for what it shows.
    pub part: bool,
}

/// One step of a clause, as the kernel sees it (struct kinst_action).
#[derive(Clone, Debug, PartialEq)]
pub struct Action {
    pub kind: ActionKind,
    pub difo: Option<DifoIndex>,
    /// For an aggregating action, the number of actions just before this one that form its key.
    pub ntuple: u16,
    /// For the quantize family, the increment.
    pub incr: Option<DifoIndex>,
    /// For an aggregating action, the id of the aggregation, from 1.
    pub agg: u32,
    pub arg: u64,
}

/// One D statement: how the consumer handles the records of `actions`.
#[derive(Clone, Debug, PartialEq)]
pub struct Statement {
    /// A range of [`Clause::actions`].
    pub actions: Range<usize>,
    pub kind: StatementKind,
}

#[derive(Clone, Debug, PartialEq)]
pub enum StatementKind {
    /// Nothing to print: an assignment, an aggregation.
    Silent,
    /// trace(): one record.
    Trace(Display),
    /// print(): one record, and the name of its type.
    Print {
        shape: shape::Shape,
        type_name: String,
    },
    /// print(args) and print(locals): one record for each value, in order.
    PrintAll(Vec<PrintedLine>),
    Printf(Format),
    /// system() and freopen(): the formatted text is run, or opened.
    System(Format),
    Freopen(Format),
    /// One Printa action for each aggregation id.
    Printa {
        format: Option<Format>,
        aggregations: Vec<u32>,
    },
    Stack,
    Ustack,
    /// sym func mod usym ufunc umod uaddr as statements.
    Sym(Display),
    Tracemem,
    /// printm(): a length, and the bytes.
    Printm,
    Exit,
    /// The id of the aggregation.
    Clear(u32),
    /// The id of the aggregation; the action's record is the count if there is one.
    Trunc {
        aggregation: u32,
        count: bool,
    },
    Normalize(u32),
    Denormalize(u32),
    /// A record for the name, and one for the value if there is one.
    Setopt,
    Ftruncate,
    /// Not of the program: pid, tid and execname, for output that draws threads.
    Thread,
}

/// One line of print(args) or print(locals).
#[derive(Clone, Debug, PartialEq)]
pub enum PrintedLine {
    /// The function that the variables after it are of.
    Function(String),
    Value {
        name: String,
        type_name: String,
        shape: shape::Shape,
    },
    Missing {
        name: String,
        type_name: String,
        why: String,
    },
}

/// How a recorded value is shown without a format.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Display {
    /// By value, of 1, 2, 4 or 8 bytes.
    Int {
        signed: bool,
    },
    String,
    Bytes,
    Stack,
    Ustack,
    /// A place in the kernel's code, as `` module`symbol+0xoff ``.
    Address {
        /// Whether it is the place that a call returns to, or of an inlined copy: the first address of a stack.
        called: bool,
    },
    /// `` module`symbol ``
    Sym {
        /// As of `Address`.
        called: bool,
    },
    Mod,
    Usym,
    Umod,
    Uaddr,
}

/// A printf format, checked against its arguments.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Format {
    pub pieces: Vec<FormatPiece>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FormatPiece {
    Text(Vec<u8>),
    Conversion(Conversion),
}

/// `%[flags][width][.precision]conversion`; takes its arguments in order: width, precision, value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Conversion {
    pub alternate: bool,
    pub plus: bool,
    pub minus: bool,
    pub space: bool,
    pub zero: bool,
    pub grouping: bool,
    /// `@`: the value of an aggregation (printa).
    pub aggregation: bool,
    pub width: Count,
    pub precision: Count,
    /// The letter: a A c C d i u o x X p s S k T Y P I e f g …
    pub letter: char,
    /// Whether the integer argument is signed, which decides how d and i widen it.
    pub signed: bool,
    /// The number of bytes of the integer argument that count (hd 2, ld 8 …); 0 for all of it.
    pub size: u8,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Count {
    #[default]
    None,
    Fixed(u32),
    /// `*`: the next argument.
    Argument,
}
