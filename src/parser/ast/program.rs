//! parser/ast/program.rs: a program, its clauses, and its declarations.

use super::expr::{Declarator, Expr, Params, Storage, TypeName, TypeSpec};
use kinst_base::probe::Fields;
use kinst_base::source::{Span, Spanned};

/// `P`: the type of a probe description; a different type after aliases are expanded.
#[derive(Clone, Debug, PartialEq)]
pub struct Program<P = ProbeDesc> {
    /// External declarations in text order; a pragma inside one of them precedes it.
    pub items: Vec<Item<P>>,
}

/// An external declaration.
#[derive(Clone, Debug, PartialEq)]
pub enum Item<P = ProbeDesc> {
    /// `probes /predicate/ { body }`
    Clause(Clause<P>),
    /// `#pragma D option name=value`
    Pragma(Pragma),
    /// `self int x;`
    Declaration(Declaration),
    /// `inline T name = value;`
    Inline(Inline),
    /// `translator output < input parameter > { member = value; … };`
    Translator(Translator),
    /// `provider name { probe … };`
    Provider(Provider),
}

/// `probes /predicate/ { body }`
#[derive(Clone, Debug, PartialEq)]
pub struct Clause<P = ProbeDesc> {
    /// Descriptions, separated by commas.
    pub probes: Vec<P>,
    /// The expression between the slashes; `None`: the clause always runs.
    pub predicate: Option<Expr>,
    /// `None` without braces, as the command line allows.
    pub body: Option<Vec<Stmt>>,
    /// The whole clause, from its first description on.
    pub span: Span,
}

/// A probe description; an empty field matches anything. Macros are substituted, globs are kept as text.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ProbeDesc {
    /// The probe's id, or the fields.
    pub kind: ProbeDescKind,
    /// The description in the text; in an alias, the string with its quotes.
    pub span: Span,
}

/// The two kinds of probe descriptions.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum ProbeDescKind {
    /// A plain number, from 1.
    Id(u32),
    /// `provider:module:function:name`; a shorter one lacks the first fields.
    Fields(Box<Fields>),
}

/// A statement of a body. Empty statements are dropped.
#[derive(Clone, Debug, PartialEq)]
pub enum Stmt {
    /// `expression;`
    Expr(Expr),
    /// `if (condition) …`
    If(Box<If>),
}

/// `if (condition) then else otherwise`; the blocks are lists of statements, with or without braces.
#[derive(Clone, Debug, PartialEq)]
pub struct If {
    /// The expression in parentheses; 0 is false.
    pub condition: Expr,
    /// Statements that run if the condition is not 0.
    pub then: Vec<Stmt>,
    /// `else if` is a list of one `If`.
    pub otherwise: Option<Vec<Stmt>>,
    /// From `if` to the end of the last branch.
    pub span: Span,
}

/// `#pragma D option name=value` and the other control lines with a meaning.
#[derive(Clone, Debug, PartialEq)]
pub enum Pragma {
    /// `option name`, `option name=value`
    Option {
        /// The option's name, which may be unknown.
        name: Spanned<String>,
        /// The rest of the word after `=`; `None` without a `=`.
        value: Option<Spanned<String>>,
        /// The whole line.
        span: Span,
    },
    /// `attributes N/D/C identifier`, or for a part of a provider: `attributes N/D/C provider name args`.
    Attributes {
        /// Three words with slashes between them, such as `Stable/Evolving/Common`, not checked yet.
        attributes: Spanned<String>,
        /// The identifier or part of a provider that the attributes apply to.
        of: PragmaSubject,
        /// The whole line.
        span: Span,
    },
    /// `binding "1.2" identifier`
    Binding {
        /// The string without its quotes, not checked yet.
        version: Spanned<String>,
        /// A variable, inline or extern symbol of the program.
        name: Spanned<String>,
        /// The whole line.
        span: Span,
    },
    /// `depends_on class name`
    DependsOn {
        /// `provider`, `module` or `library`, not checked yet.
        class: Spanned<String>,
        /// Name of the provider, kernel module or library file.
        name: Spanned<String>,
        /// The whole line.
        span: Span,
    },
}

/// The subject of an attributes pragma.
#[derive(Clone, Debug, PartialEq)]
pub enum PragmaSubject {
    /// A variable, inline or extern symbol of the program.
    Identifier(Spanned<String>),
    /// `provider name part`
    Provider {
        /// The provider's name, such as `io`.
        name: Spanned<String>,
        /// `provider`, `module`, `function`, `name` or `args`, in either case; not checked yet.
        part: Spanned<String>,
    },
}

/// A declaration of variables, types or both: `self int x;`, `typedef struct s { int m; } s_t;`.
#[derive(Clone, Debug, PartialEq)]
pub struct Declaration {
    /// The scope of variables, or another storage class; `None` for global variables.
    pub storage: Option<Spanned<Storage>>,
    /// The type before the declarators: `unsigned int`.
    pub specs: Vec<Spanned<TypeSpec>>,
    /// Declared names; empty if only a struct, union or enum is declared.
    pub declarators: Vec<Declarator>,
    /// From the first word to the semicolon.
    pub span: Span,
    /// Whether the text comes from a file that the preprocessor included.
    pub in_header: bool,
}

/// `inline T name = value;`, `inline T name[T a, T b] = value;`
#[derive(Clone, Debug, PartialEq)]
pub struct Inline {
    /// A storage class, which the checker refuses.
    pub storage: Option<Spanned<Storage>>,
    /// The type before the name.
    pub specs: Vec<Spanned<TypeSpec>>,
    /// The parameters are written as the keys of an associative array.
    pub declarator: Declarator,
    /// The expression that replaces each use of the name.
    pub value: Expr,
    /// From `inline` to the semicolon.
    pub span: Span,
}

/// `translator output < input parameter > { member = value; … };`
#[derive(Clone, Debug, PartialEq)]
pub struct Translator {
    /// The struct or union that it produces.
    pub output: TypeName,
    /// The type that it reads.
    pub input: TypeName,
    /// Name of the input in the values.
    pub parameter: Spanned<String>,
    /// Members of the output with their values; some may be left out.
    pub members: Vec<(Spanned<String>, Expr)>,
    /// From `translator` to the semicolon.
    pub span: Span,
}

/// `provider name { probe … };`
#[derive(Clone, Debug, PartialEq)]
pub struct Provider {
    /// The provider's name, such as `io`.
    pub name: Spanned<String>,
    /// Its probes, in text order.
    pub probes: Vec<ProviderProbe>,
    /// From `provider` to the semicolon.
    pub span: Span,
}

/// `probe name(native) : (translated);`, `probe name(native) = alias;`
#[derive(Clone, Debug, PartialEq)]
pub struct ProviderProbe {
    /// The probe's name as written: `__` means `-`.
    pub name: Spanned<String>,
    /// The arguments that the probe passes.
    pub native: Params,
    /// The types of `args[]`; `None`: those of `native`.
    pub translated: Option<Params>,
    /// The right side of `=`, which only a library may have.
    pub alias: Option<Alias>,
}

/// A probe of other systems, declared in a library.
#[derive(Clone, Debug, PartialEq)]
pub enum Alias {
    /// `= "a::b:c", "d::e:f" if (condition) (value, value), …`: the equivalent places here.
    Places(Vec<AliasPlace>),
    /// `= "text"`: no equivalent exists; the text names the nearest probe.
    Absent(Spanned<String>),
}

/// Some of the probes that an alias stands for.
#[derive(Clone, Debug, PartialEq)]
pub struct AliasPlace {
    /// Descriptions of this system's probes, each written as a string.
    pub probes: Vec<ProbeDesc>,
    /// A condition over the arguments of these probes, which the values use too.
    pub condition: Option<Expr>,
    /// The arguments of the alias.
    pub values: Vec<Expr>,
}
