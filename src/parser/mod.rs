//! parser/: D text → [`ast::Program`]; the only module that uses lalrpop_util.

pub mod ast;
mod calls;
mod chain;
pub(crate) mod constant;
mod error;
mod lex;
mod node;
mod print;
pub(crate) mod visit;

lalrpop_util::lalrpop_mod!(
    #[allow(clippy::all, clippy::pedantic, unreachable_pub, unused)]
    d
);

use kinst_base::diag::{Diagnostic, tags};
use kinst_base::source::{FileId, Sources, Span};

pub use error::{ControlError, LiteralError, MacroError, ParseError, ProbeError, SyntaxError};
pub use lex::literal::{first_value, quote};
pub use lex::macros::Macros;
pub use lex::options::{ParseOptions, Settings};
pub use print::{dump, pretty};
pub use visit::MAX_DEPTH;

use calls::Calls;
use lex::lexer::{ItemStart, Lexeme, Lexer, Mode};
use lex::syntax;
use lex::token::Token;
use print::layout;

/// A program, and its use of macro arguments.
#[derive(Clone, Debug, PartialEq)]
pub struct Parsed {
    /// Everything that the text declares, and its clauses.
    pub program: ast::Program,
    /// For each macro argument from `$0`: whether the text names it.
    pub arguments_used: Vec<bool>,
    /// The first `$target` of the text.
    pub target: Option<Span>,
}

/// The first error in a source, and the part before it, which may have errors that only the checker finds.
#[derive(Clone, Debug)]
pub struct Stopped {
    /// The error that ended the parsing.
    pub error: ParseError,
    /// The complete external declarations. If the declaration with the error already had sizeof or offsetof
    /// expressions, the last clause contains them.
    pub read: ast::Program,
    /// Whether the error concerns the whole text.
    pub at_end: bool,
}

/// The maximum size of a source in bytes; positions in it are 32-bit.
pub const MAX_TEXT: usize = 256 << 20;

/// Decodes bytes from outside. D is written in UTF-8; a byte order mark is dropped.
pub fn decode(mut bytes: Vec<u8>) -> Result<String, Diagnostic> {
    if bytes.len() > MAX_TEXT {
        let title = format!("the program is larger than {} MB", MAX_TEXT >> 20);
        return Err(Diagnostic::error(tags::SYNTAX, title));
    }
    if bytes.starts_with("\u{feff}".as_bytes()) {
        bytes.drain(..'\u{feff}'.len_utf8());
    }
    String::from_utf8(bytes).map_err(|error| {
        let valid = &error.as_bytes()[..error.utf8_error().valid_up_to()];
        let line = valid.iter().filter(|&&byte| byte == b'\n').count() + 1;
        let byte = error.as_bytes().get(valid.len()).copied().unwrap_or_default();
        Diagnostic::error(tags::SYNTAX, format!("line {line} is not UTF-8: byte 0x{byte:02x}"))
            .help("save the program as UTF-8, or write the byte as an escape such as \"\\xff\"")
    })
}

/// Parses one source, one external declaration after the other, up to the first error.
pub fn parse(sources: &Sources, file: FileId, options: &ParseOptions<'_>) -> Result<Parsed, ParseError> {
    read(sources, file, options, &mut None).map_err(|stopped| stopped.error)
}

/// Like [`parse`], but also returns the part before the error.
pub fn parse_until(
    sources: &Sources,
    file: FileId,
    options: &ParseOptions<'_>,
) -> Result<Parsed, Box<Stopped>> {
    read(sources, file, options, &mut None)
}

/// Returns the text in its canonical layout, and the parsed program.
pub fn format(
    sources: &Sources,
    file: FileId,
    options: &ParseOptions<'_>,
) -> Result<(String, Parsed), ParseError> {
    let mut tape = Some(Vec::new());
    let parsed = read(sources, file, options, &mut tape).map_err(|stopped| stopped.error)?;
    Ok((layout::layout(&sources.get(file).text, &tape.unwrap_or_default()), parsed))
}

/// Parses a source; if `tape` is `Some`, appends the tokens to it.
fn read(
    sources: &Sources,
    file: FileId,
    options: &ParseOptions<'_>,
    tape: &mut Option<Vec<layout::ItemTokens>>,
) -> Result<Parsed, Box<Stopped>> {
    let mut lexer = Lexer::new(sources.get(file), file, Mode::Outer, options);
    let mut calls = Calls::new(options.settings);
    let mut items = Vec::new();
    let result = read_items(sources, &mut lexer, &mut calls, &mut items, tape);
    let at_end = result.is_ok();
    let result = result.and_then(|()| check_last_argument(&lexer, options)).and_then(|()| {
        let nothing = !items.iter().any(|item| !matches!(item, ast::Item::Pragma(_)));
        if nothing && !lexer.settings.empty { Err(ParseError::Empty) } else { Ok(()) }
    });
    if let Err(error) = result {
        items.extend(lexer.pragmas.drain(..).map(ast::Item::Pragma));
        items.extend(calls.unfinished(file).map(ast::Item::Clause));
        return Err(Box::new(Stopped { error, read: ast::Program { items }, at_end }));
    }
    let (arguments_used, target) = (lexer.arguments_used, lexer.target);
    Ok(Parsed { program: ast::Program { items }, arguments_used, target })
}

fn read_items(
    sources: &Sources,
    lexer: &mut Lexer<'_>,
    calls: &mut Calls,
    items: &mut Vec<ast::Item>,
    tape: &mut Option<Vec<layout::ItemTokens>>,
) -> Result<(), ParseError> {
    let (file, origin) = (lexer.file, sources.get(lexer.file).origin);
    let (clauses, declarations) = (d::ClauseParser::new(), d::DeclarationParser::new());
    loop {
        let start = lexer.start_item()?;
        lexer.tape = tape.is_some().then(Vec::new);
        let item = match start {
            ItemStart::Clause => {
                let result = clauses.parse(file, calls, Tokens::new(lexer));
                let clause = complete(result, lexer)?;
                if clause.body.is_none() && origin.is_file() {
                    return Err(syntax::missing_body(clause.span));
                }
                Some(ast::Item::Clause(*clause))
            }
            ItemStart::Declaration => {
                let result = declarations.parse(file, calls, Tokens::new(lexer));
                let mut item = complete(result, lexer)?;
                if let ast::Item::Declaration(declaration) = &mut item {
                    declaration.in_header = lexer.in_header();
                    lexer.define_types(declaration.type_names());
                }
                Some(item)
            }
            ItemStart::End => None,
        };
        items.extend(lexer.pragmas.drain(..).map(ast::Item::Pragma));
        let Some(item) = item else { return Ok(()) };
        if let (Some(tape), Some(tokens)) = (tape.as_mut(), lexer.tape.take()) {
            tape.push(layout::ItemTokens { start, tokens });
        }
        visit::check_depth(&item, MAX_DEPTH)?;
        calls.note(&item);
        items.push(item);
    }
}

/// Parses a source that is one expression.
pub fn parse_expression(
    sources: &Sources,
    file: FileId,
    options: &ParseOptions<'_>,
) -> Result<ast::Expr, ParseError> {
    let mut lexer = Lexer::new(sources.get(file), file, Mode::Expression, options);
    let result = d::ExprParser::new().parse(file, &Calls::new(options.settings), Tokens::new(&mut lexer));
    let expr = complete(result, &lexer)?;
    visit::check_expr_depth(&expr, MAX_DEPTH)?;
    Ok(expr)
}

/// Parses a source that is a type name.
pub fn parse_type_name(
    sources: &Sources,
    file: FileId,
    options: &ParseOptions<'_>,
) -> Result<ast::TypeName, ParseError> {
    let mut lexer = Lexer::new(sources.get(file), file, Mode::TypeName, options);
    let result = d::TypeNameParser::new().parse(file, &Calls::new(options.settings), Tokens::new(&mut lexer));
    let ty = complete(result, &lexer)?;
    visit::check_type_depth(&ty, MAX_DEPTH)?;
    Ok(ty)
}

/// Refuses a last argument that the text never names: it was probably meant for something else.
fn check_last_argument(lexer: &Lexer<'_>, options: &ParseOptions<'_>) -> Result<(), ParseError> {
    let index = options.macros.arguments.len();
    if index == 0 || lexer.settings.argref || lexer.arguments_used[index] {
        return Ok(());
    }
    let text = options.macros.arguments[index - 1].clone();
    Err(ParseError::UnusedArgument { index, text })
}

type GrammarError = lalrpop_util::ParseError<usize, Token, ParseError>;

/// Wraps an error for an action of the grammar.
fn refuse(error: ParseError) -> GrammarError {
    lalrpop_util::ParseError::User { error }
}

/// The tokens of one external declaration.
struct Tokens<'l, 'a> {
    lexer: &'l mut Lexer<'a>,
}

impl<'l, 'a> Tokens<'l, 'a> {
    fn new(lexer: &'l mut Lexer<'a>) -> Tokens<'l, 'a> {
        Tokens { lexer }
    }
}

impl Iterator for Tokens<'_, '_> {
    type Item = Result<Lexeme, ParseError>;

    fn next(&mut self) -> Option<Self::Item> {
        self.lexer.next()
    }
}

/// Returns the grammar's result, with its errors converted to [`ParseError`].
fn complete<T>(result: Result<T, GrammarError>, lexer: &Lexer<'_>) -> Result<T, ParseError> {
    result.map_err(|error| match error {
        lalrpop_util::ParseError::User { error } => error,
        lalrpop_util::ParseError::UnrecognizedToken { token: (start, token, end), expected } => {
            syntax::unexpected(lexer, &token, Span::new(lexer.file, start, end), &expected)
        }
        lalrpop_util::ParseError::ExtraToken { token: (start, token, end) } => {
            syntax::unexpected(lexer, &token, Span::new(lexer.file, start, end), &[])
        }
        lalrpop_util::ParseError::UnrecognizedEof { expected, .. } => {
            syntax::unexpected_end(lexer, &expected)
        }
        lalrpop_util::ParseError::InvalidToken { location } => {
            let span = Span::new(lexer.file, location, location);
            syntax::unexpected_character(lexer.slice(span), "", lexer.mode, span)
        }
    })
}

#[cfg(test)]
mod tests;
