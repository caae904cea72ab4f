//! parser/ast/expr.rs: expressions, and the types and declarators in and around them.

use kinst_base::source::{Span, Spanned};
use kinst_types::TagKind;

/// An expression.
#[derive(Clone, Debug, PartialEq)]
pub struct Expr {
    /// The operator with its operands, or the name or constant.
    pub kind: ExprKind,
    /// The whole expression; parentheses around it are included.
    pub span: Span,
}

/// The kinds of expressions.
#[derive(Clone, Debug, PartialEq)]
pub enum ExprKind {
    /// `text` is the literal as written, suffix included.
    Int {
        /// The value, without a sign.
        value: u64,
        /// Such as `0x10UL`.
        text: String,
    },
    /// A character constant; `text` with its quotes.
    Char {
        /// Up to 8 bytes; the last one is the lowest.
        value: i64,
        /// Such as `'\n'`.
        text: String,
    },
    /// `value` is the bytes after escapes (`\xff` is one byte, not text); `text` with its quotes, as written.
    Str {
        /// The bytes between the quotes; no NUL is added.
        value: Vec<u8>,
        /// Such as `"a\n"`; synthesized for `$$1`.
        text: String,
    },
    /// `name`, `` module`symbol ``
    Ident(String),
    /// `@name`, without the `@`; a lone `@` is `_`.
    Aggregation(String),
    /// `self` or `this`: the base of a `Member`.
    Scope(Scope),
    /// `op operand`
    Unary {
        /// The operator, or `sizeof` or `stringof`.
        op: UnaryOp,
        /// The expression after it.
        operand: Box<Expr>,
    },
    /// `operand++`, `operand--`
    Postfix {
        /// `++` or `--`
        op: PostfixOp,
        /// The place that changes.
        operand: Box<Expr>,
    },
    /// `left op right`
    Binary {
        /// Any operator but `,` and the assignments.
        op: BinaryOp,
        /// The operand before the operator.
        left: Box<Expr>,
        /// The operand after the operator.
        right: Box<Expr>,
    },
    /// `left = right`, or `left op= right`.
    Assign {
        /// `None` for a plain `=`.
        op: Option<BinaryOp>,
        /// The place that is written, or an aggregation with its keys.
        left: Box<Expr>,
        /// The value, or the call of an aggregating function.
        right: Box<Expr>,
    },
    /// `condition ? then : otherwise`
    Conditional {
        /// 0 is false.
        condition: Box<Expr>,
        /// The value, or an action, if the condition is not 0.
        then: Box<Expr>,
        /// The value, or an action, if the condition is 0.
        otherwise: Box<Expr>,
    },
    /// `left, right`
    Comma {
        /// Evaluated for its effect.
        left: Box<Expr>,
        /// The value of the whole.
        right: Box<Expr>,
    },
    /// `callee(args)`
    Call {
        /// A subroutine, action or aggregating function.
        callee: Spanned<String>,
        /// Empty for `f()`.
        args: Vec<Expr>,
    },
    /// `base[indices]`
    Index {
        /// An array, pointer, associative array, inline or aggregation.
        base: Box<Expr>,
        /// At least one; several are keys, or arguments of an inline.
        indices: Vec<Expr>,
    },
    /// `base.member`, `base->member`
    Member {
        /// A struct or union, a pointer to one, or a `Scope`.
        base: Box<Expr>,
        /// Whether the operator is `->`.
        arrow: bool,
        /// Name of the member, or of the variable in a scope.
        member: Spanned<String>,
    },
    /// `(ty)operand`
    Cast {
        /// The type of the result.
        ty: Box<TypeName>,
        /// The value that is converted.
        operand: Box<Expr>,
    },
    /// `sizeof (ty)`
    SizeofType {
        /// The type whose size in bytes is the value.
        ty: Box<TypeName>,
    },
    /// `offsetof (ty, member)`
    Offsetof {
        /// A struct or union.
        ty: Box<TypeName>,
        /// The member whose offset in bytes is the value.
        member: Spanned<String>,
    },
    /// `xlate <ty>(operand)`
    Xlate {
        /// The output of a translator, or a pointer to it.
        ty: Box<TypeName>,
        /// The input of the translator.
        operand: Box<Expr>,
    },
}

/// The word before `->` in the name of a variable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// `self`: thread-local variables.
    SelfThread,
    /// `this`: clause-local variables.
    This,
}

/// An operator before its operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UnaryOp {
    /// `++x`
    PreInc,
    /// `--x`
    PreDec,
    /// `&x`
    AddrOf,
    /// `*x`
    Deref,
    /// `+x`
    Plus,
    /// `-x`
    Neg,
    /// `~x`
    BitNot,
    /// `!x`
    Not,
    /// `sizeof x`
    Sizeof,
    /// `stringof x`
    Stringof,
}

/// An operator after its operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PostfixOp {
    /// `x++`
    Inc,
    /// `x--`
    Dec,
}

/// An operator between its operands, or the one in `op=`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BinaryOp {
    /// `a || b`
    LogOr,
    /// `a ^^ b`
    LogXor,
    /// `a && b`
    LogAnd,
    /// `a | b`
    BitOr,
    /// `a ^ b`
    BitXor,
    /// `a & b`
    BitAnd,
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

/// A type as written, without a name declared: `struct file *`, `unsigned int [4]`.
#[derive(Clone, Debug, PartialEq)]
pub struct TypeName {
    /// The words of the base type: `unsigned`, `int`.
    pub specs: Vec<Spanned<TypeSpec>>,
    /// The steps from the outermost to the innermost: `char *[4]` is Array(4) of Pointer of char.
    pub derived: Vec<Derived>,
    /// The whole type name; in a parameter, with the parameter's name.
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

/// A word, name or definition of a base type.
#[derive(Clone, Debug, PartialEq)]
pub enum TypeSpec {
    /// `void char short int long float double signed unsigned string userland const volatile restrict`
    Keyword(TypeKeyword),
    /// A typedef's name, `` module`type `` included.
    Name(String),
    /// `struct name`, `union name`, `enum name`
    Tag {
        /// The keyword.
        kind: TagKind,
        /// The word after it, `` module`name `` included.
        name: String,
    },
    /// `struct name { int m; }`
    Record(Box<RecordDefinition>),
    /// `enum name { A, B = 2 }`
    Enum(Box<EnumDefinition>),
}

/// `struct name { members }`, `union { members }`
#[derive(Clone, Debug, PartialEq)]
pub struct RecordDefinition {
    /// `Struct` or `Union`.
    pub kind: TagKind,
    /// The tag; `None` if there is none.
    pub name: Option<Spanned<String>>,
    /// At least one declaration.
    pub members: Vec<MemberDeclaration>,
    /// Whether no member is aligned. Only a header can declare that; D has no syntax for it.
    pub packed: bool,
}

/// `int a, *b, c : 3;`
#[derive(Clone, Debug, PartialEq)]
pub struct MemberDeclaration {
    /// The type before the declarators.
    pub specs: Vec<Spanned<TypeSpec>>,
    /// Empty for a struct or union without a name, whose members belong to the enclosing one.
    pub members: Vec<MemberDeclarator>,
    /// From the type to the semicolon.
    pub span: Span,
}

/// A member; without a declarator, the padding of an unnamed bit-field: `int : 3;`.
#[derive(Clone, Debug, PartialEq)]
pub struct MemberDeclarator {
    /// The member's name, and the derivation of its type.
    pub declarator: Option<Declarator>,
    /// The length of a bit-field, a constant; `None` for any other member.
    pub bits: Option<Expr>,
}

/// `enum name { A, B = 2 }`
#[derive(Clone, Debug, PartialEq)]
pub struct EnumDefinition {
    /// The tag; `None` if there is none.
    pub name: Option<Spanned<String>>,
    /// Names with their values; `None`: one more than the preceding name's, or 0.
    pub enumerators: Vec<(Spanned<String>, Option<Expr>)>,
}

/// A keyword in a type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TypeKeyword {
    /// `void`
    Void,
    /// `char`
    Char,
    /// `short`
    Short,
    /// `int`
    Int,
    /// `long`
    Long,
    /// `float`
    Float,
    /// `double`
    Double,
    /// `signed`
    Signed,
    /// `unsigned`
    Unsigned,
    /// `string`
    String,
    /// `userland`: pointers in the type point into the memory of the process.
    Userland,
    /// `const`
    Const,
    /// `volatile`
    Volatile,
    /// `restrict`
    Restrict,
}

impl TypeKeyword {
    /// Returns the keyword as written.
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
    /// `*`, `* const`
    Pointer {
        /// The words after the `*`; they have no effect.
        qualifiers: Vec<TypeKeyword>,
    },
    /// `[n]`, or `[]`
    Array(Option<Box<Expr>>),
    /// `[int, string]`: the keys of an associative array.
    AssocArray(Params),
    /// `(int, char *)`: the parameters of a function.
    Function(Params),
}

/// `(int a, char *, ...)`
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Params {
    /// Empty for `()` and `(...)`.
    pub list: Vec<Param>,
    /// Whether the list ends with `...`.
    pub variadic: bool,
}

/// `register int a`: a parameter, or a key of an associative array.
#[derive(Clone, Debug, PartialEq)]
pub struct Param {
    /// `register`; the checker refuses any other.
    pub storage: Option<Spanned<Storage>>,
    /// The type, with the derivation of the declarator.
    pub ty: TypeName,
    /// `None` as in `(int, char *)`.
    pub name: Option<Spanned<String>>,
}

/// A declared name, and the derivation of its type from the specifiers.
#[derive(Clone, Debug, PartialEq)]
pub struct Declarator {
    /// The name in the middle: `x` of `*x[4]`.
    pub name: Spanned<String>,
    /// The steps from the outermost to the innermost, as in a [`TypeName`].
    pub derived: Vec<Derived>,
}

/// A storage class, or a scope in its place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Storage {
    /// `auto`, which the checker refuses.
    Auto,
    /// `register`, which only a parameter may have.
    Register,
    /// `static`, which the checker refuses.
    Static,
    /// `extern`: a symbol of the kernel.
    Extern,
    /// `typedef`: the name of a type.
    Typedef,
    /// `self`: a thread-local variable.
    SelfThread,
    /// `this`: a clause-local variable.
    This,
}
