//! parser/error.rs: the errors in a D source, and their diagnostics.

use crate::vocabulary::MACRO_VARIABLES;
use kinst_base::diag::{Diagnostic, Tag, suggest, tags};
use kinst_base::source::Span;

/// The first error in a source; it ends the compilation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ParseError {
    /// A token or character in the wrong place, or one that is missing.
    Syntax(Box<SyntaxError>),
    /// An invalid integer, character constant or string.
    Literal {
        /// The mistake in it.
        problem: LiteralError,
        /// The constant, as far as it was read.
        span: Span,
    },
    /// A use of `$name`, `$1` or `$$1` without a valid value.
    Macro {
        /// The mistake in it.
        problem: MacroError,
        /// The macro in the text.
        span: Span,
    },
    /// A control line that D does not support, or `#error`.
    Control {
        /// The mistake in it.
        problem: ControlError,
        /// The line, or the wrong word in it.
        span: Span,
    },
    /// An invalid probe description.
    Probe {
        /// The mistake in it.
        problem: ProbeError,
        /// The description, or the wrong field in it.
        span: Span,
    },
    /// `(f + 1)(x)`
    CalleeNotName {
        /// The expression before the parentheses.
        span: Span,
    },
    /// A name that cannot be called.
    Call(Box<Diagnostic>),
    /// `x / 0`, `x % 0`, `x /= 0`
    DivisionByZero {
        /// The divisor.
        span: Span,
    },
    /// `self extern int x;`
    TwoClasses {
        /// The `self`.
        first: Span,
        /// The `extern`.
        second: Span,
    },
    /// The text never names the last macro argument.
    UnusedArgument {
        /// The N of its `$N`, from 1.
        index: usize,
        /// The argument as given.
        text: String,
    },
    /// The source nests more deeply than a person would write; a deeper tree would exhaust the stack.
    TooDeep {
        /// The maximum number of levels, [`MAX_DEPTH`](super::MAX_DEPTH).
        limit: usize,
        /// A node beyond them.
        span: Span,
    },
    /// Neither a clause nor a declaration, and option empty is not set.
    Empty,
}

/// Text that the grammar does not accept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SyntaxError {
    /// The first line of the message.
    pub title: String,
    /// The place to mark.
    pub span: Span,
    /// The text next to the mark.
    pub label: String,
    /// Another place that explains the error, such as the bracket that is still open.
    pub related: Option<(Span, String)>,
    /// A way to correct it.
    pub help: Option<String>,
}

/// A mistake in a constant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LiteralError {
    /// `0x`
    NoDigits,
    /// `12ab`: letters after the digits that are not u, l, ul and so on.
    Suffix(String),
    /// `08`
    OctalDigit,
    /// An integer of more than 64 bits; if it is decimal without `u`, more than 63.
    TooLarge {
        /// Whether it fits with a `u`.
        suffix_helps: bool,
    },
    /// `1.5`
    Float,
    /// A newline before the closing `"`.
    NewlineInString,
    /// A newline before the closing `'`.
    NewlineInCharacter,
    /// The text ends before this quote.
    NotClosed(char),
    /// `''`
    EmptyCharacter,
    /// The length of the constant in bytes.
    LongCharacter(usize),
}

/// A mistake in the use of a macro.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MacroError {
    /// A name without a value; without its `$`.
    UndefinedVariable(String),
    /// `$N` although fewer arguments were given, without option defaultargs.
    UndefinedArgument {
        /// The N of `$N`.
        index: usize,
        /// The number of arguments, not counting `$0`.
        given: usize,
    },
    /// The digits of an index that does not fit a `usize`.
    IndexTooLarge(String),
    /// An argument that is an integer of more than 64 bits.
    ValueTooLarge(String),
}

/// A mistake in a control line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ControlError {
    /// `#error` with its words.
    User(String),
    /// The word after `#`.
    UnknownLine(String),
    /// The word after `#pragma D`.
    UnknownPragma(String),
    /// The wrong words after a known one.
    Malformed {
        /// The correct shape of the line, such as `#line NUMBER "FILE"`.
        shape: &'static str,
    },
    /// The text ends in the line.
    NoNewline,
}

/// A mistake in a probe description.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ProbeError {
    /// `a:b:c:d:e`, or fewer with -P, -m and -f.
    TooManyFields {
        /// The maximum number of fields: 1 with -P, 2 with -m, 3 with -f, else 4.
        most: usize,
        /// The last of them: `provider`, `module`, `function` or `name`.
        rightmost: &'static str,
        /// The number of fields in the text.
        given: usize,
    },
    /// A field with too many bytes, after macro substitution.
    FieldTooLong {
        /// `provider`, `module`, `function` or `name`.
        field: &'static str,
        /// The maximum number of bytes, without a NUL.
        limit: usize,
    },
    /// Another field than the function is in quotes.
    Quoted(&'static str),
    /// A plain number with -P, -m or -f.
    IdNotAllowed {
        /// `provider`, `module` or `function`.
        rightmost: &'static str,
    },
    /// The digits of 0, or of a number above 32 bits.
    NoSuchId(String),
    /// A field with more than one `$`.
    TwoMacros(String),
    /// `$name` or `$1` without a value, with its `$`.
    UndefinedMacro(String),
}

impl ParseError {
    /// Whether an integer constant is too large.
    pub fn is_overflow(&self) -> bool {
        matches!(self, ParseError::Literal { problem: LiteralError::TooLarge { .. }, .. })
    }

    /// Returns the tag of the message.
    pub fn tag(&self) -> Tag {
        match self {
            ParseError::Syntax(_) | ParseError::TooDeep { .. } => tags::SYNTAX,
            ParseError::Literal { problem, .. } => problem.tag(),
            ParseError::Macro { problem, .. } => problem.tag(),
            ParseError::Control { problem, .. } => problem.tag(),
            ParseError::Probe { .. } => tags::PDESC_INVAL,
            ParseError::CalleeNotName { .. } => tags::FUNC_IDENT,
            ParseError::Call(diagnostic) => diagnostic.tag,
            ParseError::DivisionByZero { .. } => tags::DIV_ZERO,
            ParseError::TwoClasses { .. } => tags::DECL_CLASS,
            ParseError::UnusedArgument { .. } => tags::MACRO_UNUSED,
            ParseError::Empty => tags::EMPTY,
        }
    }

    /// Returns the message, with its places and its help.
    pub fn diagnostic(&self) -> Diagnostic {
        let tag = self.tag();
        match self {
            ParseError::Syntax(error) => {
                let mut d = Diagnostic::error(tag, &error.title).at(error.span, &error.label);
                if let Some((span, text)) = &error.related {
                    d = d.and(*span, text);
                }
                match &error.help {
                    Some(help) => d.help(help),
                    None => d,
                }
            }
            ParseError::Literal { problem, span } => problem.diagnostic(*span),
            ParseError::Macro { problem, span } => problem.diagnostic(*span),
            ParseError::Control { problem, span } => problem.diagnostic(*span),
            ParseError::Probe { problem, span } => problem.diagnostic(*span),
            ParseError::CalleeNotName { span } => {
                Diagnostic::error(tag, "only a name can be called").at(*span, "not the name of a function")
            }
            ParseError::Call(diagnostic) => (**diagnostic).clone(),
            ParseError::DivisionByZero { span } => Diagnostic::division_by_zero(*span),
            ParseError::TwoClasses { first, second } => {
                Diagnostic::error(tag, "two storage classes in one declaration")
                    .at(*second, "the second one")
                    .and(*first, "the first one")
            }
            ParseError::TooDeep { limit, span } => {
                Diagnostic::error(tag, format!("nested more than {limit} levels deep"))
                    .at(*span, "too many levels")
                    .help("keep parts of the result in clause-local variables (this->x)")
            }
            ParseError::UnusedArgument { index, text } => {
                Diagnostic::error(tag, format!("extra argument `{text}`: ${index} is never used"))
                    .help(format!("use ${index}, leave the argument out, or allow this with -x argref"))
            }
            ParseError::Empty => Diagnostic::error(tag, "nothing to compile")
                .help("write a clause such as `BEGIN { trace(\"hello\"); }`, or allow this with -x empty"),
        }
    }
}

impl LiteralError {
    fn tag(&self) -> Tag {
        match self {
            LiteralError::NoDigits
            | LiteralError::Suffix(_)
            | LiteralError::Float
            | LiteralError::NotClosed(_) => tags::SYNTAX,
            LiteralError::OctalDigit => tags::INT_DIGIT,
            LiteralError::TooLarge { .. } => tags::INT_OFLOW,
            LiteralError::NewlineInString => tags::STR_NL,
            LiteralError::NewlineInCharacter => tags::CHR_NL,
            LiteralError::EmptyCharacter => tags::CHR_NULL,
            LiteralError::LongCharacter(_) => tags::CHR_OFLOW,
        }
    }

    fn diagnostic(&self, span: Span) -> Diagnostic {
        let error = |title: &str, label: &str| Diagnostic::error(self.tag(), title).at(span, label);
        match self {
            LiteralError::NoDigits => {
                error("a hexadecimal constant without digits", "digits 0-9 a-f are missing")
            }
            LiteralError::Suffix(suffix) => {
                error("not a number", &format!("`{suffix}` cannot follow the digits"))
                    .note("an integer may end in u, l, ll, ul or ull")
            }
            LiteralError::OctalDigit => {
                error("digit 8 or 9 in an octal constant", "a leading 0 makes it octal")
                    .help("drop the leading 0 if the number is decimal")
            }
            LiteralError::TooLarge { suffix_helps: true } => {
                error("integer constant is too large", "above 9223372036854775807, the largest signed value")
                    .help("add a `u` to make it unsigned")
            }
            LiteralError::TooLarge { suffix_helps: false } => {
                error("integer constant is too large", "does not fit 64 bits")
            }
            LiteralError::Float => error("floating-point constants are not permitted", "D has only integers"),
            LiteralError::NewlineInString => {
                error("newline in a string", "the string does not end on its line")
                    .help("close it with `\"`; a newline inside a string is written `\\n`")
            }
            LiteralError::NewlineInCharacter => {
                error("newline in a character constant", "the constant does not end on its line")
                    .help("close it with `'`; a newline is written '\\n'")
            }
            LiteralError::NotClosed(quote) => {
                error(&format!("the closing `{quote}` is missing"), "opened here, but never closed")
            }
            LiteralError::EmptyCharacter => {
                error("empty character constant", "no character between the quotes")
            }
            LiteralError::LongCharacter(bytes) => {
                error("character constant is too long", &format!("{bytes} bytes; at most 8 fit"))
                    .help("strings are written with double quotes")
            }
        }
    }
}

impl MacroError {
    fn tag(&self) -> Tag {
        match self {
            MacroError::UndefinedVariable(_) | MacroError::UndefinedArgument { .. } => tags::MACRO_UNDEF,
            MacroError::IndexTooLarge(_) | MacroError::ValueTooLarge(_) => tags::MACRO_OFLOW,
        }
    }

    fn diagnostic(&self, span: Span) -> Diagnostic {
        let error = |title: String, label: String| Diagnostic::error(self.tag(), title).at(span, label);
        match self {
            MacroError::UndefinedVariable(name) if name == "target" => unknown_target(span),
            MacroError::UndefinedVariable(name) => {
                let d = error(format!("macro variable ${name} is not defined"), "no such variable".into());
                match suggest::nearest(name, MACRO_VARIABLES) {
                    Some(near) => d.help(format!("did you mean `${near}`?")),
                    None => d.note(format!("available macro variables: ${}", MACRO_VARIABLES.join(" $"))),
                }
            }
            MacroError::UndefinedArgument { index, given } => {
                let label = match given {
                    0 => "no argument was given".to_owned(),
                    1 => "one argument was given".to_owned(),
                    n => format!("{n} arguments were given"),
                };
                error(format!("macro argument ${index} is not defined"), label)
                    .help("give it after the program, or use -x defaultargs, which makes it 0 or \"\"")
            }
            MacroError::IndexTooLarge(digits) => {
                error(format!("macro argument ${digits} is out of range"), "the index is too large".into())
            }
            MacroError::ValueTooLarge(text) => {
                error(format!("macro argument `{text}` does not fit a 64-bit integer"), "used here".into())
            }
        }
    }
}

impl ControlError {
    fn tag(&self) -> Tag {
        match self {
            ControlError::User(_) => tags::PRAGERR,
            ControlError::UnknownLine(_) => tags::PRAGCTL_INVAL,
            ControlError::UnknownPragma(_) => tags::PRAGMA_INVAL,
            ControlError::Malformed { .. } => tags::PRAGMA_MALFORM,
            ControlError::NoNewline => tags::SYNTAX,
        }
    }

    fn diagnostic(&self, span: Span) -> Diagnostic {
        let error = |title: String, label: &str| Diagnostic::error(self.tag(), title).at(span, label);
        match self {
            ControlError::User(words) => error(format!("#error: {words}"), "reported by the program"),
            ControlError::UnknownLine(word) => {
                let d = error(format!("invalid control line `#{word}`"), "not a control line of D");
                match word.as_str() {
                    "if" | "ifdef" | "ifndef" | "else" | "elif" | "endif" | "define" | "undef"
                    | "include" => d.help("-C runs the C preprocessor over the program first"),
                    word => match suggest::nearest(word, ["pragma", "error", "line", "ident"]) {
                        Some(near) => d.help(format!("did you mean `#{near}`?")),
                        None => d,
                    },
                }
            }
            ControlError::UnknownPragma(word) => {
                let d = error(format!("invalid pragma `{word}`"), "no such D pragma");
                match suggest::nearest(word, ["option", "attributes", "binding", "depends_on"]) {
                    Some(near) => d.help(format!("did you mean `#pragma D {near}`?")),
                    None => d.help("set options with `#pragma D option name=value`"),
                }
            }
            ControlError::Malformed { shape } => {
                error("malformed control line".into(), "wrong words").help(format!("write it as `{shape}`"))
            }
            ControlError::NoNewline => {
                error("the text ends inside a control line".into(), "no newline after it")
                    .help("end the line with a newline")
            }
        }
    }
}

impl ProbeError {
    fn diagnostic(&self, span: Span) -> Diagnostic {
        let error =
            |title: String, label: String| Diagnostic::error(tags::PDESC_INVAL, title).at(span, label);
        match self {
            ProbeError::TooManyFields { most, rightmost, given } => {
                let shape = [
                    "provider",
                    "provider:module",
                    "provider:module:function",
                    "provider:module:function:name",
                ];
                let d = error(
                    "overspecified probe description".into(),
                    format!("{given} fields, at most {most} here"),
                );
                match shape.get(most.wrapping_sub(1)) {
                    Some(shape) => {
                        d.note(format!("the format here is {shape}; the rightmost field is the {rightmost}"))
                    }
                    None => d,
                }
            }
            ProbeError::FieldTooLong { field, limit } => error(
                format!("{field} in the probe description is too long"),
                format!("a {field} has at most {limit} bytes"),
            ),
            ProbeError::Quoted(field) => {
                error(format!("the {field} is in quotes"), "only a function can be in quotes".into())
                    .help("quotes are for functions of C++ and Rust: pid$target:a.out:\"app::f\":entry")
            }
            ProbeError::IdNotAllowed { rightmost } => error(
                "a probe id is not allowed here".into(),
                format!("the name of a {rightmost} is expected"),
            )
            .help("use -i for ids"),
            ProbeError::NoSuchId(digits) => {
                error(format!("no probe has id {digits}"), "ids are 1 to 4294967295".into())
            }
            ProbeError::TwoMacros(field) => error(
                format!("two macros in the field `{field}`"),
                "only one macro per field is possible".into(),
            ),
            ProbeError::UndefinedMacro(name) => {
                let d = error(
                    format!("macro {name} in the probe description is not defined"),
                    "undefined macro variable".into(),
                );
                let word = name.trim_start_matches('$');
                match suggest::nearest(word, MACRO_VARIABLES) {
                    Some(near) => d.help(format!("did you mean `${near}`?")),
                    None if word.starts_with(|c: char| c.is_ascii_digit()) => d.help(
                        "give the argument after the program, or use -x defaultargs, which makes it empty",
                    ),
                    None => d,
                }
            }
        }
    }
}

/// `$target` where the kernel's id of the process is unknown.
fn unknown_target(span: Span) -> Diagnostic {
    Diagnostic::error(tags::MACRO_UNDEF, "$target is not available in a PID namespace")
        .at(span, "process ids here differ from the kernel's")
        .help("trace from outside of the container, or share the host's PID namespace with it (docker run --pid=host)")
}
