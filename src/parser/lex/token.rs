//! parser/lex/token.rs: the tokens that logos reads in each mode, and the tokens that the grammar sees.

use logos::Logos;

use crate::parser::ast::{Storage, TypeKeyword};
use kinst_types::TagKind;

/// Between external declarations: probe specifiers, and the words that open a declaration.
#[derive(Logos, Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum OuterToken {
    #[regex(r"[0-9]+", priority = 4)]
    Number,
    /// One token per specifier, colons and globs included; `#` and `@` distinguish namesakes (`f#2`,
    /// `f:file.c@12`), `+` separates the target of a branch (`f:12-f.cold+4`).
    #[regex(r"[\-$:A-Za-z_.?*\\\[\]!][\-$:A-Za-z0-9_.?*\\\[\]!`#@+]*")]
    /// With the directories of a file: `f:linux/file.h@12`. No predicate begins this way: `@` means nothing in an
    /// expression.
    #[regex(r"[\-$:A-Za-z_.?*\\\[\]!][\-$:A-Za-z0-9_.?*\\\[\]!`#@+]*(/[A-Za-z0-9_.+\-]+)+@[0-9]+")]
    /// With the path of a program's file: `uprobe:/usr/bin/x:main:entry`. The words of other tracers get a better
    /// message later.
    #[regex(r"(u(ret)?probes?|usdt|pid[$A-Za-z0-9_]*|[A-Za-z_][A-Za-z0-9_.]*(\$+[A-Za-z0-9_]+|[0-9])):(/[^\s:/{};,]+)+:[\-$:A-Za-z0-9_.?*\\\[\]!`#@+]*")]
    #[regex(r"(u(ret)?probes?|usdt|pid[$A-Za-z0-9_]*|[A-Za-z_][A-Za-z0-9_.]*(\$+[A-Za-z0-9_]+|[0-9])):(/[^\s:/{};,]+)+:[\-$:A-Za-z0-9_.?*\\\[\]!`#@+]*(/[A-Za-z0-9_.+\-]+)+@[0-9]+")]
    /// With a function of C++ or Rust in quotes: `pid$target::"P::sum":entry`.
    #[regex(r#"([\-$:A-Za-z_.?*\\\[\]!][\-$:A-Za-z0-9_.?*\\\[\]!`#@+]*:)?"[^"\n]*"(:[\-$:A-Za-z0-9_.?*\\\[\]!`#@+]*((/[A-Za-z0-9_.+\-]+)+@[0-9]+)?)?"#)]
    #[regex(r#"(u(ret)?probes?|usdt|pid[$A-Za-z0-9_]*|[A-Za-z_][A-Za-z0-9_.]*(\$+[A-Za-z0-9_]+|[0-9])):(/[^\s:/{};,]+)+:"[^"\n]*"(:[\-$:A-Za-z0-9_.?*\\\[\]!`#@+]*((/[A-Za-z0-9_.+\-]+)+@[0-9]+)?)?"#)]
    Spec,
    #[token(",")]
    Comma,
    #[token("/")]
    Slash,
    #[token("{")]
    LBrace,
}

/// Predicates, bodies, declarations.
#[derive(Logos, Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BodyToken {
    #[regex(r"[A-Za-z_`][A-Za-z0-9_`]*")]
    /// Includes modules whose name begins with a digit: `` 8021q`vlan_proto ``.
    #[regex(r"[0-9][0-9A-Za-z_]*`[A-Za-z0-9_`]*")]
    Word,
    /// Digits and the letters attached to them; literal.rs decides which of them are numbers.
    #[regex(r"[0-9][0-9A-Za-z_]*", priority = 3)]
    Number,
    #[regex(r"[0-9]+\.[0-9]*([eE][+\-]?[0-9]+)?", priority = 4)]
    #[regex(r"\.[0-9]+([eE][+\-]?[0-9]+)?", priority = 4)]
    #[regex(r"[0-9]+[eE][+\-]?[0-9]+", priority = 4)]
    Float,
    #[regex(r"@([A-Za-z_`][A-Za-z0-9_`]*)?")]
    Aggregation,
    #[regex(r"\$\$?[A-Za-z_][A-Za-z0-9_]*")]
    MacroVariable,
    #[regex(r"\$\$?[0-9]+")]
    MacroArgument,
    #[token("\"")]
    DoubleQuote,
    #[token("'")]
    SingleQuote,
    #[token("(")]
    LParen,
    #[token(")")]
    RParen,
    #[token("[")]
    LBracket,
    #[token("]")]
    RBracket,
    #[token("{")]
    LBrace,
    #[token("}")]
    RBrace,
    #[token(";")]
    Semi,
    #[token(",")]
    Comma,
    #[token(".")]
    Dot,
    #[token("...")]
    Ellipsis,
    #[token("->")]
    Arrow,
    #[token("++")]
    Increment,
    #[token("--")]
    Decrement,
    #[token("+")]
    Plus,
    #[token("-")]
    Minus,
    #[token("*")]
    Star,
    #[token("/")]
    Slash,
    #[token("%")]
    Percent,
    #[token("&")]
    And,
    #[token("|")]
    Or,
    #[token("^")]
    Xor,
    #[token("~")]
    Tilde,
    #[token("!")]
    Not,
    #[token("<<")]
    Shl,
    #[token(">>")]
    Shr,
    #[token("<")]
    Lt,
    #[token("<=")]
    Le,
    #[token(">")]
    Gt,
    #[token(">=")]
    Ge,
    #[token("==")]
    Eq,
    #[token("!=")]
    Ne,
    #[token("&&")]
    AndAnd,
    #[token("||")]
    OrOr,
    #[token("^^")]
    XorXor,
    #[token("?")]
    Question,
    #[token(":")]
    Colon,
    #[token("=")]
    Assign,
    #[token("+=")]
    PlusAssign,
    #[token("-=")]
    MinusAssign,
    #[token("*=")]
    StarAssign,
    #[token("/=")]
    SlashAssign,
    #[token("%=")]
    PercentAssign,
    #[token("&=")]
    AndAssign,
    #[token("|=")]
    OrAssign,
    #[token("^=")]
    XorAssign,
    #[token("<<=")]
    ShlAssign,
    #[token(">>=")]
    ShrAssign,
}

/// The rest of a line that begins with `#`.
#[derive(Logos, Clone, Copy, Debug, PartialEq, Eq)]
#[logos(skip r"[ \t\r\x0b\x0c]+")]
pub(crate) enum ControlToken {
    #[regex(r"[0-9]+", priority = 4)]
    Number,
    #[regex(r#""[^"\n]*""#, priority = 5)]
    Str,
    #[regex(r"[^ \t\r\x0b\x0c\n]+", priority = 1)]
    Word,
}

/// A token as the grammar sees it: macros are substituted, and names are distinguished from types.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Token {
    /// A probe specifier as written.
    Spec(crate::parser::ast::ProbeDescKind),
    Ident(String),
    TypeName(String),
    Aggregation(String),
    Int {
        value: u64,
        text: String,
    },
    /// A macro argument such as `-5`: one token, so that `x $1` does not turn into a subtraction.
    NegativeInt {
        value: u64,
        text: String,
    },
    Char {
        value: i64,
        text: String,
    },
    Str {
        value: Vec<u8>,
        text: String,
    },
    /// The slash that ends a predicate; [`BodyToken::Slash`] is a division.
    PredicateEnd,
    TypeKeyword(TypeKeyword),
    Qualifier(TypeKeyword),
    Storage(Storage),
    /// `struct` or `union`
    Tag(TagKind),
    Enum,
    SelfScope,
    ThisScope,
    If,
    Else,
    Sizeof,
    Stringof,
    Offsetof,
    Xlate,
    Probe,
    Provider,
    Translator,
    Inline,
    /// `__attribute__((packed))`
    Packed,
    /// A reserved word without a meaning.
    Reserved(&'static str),
    /// An operator or a bracket.
    Op(BodyToken),
}

/// Returns the token of a word that is a keyword inside a body or a declaration.
pub(crate) fn keyword(word: &str) -> Option<Token> {
    Some(match word {
        "auto" => Token::Storage(Storage::Auto),
        "register" => Token::Storage(Storage::Register),
        "static" => Token::Storage(Storage::Static),
        "extern" => Token::Storage(Storage::Extern),
        "typedef" => Token::Storage(Storage::Typedef),
        "void" => Token::TypeKeyword(TypeKeyword::Void),
        "char" => Token::TypeKeyword(TypeKeyword::Char),
        "short" => Token::TypeKeyword(TypeKeyword::Short),
        "int" => Token::TypeKeyword(TypeKeyword::Int),
        "long" => Token::TypeKeyword(TypeKeyword::Long),
        "float" => Token::TypeKeyword(TypeKeyword::Float),
        "double" => Token::TypeKeyword(TypeKeyword::Double),
        "signed" | "__signed" | "__signed__" => Token::TypeKeyword(TypeKeyword::Signed),
        "unsigned" => Token::TypeKeyword(TypeKeyword::Unsigned),
        "string" => Token::TypeKeyword(TypeKeyword::String),
        "userland" => Token::TypeKeyword(TypeKeyword::Userland),
        "const" | "__const" | "__const__" => Token::Qualifier(TypeKeyword::Const),
        "volatile" | "__volatile" | "__volatile__" => Token::Qualifier(TypeKeyword::Volatile),
        "restrict" | "__restrict" | "__restrict__" => Token::Qualifier(TypeKeyword::Restrict),
        "struct" => Token::Tag(TagKind::Struct),
        "union" => Token::Tag(TagKind::Union),
        "enum" => Token::Enum,
        "self" => Token::SelfScope,
        "this" => Token::ThisScope,
        "if" => Token::If,
        "else" => Token::Else,
        "sizeof" => Token::Sizeof,
        "stringof" => Token::Stringof,
        // The compiler's builtin, to which <stddef.h> expands offsetof.
        "offsetof" | "__builtin_offsetof" => Token::Offsetof,
        "xlate" => Token::Xlate,
        "probe" => Token::Probe,
        "provider" => Token::Provider,
        "translator" => Token::Translator,
        "inline" => Token::Inline,
        _ => Token::Reserved(RESERVED.iter().find(|&&r| r == word)?),
    })
}

/// Words reserved by the language, without a meaning in a body.
const RESERVED: [&str; 12] = [
    "break", "case", "continue", "counter", "default", "do", "for", "goto", "import", "return", "switch",
    "while",
];

/// Whether the word opens a declaration, between external declarations.
pub(crate) fn opens_declaration(word: &str) -> bool {
    matches!(
        word,
        "auto"
            | "char"
            | "const"
            | "counter"
            | "double"
            | "enum"
            | "extern"
            | "float"
            | "import"
            | "inline"
            | "int"
            | "long"
            | "provider"
            | "register"
            | "restrict"
            | "self"
            | "short"
            | "signed"
            | "static"
            | "string"
            | "struct"
            | "this"
            | "translator"
            | "typedef"
            | "union"
            | "unsigned"
            | "userland"
            | "void"
            | "volatile"
    )
}
