//! parser/syntax.rs: what to say of a token that the grammar does not take.

use super::error::{ParseError, SyntaxError};
use super::lexer::{Lexer, Mode};
use super::token::{BodyToken, Token};
use crate::source::Span;

/// A token that cannot stand where it stands. `expected` are the grammar's names of tokens that could.
pub fn unexpected(lexer: &Lexer<'_>, token: &Token, span: Span, expected: &[String]) -> ParseError {
    let text = lexer.slice(span);
    let has = |name: &str| expected.iter().any(|e| e.trim_matches('"') == name);
    let title = |wanted: &str| format!("expected {wanted}, found `{}`", shorten(text));
    let mut error = SyntaxError {
        title: format!("unexpected `{}`", shorten(text)),
        span,
        label: "not expected here".to_owned(),
        related: None,
        help: reserved_help(token, lexer.mode),
    };
    if error.help.is_some() {
        return ParseError::Syntax(Box::new(error));
    }
    let opener = lexer.opener().filter(|(_, at)| *at != span);
    let statement = has(";") && has("}");
    match (lexer.mode, token) {
        (Mode::Body | Mode::Probes, Token::Op(BodyToken::LBrace)) if in_predicate(expected) => {
            error = missing_slash(span);
        }
        (Mode::Predicate, Token::Op(BodyToken::LBrace | BodyToken::Semi)) => error = missing_slash(span),
        (Mode::Predicate, Token::PredicateEnd) | (Mode::Probes, Token::PredicateEnd) => {
            error.title = "the predicate is not a complete expression".to_owned();
            error.label = "an operand is missing before this `/`".to_owned();
        }
        _ if statement => {
            error.title = title("`;` or `}`");
            error.label = "a `;` is missing before this".to_owned();
        }
        (Mode::Declaration, Token::Op(BodyToken::Assign)) => {
            error.title = "a declaration cannot set a value".to_owned();
            error.label = "no initialiser in D".to_owned();
            error.help = Some("assign it in a clause: BEGIN { x = 0; }".to_owned());
        }
        (Mode::Body, Token::TypeKeyword(_) | Token::Qualifier(_) | Token::Storage(_)) if has("name") => {
            error.title = format!("`{text}` begins a declaration, and a body has statements only");
            error.label = "a declaration inside a body".to_owned();
            error.help = Some("declare the variable outside of clauses: this int x;".to_owned());
        }
        _ if has(")") && has(",") => error.title = title("`)` or `,`"),
        _ if has(")") => error.title = title("`)`"),
        _ if has("]") => error.title = title("`]` or `,`"),
        _ if has(";") && !has("name") => error.title = title("`;`"),
        _ if has("probe description") => error.title = title("a probe description"),
        _ if has("{") => error.title = title("`{`"),
        _ if has("(") && expected.len() == 1 => error.title = title("`(`"),
        _ if has("integer") => {
            error.title = title("an expression");
            error.label = "an operand is missing here".to_owned();
        }
        _ if has("name") => error.title = title("a name"),
        _ if has("type name") => error.title = title("a type"),
        _ => {}
    }
    let closes = has(")") || has("]");
    if let (true, Some((_, at))) = (closes && error.related.is_none(), opener) {
        error.related = Some((at, format!("this `{}` is open", lexer.slice(at))));
    }
    ParseError::Syntax(Box::new(error))
}

/// The text ends inside an external declaration.
pub fn unexpected_end(lexer: &Lexer<'_>, expected: &[String]) -> ParseError {
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
        let opener = lexer.slice(at);
        error.title = format!("`{opener}` is never closed");
        error.related = Some((at, format!("this `{opener}` is open")));
        error.help = Some(format!("add the closing `{}`", closer(opener)));
    } else {
        match lexer.mode {
            Mode::Predicate => {
                error.title = "the predicate is not closed".to_owned();
                error.help = Some("a predicate stands between slashes: /pid == 1/ { … }".to_owned());
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

/// A clause of a file needs a body.
pub fn missing_body(span: Span) -> ParseError {
    simple("expected a predicate or a body in `{` `}`", span, "a clause without a body")
        .help("write `{ }` for the default action; only clauses of the command line can go without")
}

fn predicate_without_body(span: Span) -> ParseError {
    simple("a predicate needs a body", span, "no `{` after the predicate")
        .help("write `{ }` after the predicate for the default action")
}

fn missing_slash(span: Span) -> SyntaxError {
    SyntaxError {
        title: "the predicate is not closed".to_owned(),
        span,
        label: "a `/` is missing before this".to_owned(),
        related: None,
        help: Some("a predicate stands between slashes: /pid == 1/ { … }".to_owned()),
    }
}

/// What stands where a clause or a declaration should begin.
pub fn no_probe_description(text: &str, rest: &str, span: Span) -> ParseError {
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

/// A character that begins no token.
pub fn unexpected_character(text: &str, mode: Mode, span: Span) -> ParseError {
    let shown: String = text.chars().flat_map(char::escape_debug).collect();
    let title = format!("unexpected character `{shown}`");
    match (text, mode) {
        (";", Mode::Outer) => {
            simple("unexpected `;` between clauses", span, "no statement to end").help("remove it")
        }
        (";", Mode::Probes) => simple("unexpected `;` after a probe description", span, "not expected here")
            .help("clauses follow each other without a separator; a clause without a body ends the text"),
        ("}", Mode::Outer | Mode::Probes) => lone_closer(text, span),
        ("(" | ")", Mode::Probes) => simple(&title, span, "not part of a probe description")
            .help("a predicate stands between slashes: /pid == 1/ { … }"),
        ("#", _) => simple(&title, span, "a control line begins at the start of a line"),
        _ => simple(&title, span, "begins nothing in D"),
    }
}

pub fn lone_closer(closer: &str, span: Span) -> ParseError {
    simple(&format!("`{closer}` closes nothing"), span, "no bracket is open here")
        .help("remove it, or add the opening one")
}

pub fn wrong_closer(closer: &str, opener: &str, span: Span, opened: Span) -> ParseError {
    simple(
        &format!("`{opener}` is closed by `{closer}`"),
        span,
        &format!("expected `{}`", self::closer(opener)),
    )
    .related(opened, &format!("this `{opener}` is open"))
}

pub fn open_bracket_in_predicate(opener: &str, opened: Span, span: Span) -> ParseError {
    simple("the predicate ends inside brackets", span, "this `/` ends the predicate")
        .related(opened, &format!("this `{opener}` is open"))
        .help("a slash before `{`, `;`, `/` or the end of the text always ends the predicate")
}

pub fn nested_comment(outer: Span, inner: Span) -> ParseError {
    simple("a comment inside a comment", inner, "comments do not nest")
        .related(outer, "the comment begins here")
        .help("close the first comment, or remove this `/*`")
}

pub fn open_comment(span: Span) -> ParseError {
    simple("the comment is never closed", span, "the comment begins here").help("add `*/`")
}

/// Words that open declarations which the compiler does not have yet.
pub fn unsupported_item(word: &str) -> Option<&'static str> {
    Some(match word {
        "inline" => "inline definitions are",
        "translator" => "translators are",
        "provider" => "provider definitions are",
        "typedef" => "type definitions are",
        "counter" => "counter definitions are",
        "import" => "`import` is",
        _ => return None,
    })
}

/// `/` that was meant as a comment, words of C that D keeps without a meaning.
fn reserved_help(token: &Token, mode: Mode) -> Option<String> {
    match token {
        Token::Reserved("for" | "while" | "do" | "goto" | "break" | "continue") => Some(
            "D has no loops: the kernel must know that a program ends; use profile or tick probes, or aggregations"
                .to_owned(),
        ),
        Token::Reserved("switch" | "case" | "default") => Some("use if and else if".to_owned()),
        Token::Reserved("return") => Some("a clause returns nothing; use a predicate or if".to_owned()),
        Token::Reserved(_) => Some("the word is reserved and has no meaning inside a clause".to_owned()),
        Token::If if mode == Mode::Body => {
            Some("`if` is a statement; inside an expression use condition ? a : b".to_owned())
        }
        Token::Else => Some("no `if` stands before this `else`; a block of several statements needs braces".to_owned()),
        _ => None,
    }
}

fn in_predicate(expected: &[String]) -> bool {
    expected.iter().any(|e| e.trim_matches('"') == "end of predicate")
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
