//! parser/ast.rs: the tree of a D program as it was written.
//!
//! Macro arguments are substituted, comments are dropped, and literals keep their text; parentheses have no nodes.
//! Names are not resolved.

use kinst_base::probe::Fields;
use kinst_base::source::{Span, Spanned};
use kinst_types::TagKind;

/// `P`: the type of a probe description, another one after aliases are expanded.
#[derive(Clone, Debug, PartialEq)]
pub struct Program<P = ProbeDesc> {
    pub items: Vec<Item<P>>,
}

/// An external declaration.
#[derive(Clone, Debug, PartialEq)]
pub enum Item<P = ProbeDesc> {
    Clause(Clause<P>),
    Pragma(Pragma),
    Declaration(Declaration),
    Inline(Inline),
    Translator(Translator),
    Provider(Provider),
}

/// `probes /predicate/ { body }`
#[derive(Clone, Debug, PartialEq)]
pub struct Clause<P = ProbeDesc> {
    pub probes: Vec<P>,
    pub predicate: Option<Expr>,
    /// `None` if there are no braces at all, as the command line allows.
    pub body: Option<Vec<Stmt>>,
    pub span: Span,
}

/// A probe description; an empty field matches anything. Macros are substituted, globs are kept as text.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ProbeDesc {
    pub kind: ProbeDescKind,
    pub span: Span,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum ProbeDescKind {
    Id(u32),
    Fields(Box<Fields>),
}

#[derive(Clone, Debug, PartialEq)]
pub enum Stmt {
    Expr(Expr),
    If(Box<If>),
}

/// `if (condition) then else otherwise`; the blocks keep their statements, braces or not.
#[derive(Clone, Debug, PartialEq)]
pub struct If {
    pub condition: Expr,
    pub then: Vec<Stmt>,
    /// `else if` is a list of one `If`.
    pub otherwise: Option<Vec<Stmt>>,
    pub span: Span,
}

/// `#pragma D option name=value` and the other control lines that have a meaning.
#[derive(Clone, Debug, PartialEq)]
pub enum Pragma {
    Option {
        name: Spanned<String>,
        value: Option<Spanned<String>>,
        span: Span,
    },
    /// `attributes N/D/C identifier`, or for a part of a provider: `attributes N/D/C provider name args`.
    Attributes {
        attributes: Spanned<String>,
        of: PragmaSubject,
        span: Span,
    },
    /// `binding "1.2" identifier`
    Binding {
        version: Spanned<String>,
        name: Spanned<String>,
        span: Span,
    },
    /// `depends_on class name`
    DependsOn {
        class: Spanned<String>,
        name: Spanned<String>,
        span: Span,
    },
}

/// The subject of an attributes pragma.
#[derive(Clone, Debug, PartialEq)]
pub enum PragmaSubject {
    Identifier(Spanned<String>),
    Provider { name: Spanned<String>, part: Spanned<String> },
}

/// A declaration of variables, types or both: `self int x;`, `typedef struct s { int m; } s_t;`.
#[derive(Clone, Debug, PartialEq)]
pub struct Declaration {
    pub storage: Option<Spanned<Storage>>,
    pub specs: Vec<Spanned<TypeSpec>>,
    pub declarators: Vec<Declarator>,
    pub span: Span,
    /// Whether the text comes from a file that the preprocessor included.
    pub in_header: bool,
}

/// `inline T name = value;`, `inline T name[T a, T b] = value;`
#[derive(Clone, Debug, PartialEq)]
pub struct Inline {
    pub storage: Option<Spanned<Storage>>,
    pub specs: Vec<Spanned<TypeSpec>>,
    /// The parameters are written as the keys of an associative array.
    pub declarator: Declarator,
    pub value: Expr,
    pub span: Span,
}

/// `translator output < input parameter > { member = value; … };`
#[derive(Clone, Debug, PartialEq)]
pub struct Translator {
    pub output: TypeName,
    pub input: TypeName,
    pub parameter: Spanned<String>,
    pub members: Vec<(Spanned<String>, Expr)>,
    pub span: Span,
}

/// `provider name { probe … };`
#[derive(Clone, Debug, PartialEq)]
pub struct Provider {
    pub name: Spanned<String>,
    pub probes: Vec<ProviderProbe>,
    pub span: Span,
}

/// `probe name(native) : (translated);`, `probe name(native) = alias;`
#[derive(Clone, Debug, PartialEq)]
pub struct ProviderProbe {
    pub name: Spanned<String>,
    pub native: Params,
    pub translated: Option<Params>,
    pub alias: Option<Alias>,
}

/// A probe that other systems have, in a library.
#[derive(Clone, Debug, PartialEq)]
pub enum Alias {
    /// `= "a::b:c", "d::e:f" if (condition) (value, value), …`: the places that mean the same here.
    Places(Vec<AliasPlace>),
    /// `= "text"`: there is none; the text names the nearest.
    Absent(Spanned<String>),
}

/// Some of the probes that an alias stands for.
#[derive(Clone, Debug, PartialEq)]
pub struct AliasPlace {
    pub probes: Vec<ProbeDesc>,
    /// Over the arguments of these probes, as are the values.
    pub condition: Option<Expr>,
    /// The arguments of the alias.
    pub values: Vec<Expr>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Storage {
    Auto,
    Register,
    Static,
    Extern,
    Typedef,
    SelfThread,
    This,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Expr {
    pub kind: ExprKind,
    pub span: Span,
}

#[derive(Clone, Debug, PartialEq)]
pub enum ExprKind {
    /// `text` is the literal as written, suffix included.
    Int {
        value: u64,
        text: String,
    },
    /// A character constant; `text` with its quotes.
    Char {
        value: i64,
        text: String,
    },
    /// `value` is the bytes after escapes (`\xff` is one byte, not text); `text` with its quotes, as written.
    Str {
        value: Vec<u8>,
        text: String,
    },
    Ident(String),
    /// `@name`, without the `@`; a lone `@` is `_`.
    Aggregation(String),
    /// `self` or `this`: the base of a `Member`.
    Scope(Scope),
    Unary {
        op: UnaryOp,
        operand: Box<Expr>,
    },
    Postfix {
        op: PostfixOp,
        operand: Box<Expr>,
    },
    Binary {
        op: BinaryOp,
        left: Box<Expr>,
        right: Box<Expr>,
    },
    /// `left = right`, or `left op= right`.
    Assign {
        op: Option<BinaryOp>,
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
    Call {
        callee: Spanned<String>,
        args: Vec<Expr>,
    },
    Index {
        base: Box<Expr>,
        indices: Vec<Expr>,
    },
    Member {
        base: Box<Expr>,
        arrow: bool,
        member: Spanned<String>,
    },
    Cast {
        ty: Box<TypeName>,
        operand: Box<Expr>,
    },
    SizeofType {
        ty: Box<TypeName>,
    },
    Offsetof {
        ty: Box<TypeName>,
        member: Spanned<String>,
    },
    Xlate {
        ty: Box<TypeName>,
        operand: Box<Expr>,
    },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    SelfThread,
    This,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UnaryOp {
    PreInc,
    PreDec,
    AddrOf,
    Deref,
    Plus,
    Neg,
    BitNot,
    Not,
    Sizeof,
    Stringof,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PostfixOp {
    Inc,
    Dec,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BinaryOp {
    LogOr,
    LogXor,
    LogAnd,
    BitOr,
    BitXor,
    BitAnd,
    Eq,
    Ne,
    Lt,
    Le,
    Gt,
    Ge,
    Shl,
    Shr,
    Add,
    Sub,
    Mul,
    Div,
    Rem,
}

/// A type as written, without a name declared: `struct file *`, `unsigned int [4]`.
#[derive(Clone, Debug, PartialEq)]
pub struct TypeName {
    pub specs: Vec<Spanned<TypeSpec>>,
    /// The steps from the outermost to the innermost: `char *[4]` is Array(4) of Pointer of char.
    pub derived: Vec<Derived>,
    pub span: Span,
}

impl TypeName {
    /// Whether the type name defines a struct, union or enum.
    pub fn defines(&self) -> bool {
        let params = |derived: &Derived| match derived {
            Derived::AssocArray(params) | Derived::Function(params) => {
                params.list.iter().any(|param| param.ty.defines())
            }
            Derived::Pointer { .. } | Derived::Array(_) => false,
        };
        let body = |spec: &Spanned<TypeSpec>| matches!(spec.node, TypeSpec::Record(_) | TypeSpec::Enum(_));
        self.specs.iter().any(body) || self.derived.iter().any(params)
    }
}

#[derive(Clone, Debug, PartialEq)]
pub enum TypeSpec {
    /// `void char short int long float double signed unsigned string userland const volatile restrict`
    Keyword(TypeKeyword),
    /// A typedef's name, `` module`type `` included.
    Name(String),
    /// `struct name`, `union name`, `enum name`
    Tag {
        kind: TagKind,
        name: String,
    },
    Record(Box<RecordDefinition>),
    Enum(Box<EnumDefinition>),
}

/// `struct name { members }`, `union { members }`
#[derive(Clone, Debug, PartialEq)]
pub struct RecordDefinition {
    pub kind: TagKind,
    pub name: Option<Spanned<String>>,
    pub members: Vec<MemberDeclaration>,
    /// Whether no member is aligned. A header says so; D has no word for it.
    pub packed: bool,
}

/// `int a, *b, c : 3;`
#[derive(Clone, Debug, PartialEq)]
pub struct MemberDeclaration {
    pub specs: Vec<Spanned<TypeSpec>>,
    pub members: Vec<MemberDeclarator>,
    pub span: Span,
}

/// A member; one without a declarator is the padding of an unnamed bit-field: `int : 3;`.
#[derive(Clone, Debug, PartialEq)]
pub struct MemberDeclarator {
    pub declarator: Option<Declarator>,
    pub bits: Option<Expr>,
}

/// `enum name { A, B = 2 }`
#[derive(Clone, Debug, PartialEq)]
pub struct EnumDefinition {
    pub name: Option<Spanned<String>>,
    pub enumerators: Vec<(Spanned<String>, Option<Expr>)>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TypeKeyword {
    Void,
    Char,
    Short,
    Int,
    Long,
    Float,
    Double,
    Signed,
    Unsigned,
    String,
    Userland,
    Const,
    Volatile,
    Restrict,
}

impl TypeKeyword {
    /// Returns the keyword as it is written.
    pub fn word(self) -> &'static str {
        match self {
            TypeKeyword::Void => "void",
            TypeKeyword::Char => "char",
            TypeKeyword::Short => "short",
            TypeKeyword::Int => "int",
            TypeKeyword::Long => "long",
            TypeKeyword::Float => "float",
            TypeKeyword::Double => "double",
            TypeKeyword::Signed => "signed",
            TypeKeyword::Unsigned => "unsigned",
            TypeKeyword::String => "string",
            TypeKeyword::Userland => "userland",
            TypeKeyword::Const => "const",
            TypeKeyword::Volatile => "volatile",
            TypeKeyword::Restrict => "restrict",
        }
    }
}

/// One step of a declarator.
#[derive(Clone, Debug, PartialEq)]
pub enum Derived {
    Pointer {
        qualifiers: Vec<TypeKeyword>,
    },
    /// `[n]`, or `[]`
    Array(Option<Box<Expr>>),
    /// `[int, string]`: the keys of an associative array.
    AssocArray(Params),
    Function(Params),
}

/// `(int a, char *, ...)`
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Params {
    pub list: Vec<Param>,
    /// Whether the list ends with `...`.
    pub variadic: bool,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Param {
    pub storage: Option<Spanned<Storage>>,
    pub ty: TypeName,
    pub name: Option<Spanned<String>>,
}

/// A declared name, and the derivation of its type from the specifiers.
#[derive(Clone, Debug, PartialEq)]
pub struct Declarator {
    pub name: Spanned<String>,
    pub derived: Vec<Derived>,
}
