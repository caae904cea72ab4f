//! parser/lex/syntax.rs: error messages for tokens that the grammar does not accept.

use super::lexer::{Lexer, Mode};
use super::token::{BodyToken, Token};
use crate::parser::error::{ParseError, SyntaxError};
use kinst_base::source::{Origin, Span};

/// Makes the error for a misplaced token. `expected` are the grammar's names for the tokens it would accept.
pub(crate) fn unexpected(lexer: &Lexer<'_>, token: &Token, span: Span, expected: &[String]) -> ParseError {
    let place = Place { lexer, token, span, text: lexer.slice(span), expected };
    let error = meant_otherwise(&place).unwrap_or_else(|| plainly_expected(&place));
    ParseError::Syntax(Box::new(error))
}

/// A token, its span, and the tokens that the grammar would accept there.
struct Place<'a> {
    lexer: &'a Lexer<'a>,
    token: &'a Token,
    span: Span,
    text: &'a str,
    expected: &'a [String],
}

impl Place<'_> {
    fn takes(&self, name: &str) -> bool {
        self.expected.iter().any(|e| e.trim_matches('"') == name)
    }

    /// Whether an operand could come here; this includes places where a statement could begin.
    fn takes_operand(&self) -> bool {
        self.takes("integer") && self.takes("name")
    }

    fn takes_statement(&self) -> bool {
        self.takes_operand() && self.takes("if")
    }

    /// Whether a complete expression precedes.
    fn after_expression(&self) -> bool {
        self.takes("&&") && !self.takes_operand()
    }

    fn error(&self, title: impl Into<String>, label: &str) -> SyntaxError {
        SyntaxError {
            title: title.into(),
            span: self.span,
            label: label.to_owned(),
            related: None,
            help: None,
        }
    }

    fn expected(&self, wanted: &str, label: &str) -> SyntaxError {
        self.error(format!("expected {wanted}, found `{}`", shorten(self.text)), label)
    }

    fn before(&self) -> &str {
        self.lexer.slice(self.lexer.before)
    }
}

/// Recognizes common mistakes: the token shows the intent.
fn meant_otherwise(place: &Place<'_>) -> Option<SyntaxError> {
    let text = place.text;
    if place.lexer.rest_at(place.span).starts_with("//") && !place.takes("end of predicate") {
        let ParseError::Syntax(error) = double_slash(place.span) else { return None };
        return Some(*error);
    }
    if let Some(help) = reserved_help(place) {
        return Some(place.error(format!("unexpected `{text}`"), "not expected here").with_help(&help));
    }
    match place.token {
        Token::Op(BodyToken::LBrace | BodyToken::Semi) if place.lexer.mode == Mode::Predicate => {
            return Some(open_predicate(place));
        }
        Token::Op(BodyToken::LBrace) if place.takes("end of predicate") => {
            return Some(open_predicate(place));
        }
        Token::Op(BodyToken::LBrace) if place.takes(";") && place.lexer.mode == Mode::Body => {
            let error = place.error("a clause cannot begin inside of a body", "not expected here");
            return Some(match place.lexer.misplaced.or(place.lexer.outer_opener()) {
                Some(open) => error.with_related(open, "this `{` is probably not closed"),
                None => error,
            });
        }
        Token::PredicateEnd => {
            let title = "the predicate is not a complete expression";
            return Some(place.error(title, "an operand is missing before this `/`"));
        }
        Token::Op(BodyToken::Assign) if place.lexer.mode == Mode::Declaration => {
            let error = place.error("a declaration cannot set a value", "D has no initialisers");
            return Some(error.with_help("assign it in a clause: BEGIN { x = 0; }"));
        }
        Token::Op(operator) if is_assignment(*operator) && place.after_expression() => {
            let error =
                place.error("the left side of an assignment is an operation", "assigns to its result");
            return Some(error.with_help("put the assignment in parentheses, or use == to compare"));
        }
        Token::Op(BodyToken::Assign) if place.before() == "==" => {
            let error = place.error("unexpected `=` after `==`", "one `=` too many");
            return Some(error.with_help("== compares; D has no ==="));
        }
        Token::Op(BodyToken::RParen) if place.takes_operand() => {
            if let Some(name) = pointer_cast(place.lexer, place.span) {
                let error = place.error(format!("unknown type `{name}`"), "the operand of `*` is missing");
                return Some(
                    error
                        .with_help(&format!("write `struct` before the name of a struct: (struct {name} *)")),
                );
            }
        }
        Token::TypeName(_) if place.takes_operand() => {
            return Some(place.error(format!("`{text}` is a type"), "an expression is needed here"));
        }
        _ => {}
    }
    keyword_otherwise(place)
}

/// Reports a keyword in place of an expression or a statement.
fn keyword_otherwise(place: &Place<'_>) -> Option<SyntaxError> {
    let text = place.text;
    let declares = matches!(
        place.token,
        Token::TypeKeyword(_) | Token::Qualifier(_) | Token::Storage(_) | Token::Tag(_) | Token::Enum
    );
    let scoped = matches!(place.before(), "self" | "this");
    if declares && (place.takes_statement() || scoped) && place.lexer.mode == Mode::Body {
        let title = format!("`{text}` begins a declaration, but a body contains only statements");
        let help = "declare the variable outside of clauses, such as: this int x;";
        return Some(place.error(title, "a declaration inside a body").with_help(help));
    }
    let keyword = declares || matches!(place.token, Token::Probe | Token::Provider | Token::Translator);
    (keyword && place.takes_operand())
        .then(|| place.error(format!("`{text}` is a keyword"), "an expression is needed here"))
}

/// Names, in a few words, what could come here.
fn plainly_expected(place: &Place<'_>) -> SyntaxError {
    let missing = |what: &str| format!("{what} is missing before this");
    let mut error = if place.takes_statement() {
        place.expected("a statement", "does not begin a statement")
    } else if place.takes_operand() {
        place.expected("an expression", "an operand is missing here")
    } else if place.takes("end of predicate") {
        place.expected("an operator or `/`", &missing("an operator"))
    } else if place.takes(":") && place.after_expression() {
        place.expected("`:` of the conditional", &missing("`:`"))
    } else if place.takes(";") && place.takes("name") {
        place.expected("a name", "not expected here")
    } else if place.takes(";") {
        let wanted = if place.takes("}") { "`;` or `}`" } else { "`;`" };
        place
            .expected(wanted, "not expected here")
            .with_related(place.lexer.before, "a `;` is missing after this")
    } else if place.takes(")") {
        let wanted = if place.takes(",") && place.after_expression() { "`)` or `,`" } else { "`)`" };
        place.expected(wanted, &missing(wanted))
    } else if place.takes("]") {
        place.expected("`]` or `,`", &missing("`]` or `,`"))
    } else if place.takes("probe description") {
        place.expected("a probe description", "not expected here")
    } else if let Some(error) = type_as_description(place) {
        error
    } else if place.takes("{") && place.takes(",") {
        place
            .expected("`,`, a predicate or a body", "not expected here")
            .with_help("a clause is probes /predicate/ { statements }, with commas between the probes")
    } else if place.takes("{") {
        place.expected("`{`", "not expected here")
    } else if place.takes("(") && place.expected.len() == 1 {
        let condition = place.before() == "if";
        let error = place.expected("`(`", &missing("`(`"));
        if condition { error.with_help("write the condition of an `if` in parentheses") } else { error }
    } else if place.takes("<") && place.expected.len() == 1 {
        place.expected("`<`", &missing("`<`"))
    } else if place.takes("name") {
        place.expected("a name", "not expected here")
    } else if place.takes("type name") {
        place.expected("a type", "not expected here")
    } else {
        place.error(format!("unexpected `{}`", shorten(place.text)), "not expected here")
    };
    let open = place.lexer.opener().filter(|(_, at)| *at != place.span);
    if let Some((_, at)) = open.filter(|_| error.related.is_none() && (place.takes(")") || place.takes("]")))
    {
        error.related = Some((at, format!("this `{}` is open", place.lexer.slice(at))));
    }
    error
}

/// Reports a declaration that begins with a type name, in a position where that begins a probe description.
fn type_as_description(place: &Place<'_>) -> Option<SyntaxError> {
    let word = place.before().split('*').next().unwrap_or_default();
    let probes = place.takes("{") && place.takes(",") && place.lexer.mode == Mode::Probes;
    if !probes || !place.lexer.names_type(word) {
        return None;
    }
    let at = place.lexer.before;
    let title = format!("`{word}` is read as a probe description, not as a type");
    let (label, help) = match place.lexer.origin {
        Origin::Script | Origin::Library => (
            "with option pspec, a type name begins a probe description",
            "leave the option out, or begin the declaration with a keyword: `unsigned long x;`",
        ),
        _ => (
            "with -n, a type name begins a probe description",
            "put the program into a file (-s FILE), or begin the declaration with a keyword: `unsigned long x;`",
        ),
    };
    Some(SyntaxError { title, span: at, label: label.to_owned(), related: None, help: Some(help.to_owned()) })
}

fn is_assignment(operator: BodyToken) -> bool {
    matches!(
        operator,
        BodyToken::Assign
            | BodyToken::PlusAssign
            | BodyToken::MinusAssign
            | BodyToken::StarAssign
            | BodyToken::SlashAssign
            | BodyToken::PercentAssign
            | BodyToken::AndAssign
            | BodyToken::OrAssign
            | BodyToken::XorAssign
            | BodyToken::ShlAssign
            | BodyToken::ShrAssign
    )
}

/// Returns the `name` of `(name *)` that ends at `span`: a cast to an unknown type.
fn pointer_cast<'a>(lexer: &Lexer<'a>, span: Span) -> Option<&'a str> {
    let before = lexer.slice(Span { start: 0, end: span.start, ..span }).trim_end();
    let name = before.trim_end_matches(|c: char| c == '*' || c.is_ascii_whitespace());
    let start = name.rfind(|c: char| !c.is_ascii_alphanumeric() && c != '_')? + 1;
    let called = name[..start].trim_end().ends_with('(') && name.len() < before.len();
    Some(&name[start..]).filter(|name| called && !name.is_empty())
}

/// Reports a predicate whose closing slash is missing, or was taken as a division.
fn open_predicate(place: &Place<'_>) -> SyntaxError {
    let error = place.error("the predicate is not closed", "a `/` is missing before this");
    match place.lexer.division {
        Some(slash) => error
            .with_related(slash, "this `/` divides: it ends a predicate only before `{`")
            .with_help("a clause with a predicate needs a body: /pid == 1/ { }"),
        None => error.with_help("write a predicate between slashes: /pid == 1/ { … }"),
    }
}

/// Reports that the text ends inside an external declaration.
pub(crate) fn unexpected_end(lexer: &Lexer<'_>, expected: &[String]) -> ParseError {
    let has = |name: &str| expected.iter().any(|e| e.trim_matches('"') == name);
    let span = lexer.end();
    let mut error = SyntaxError {
        title: "unexpected end of the program".to_owned(),
        span,
        label: "the text ends here".to_owned(),
        related: None,
        help: None,
    };
    if let Some((_, at)) = lexer.opener() {
        // If the indentation suggests it, report an inner brace as the unclosed one.
        let at = lexer.misplaced.filter(|_| lexer.slice(at) == "{").unwrap_or(at);
        let opener = lexer.slice(at);
        error.title = format!("`{opener}` is never closed");
        error.related = Some((at, format!("this `{opener}` is open")));
        error.help = Some(format!("add the closing `{}`", closer(opener)));
    } else {
        match lexer.mode {
            Mode::Predicate => {
                error.title = "the predicate is not closed".to_owned();
                error.help = Some("write a predicate between slashes: /pid == 1/ { … }".to_owned());
            }
            Mode::Probes if has("{") && !has(",") => return predicate_without_body(lexer.previous),
            Mode::Probes => {
                error.title = "expected a probe description after the comma".to_owned();
            }
            Mode::Declaration => {
                error.title = "expected `;` at the end of the declaration".to_owned();
                error.label = "a `;` is missing here".to_owned();
            }
            _ => {}
        }
    }
    ParseError::Syntax(Box::new(error))
}

/// Reports a clause without a body in a file.
pub(crate) fn missing_body(span: Span) -> ParseError {
    simple("expected a predicate or a body in `{` `}`", span, "a clause without a body")
        .help("write `{ }` for the default action; only clauses on the command line may omit the body")
}

fn predicate_without_body(span: Span) -> ParseError {
    simple("a predicate needs a body", span, "no `{` after the predicate")
        .help("write `{ }` after the predicate for the default action")
}

/// Reports a token where a clause or a declaration should begin.
pub(crate) fn no_probe_description(text: &str, rest: &str, span: Span) -> ParseError {
    if rest.starts_with("//") {
        return double_slash(span);
    }
    simple(
        &format!("expected a probe description or a declaration, found `{text}`"),
        span,
        "not the start of a clause",
    )
    .help("a clause is probes /predicate/ { statements }, such as BEGIN { trace(1); }")
}

fn double_slash(span: Span) -> ParseError {
    simple("D has no `//` comments", span, "not the start of a comment").help("comments are written /* … */")
}

/// Reports a NUL: a string ends at its first NUL, and the rest would be lost.
pub(crate) fn nul_in_literal(span: Span) -> ParseError {
    simple("NUL character in a constant", span, "the text would end here")
        .help("write it as \\0, or remove it")
}

/// Reports a module without the name of a symbol in it.
pub(crate) fn symbol_missing(span: Span) -> ParseError {
    simple("a symbol's name is missing after the backtick", span, "no name follows")
        .help("write a kernel symbol as `name, or module`name")
}

/// Reports a character that cannot begin a token.
pub(crate) fn unexpected_character(text: &str, after: &str, mode: Mode, span: Span) -> ParseError {
    let printable = |c: char| !c.is_control();
    let shown = if text.chars().all(printable) { text.to_owned() } else { text.escape_debug().to_string() };
    let title = format!("unexpected character `{shown}`");
    match (text, mode) {
        (";", Mode::Outer) => {
            simple("unexpected `;` between clauses", span, "no statement to end").help("remove it")
        }
        (";", Mode::Probes) if after == "/" => predicate_without_body(span),
        (";", Mode::Probes) => simple("unexpected `;` after a probe description", span, "not expected here")
            .help("clauses follow each other without a separator; a clause without a body ends the text"),
        ("}", Mode::Outer | Mode::Probes) => lone_closer(text, span),
        ("(" | ")", Mode::Probes) => {
            let predicate = "write a predicate between slashes: /pid == 1/ { … }";
            simple(&title, span, "not part of a probe description")
                .help(of_systemtap(after).unwrap_or(predicate))
        }
        ("=", Mode::Probes) => simple(&title, span, "a statement must be inside a clause")
            .help("write a clause such as BEGIN { x = 1; }"),
        ("$", _) => simple(&title, span, "neither a macro variable nor a macro argument")
            .help("macros are $1, $$1, $pid, $target …"),
        ("#", _) => simple(&title, span, "a control line begins at the start of a line"),
        ("“" | "”" | "„" | "«" | "»", _) => simple(&title, span, "a typographic quotation mark")
            .help("strings are written with plain double quotes: \"…\""),
        ("‘" | "’" | "‚" | "´", _) => simple(&title, span, "a typographic quotation mark").help(
            "character constants are written with plain single quotes, strings with double ones: \"…\"",
        ),
        ("–" | "—" | "−", _) => {
            simple(&title, span, "a typographic dash").help("minus is written with the plain `-`")
        }
        ("\u{a0}", _) => simple("unexpected no-break space", span, "looks like a space, but is not one")
            .help("write a plain space; the text was probably copied from a page"),
        _ => simple(&title, span, "does not begin anything in D"),
    }
}

/// Returns the spelling here of SystemTap's `kernel.function("f")`, by its first word.
fn of_systemtap(word: &str) -> Option<&'static str> {
    Some(match word.split('.').next()? {
        "process" => {
            "SystemTap's process(\"/bin/bash\").function(\"f\") is uprobe:/bin/bash:f:entry, or pid$target:a.out:f:entry"
        }
        "kernel" => {
            "SystemTap's kernel.function(\"f\") is fbt::f:entry, with its inlined copies kinst::f:entry"
        }
        "module" => {
            "SystemTap's module(\"ext4\").function(\"f\") is fbt:ext4:f:entry, with its inlined copies kinst:ext4:f:entry"
        }
        "timer" => "SystemTap's timer.s(1) is tick-1s, timer.profile is profile-997",
        _ => return None,
    })
}

pub(crate) fn lone_closer(closer: &str, span: Span) -> ParseError {
    simple(&format!("unmatched `{closer}`"), span, "no open bracket matches it")
        .help("remove it, or add the opening one")
}

pub(crate) fn wrong_closer(closer: &str, opener: &str, span: Span, opened: Span) -> ParseError {
    if opener == "{" {
        return lone_closer(closer, span);
    }
    simple(
        &format!("`{opener}` is closed by `{closer}`"),
        span,
        &format!("expected `{}`", self::closer(opener)),
    )
    .related(opened, &format!("this `{opener}` is open"))
}

pub(crate) fn open_bracket_in_predicate(opener: &str, opened: Span, span: Span) -> ParseError {
    simple("the predicate ends inside brackets", span, "this `/` ends the predicate")
        .related(opened, &format!("this `{opener}` is open"))
        .help("a slash before `{`, `;`, `/` or the end of the text always ends the predicate")
}

pub(crate) fn nested_comment(outer: Span, inner: Span) -> ParseError {
    simple("a comment inside a comment", inner, "comments do not nest")
        .related(outer, "the comment begins here")
        .help("close the first comment, or remove this `/*`")
}

pub(crate) fn open_comment(span: Span) -> ParseError {
    simple("the comment is never closed", span, "the comment begins here").help("add `*/`")
}

/// Reports `{` after the parameters of what C would call a function.
pub(crate) fn function_body(span: Span) -> ParseError {
    simple("D has no user-defined functions", span, "a body of statements")
        .help("clauses have bodies: BEGIN { … }; an inline gives an expression a name")
}

/// Returns help for C words that D reserves without a meaning, and for a misplaced `if` or `else`.
fn reserved_help(place: &Place<'_>) -> Option<String> {
    let help = match place.token {
        Token::Reserved("for" | "while" | "do" | "goto" | "break" | "continue") => {
            "D has no loops: the kernel must know that a program ends; use profile or tick probes, or aggregations"
        }
        Token::Reserved("switch" | "case" | "default") => "use if and else if",
        Token::Reserved("return") => "a clause returns nothing; use a predicate or if",
        Token::Reserved(_) => "the word is reserved and has no meaning inside a clause",
        Token::If if place.takes_operand() => {
            "`if` is a statement; inside an expression use condition ? a : b"
        }
        Token::Else if place.takes_statement() => {
            "no `if` precedes this `else`; a block of several statements needs braces"
        }
        _ => return None,
    };
    Some(help.to_owned())
}

fn closer(opener: &str) -> &'static str {
    match opener {
        "(" => ")",
        "[" => "]",
        _ => "}",
    }
}

fn shorten(text: &str) -> String {
    match text.char_indices().nth(40) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

fn simple(title: &str, span: Span, label: &str) -> ParseError {
    let (title, label) = (title.to_owned(), label.to_owned());
    ParseError::Syntax(Box::new(SyntaxError { title, span, label, related: None, help: None }))
}

impl SyntaxError {
    fn with_help(self, text: &str) -> SyntaxError {
        SyntaxError { help: Some(text.to_owned()), ..self }
    }

    fn with_related(self, span: Span, text: &str) -> SyntaxError {
        SyntaxError { related: Some((span, text.to_owned())), ..self }
    }
}

impl ParseError {
    fn help(mut self, text: &str) -> ParseError {
        if let ParseError::Syntax(error) = &mut self {
            error.help = Some(text.to_owned());
        }
        self
    }

    fn related(mut self, span: Span, text: &str) -> ParseError {
        if let ParseError::Syntax(error) = &mut self {
            error.related = Some((span, text.to_owned()));
        }
        self
    }
}
