//! parser/lex/: the modes: outer, probe description, body, control line; one external declaration at a time.

pub(super) mod brackets;
pub(super) mod control;
pub(super) mod header;
pub(super) mod literal;
pub(super) mod macros;
pub(super) mod probe;
pub(super) mod syntax;
pub(super) mod token;
pub(super) mod words;

use std::collections::HashSet;

use logos::Logos;

use super::ParseOptions;
use super::ast::Pragma;
use super::error::{LiteralError, ParseError};
use crate::source::{FileId, Origin, Source, Span};
use crate::vocabulary::builtin::Version;
use brackets::Level;
use control::Control;
use token::{BodyToken, OuterToken, Token};

/// A token between two byte offsets, as the grammar expects it.
pub type Lexeme = (usize, Token, usize);

/// The kind of the next external declaration.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ItemStart {
    Clause,
    Declaration,
    End,
}

/// The mode, which decides the tokens that come next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    Outer,
    Probes,
    Predicate,
    Body,
    Declaration,
    /// An expression alone.
    Expression,
    /// A type name alone: every word that is not a keyword names a type.
    TypeName,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum After {
    Other,
    Dot,
    Arrow,
    /// `struct`, `union` or `enum`
    TagWord,
}

/// The settings that `#pragma D option` changes while the text is read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Settings {
    pub defaultargs: bool,
    pub argref: bool,
    pub empty: bool,
    pub pspec: bool,
    /// Whether the directives of the preprocessor are treated as comments.
    pub directives: bool,
    /// Whether any name can be called, as only the shape of the text matters.
    pub any_call: bool,
    /// Option version.
    pub version: Option<Version>,
}

pub struct Lexer<'a> {
    pub(super) text: &'a str,
    pub file: FileId,
    pub(super) origin: Origin,
    pub(super) options: &'a ParseOptions<'a>,
    pub settings: Settings,
    /// The tokens of this item, if they are wanted.
    pub tape: Option<Vec<(Token, Span)>>,
    /// Pragmas read since the last external declaration.
    pub pragmas: Vec<Pragma>,
    /// For each macro argument from `$0`: whether the text names it.
    pub arguments_used: Vec<bool>,
    /// The first `$target`.
    pub target: Option<Span>,
    /// The span of the last token.
    pub previous: Span,
    /// The span of the token before the last: the one before a token that the grammar refuses.
    pub before: Span,
    /// The last slash in this predicate that was read as a division.
    pub division: Option<Span>,
    /// The first `{` of the item whose `}` is indented less than its line; that `}` probably belongs to another brace.
    pub misplaced: Option<Span>,
    pub mode: Mode,
    pub(super) at: usize,
    pub(super) levels: Vec<Level>,
    pub(super) operators: usize,
    pub(super) queued: Option<Lexeme>,
    pub(super) item_done: bool,
    pub(super) after: After,
    /// Words that were used as identifiers: they stay identifiers even if a type has that name.
    pub(super) identifiers: HashSet<&'a str>,
    /// The types that the text has defined so far.
    typedefs: HashSet<String>,
    /// Whether the declaration defines types, so that the words it declares are not variables.
    pub(super) in_typedef: bool,
    /// An offset before which no `` name.name` `` begins; it keeps the search for one linear.
    pub(super) no_dotted_scope_before: usize,
    /// The number of files that are being included here.
    pub(super) included: usize,
    /// Whether the last line marker was that of a header of the system.
    pub(super) in_system_header: bool,
}

impl<'a> Lexer<'a> {
    pub fn new(source: &'a Source, file: FileId, mode: Mode, options: &'a ParseOptions<'a>) -> Lexer<'a> {
        Lexer {
            text: &source.text,
            file,
            origin: source.origin,
            options,
            settings: options.settings,
            tape: None,
            pragmas: Vec::new(),
            arguments_used: vec![false; options.macros.arguments.len() + 1],
            target: None,
            previous: Span::new(file, 0, 0),
            before: Span::new(file, 0, 0),
            division: None,
            misplaced: None,
            mode,
            at: 0,
            levels: vec![Level::new(None)],
            operators: 0,
            queued: None,
            item_done: false,
            after: After::Other,
            identifiers: HashSet::new(),
            typedefs: HashSet::new(),
            in_typedef: false,
            no_dotted_scope_before: 0,
            included: 0,
            in_system_header: false,
        }
    }

    /// Reads the start of the next external declaration.
    pub fn start_item(&mut self) -> Result<ItemStart, ParseError> {
        loop {
            let start = self.item_start()?;
            if start != ItemStart::Declaration || !self.skip_function() {
                return Ok(start);
            }
        }
    }

    fn item_start(&mut self) -> Result<ItemStart, ParseError> {
        self.mode = Mode::Outer;
        self.misplaced = None;
        self.levels = vec![Level::new(None)];
        self.operators = 0;
        self.item_done = false;
        self.after = After::Other;
        self.in_typedef = false;
        self.skip_blank()?;
        let Some((token, span)) = self.outer_token()? else {
            return Ok(ItemStart::End);
        };
        match token {
            OuterToken::Number => {}
            OuterToken::Spec => {
                if let Some(start) = self.declaration_start(span)? {
                    return Ok(start);
                }
            }
            OuterToken::Comma | OuterToken::Slash | OuterToken::LBrace => {
                return Err(syntax::no_probe_description(self.slice(span), self.rest_at(span), span));
            }
        }
        self.queued = Some(self.probe_lexeme(token, span)?);
        self.mode = Mode::Probes;
        Ok(ItemStart::Clause)
    }

    /// Returns the innermost open bracket.
    pub fn opener(&self) -> Option<(BodyToken, Span)> {
        self.levels.last().and_then(|level| level.opener)
    }

    /// Returns the bracket around the innermost open one.
    pub fn outer_opener(&self) -> Option<Span> {
        self.levels.iter().rev().nth(1).and_then(|level| level.opener).map(|(_, span)| span)
    }

    /// Returns the end of the text, as a place to point at.
    pub fn end(&self) -> Span {
        let end = self.text.trim_end().len().max(self.previous.end as usize);
        Span::new(self.file, end, end)
    }

    pub fn slice(&self, span: Span) -> &'a str {
        self.text.get(span.start as usize..span.end as usize).unwrap_or_default()
    }

    pub fn rest_at(&self, span: Span) -> &'a str {
        &self.text[span.start as usize..]
    }

    pub(super) fn rest(&self) -> &'a str {
        &self.text[self.at..]
    }

    pub(super) fn span_from(&self, start: usize) -> Span {
        Span::new(self.file, start, self.at)
    }

    /// Skips white space, comments and control lines.
    fn skip_blank(&mut self) -> Result<(), ParseError> {
        let in_body = !matches!(self.mode, Mode::Outer | Mode::Probes);
        loop {
            let rest = self.rest();
            let blank = rest.len() - rest.trim_start_matches([' ', '\t', '\n', '\r', '\x0b', '\x0c']).len();
            if blank > 0 {
                self.at += blank;
            } else if rest.starts_with("/*") {
                self.skip_comment()?;
            } else if in_body && ["\\\n", "\\\r\n"].iter().any(|end| rest.starts_with(end)) {
                self.at += rest.find('\n').map_or(1, |end| end + 1);
            } else if rest.starts_with('#') && self.at_line_start() {
                self.control_line()?;
            } else if let Some(length) = self.in_header().then(|| self.ignored_word()).flatten() {
                self.at += length;
            } else {
                return Ok(());
            }
        }
    }

    fn at_line_start(&self) -> bool {
        let before = self.text[..self.at].trim_end_matches([' ', '\t', '\r', '\x0b', '\x0c']);
        before.is_empty() || before.ends_with('\n')
    }

    fn skip_comment(&mut self) -> Result<(), ParseError> {
        let opener = Span::new(self.file, self.at, self.at + 2);
        let body = &self.text[self.at + 2..];
        let end = body.find("*/");
        let inner = body[..end.unwrap_or(body.len())].find("/*");
        match (end, inner) {
            (_, Some(inner)) => {
                let at = self.at + 2 + inner;
                Err(syntax::nested_comment(opener, Span::new(self.file, at, at + 2)))
            }
            (None, None) => Err(syntax::open_comment(opener)),
            (Some(end), None) => {
                self.at += 2 + end + 2;
                Ok(())
            }
        }
    }

    fn control_line(&mut self) -> Result<(), ParseError> {
        let rest = self.rest();
        if self.settings.directives && control::is_directive(rest) {
            self.at += control::control_length(rest);
            return Ok(());
        }
        let length = rest.find('\n').unwrap_or(rest.len());
        if !rest.starts_with("#!")
            && let Control::Pragma(pragma) = control::control_line(self.text, self.file, self.at)?
        {
            self.apply(&pragma);
            self.pragmas.push(pragma);
        }
        self.note_marker(&rest[..length]);
        self.at += length;
        Ok(())
    }

    /// Applies an option that changes how the rest of the text is read.
    fn apply(&mut self, pragma: &Pragma) {
        let Pragma::Option { name, value, .. } = pragma else { return };
        let on = !value.as_ref().is_some_and(|value| {
            matches!(value.node.as_str(), "no" | "off" | "disable" | "disabled" | "false" | "unset")
        });
        match name.node.as_str() {
            "defaultargs" => self.settings.defaultargs = on,
            "argref" => self.settings.argref = on,
            "empty" => self.settings.empty = on,
            "pspec" => self.settings.pspec = on,
            _ => {}
        }
    }

    fn outer_token(&mut self) -> Result<Option<(OuterToken, Span)>, ParseError> {
        let start = self.at;
        let mut logos = OuterToken::lexer(self.rest());
        match logos.next() {
            None => Ok(None),
            Some(Ok(token)) => {
                self.at += logos.span().end;
                Ok(Some((token, self.span_from(start))))
            }
            Some(Err(())) => Err(self.unexpected_character()),
        }
    }

    pub(super) fn unexpected_character(&self) -> ParseError {
        let length = self.rest().chars().next().map_or(0, char::len_utf8);
        let span = Span::new(self.file, self.at, self.at + length);
        syntax::unexpected_character(self.slice(span), self.slice(self.previous), self.mode, span)
    }

    fn probe_lexeme(&mut self, token: OuterToken, span: Span) -> Result<Lexeme, ParseError> {
        let text = self.slice(span);
        let lexed = match token {
            OuterToken::Number => Token::Spec(probe::describe_id(text, span, self.origin)?),
            OuterToken::Spec => {
                let context = probe::Context {
                    origin: self.origin,
                    macros: self.options.macros,
                    defaultargs: self.settings.defaultargs,
                };
                let used = &mut self.arguments_used;
                Token::Spec(probe::describe(text, span, &context, &mut |index| {
                    if let Some(flag) = used.get_mut(index) {
                        *flag = true;
                    }
                })?)
            }
            OuterToken::Comma => Token::Op(BodyToken::Comma),
            OuterToken::Slash => {
                self.mode = Mode::Predicate;
                self.division = None;
                Token::Op(BodyToken::Slash)
            }
            OuterToken::LBrace => {
                self.mode = Mode::Body;
                self.levels.push(Level::new(Some((BodyToken::LBrace, span))));
                Token::Op(BodyToken::LBrace)
            }
        };
        Ok((span.start as usize, lexed, span.end as usize))
    }

    /// Returns the start of a declaration if the word between external declarations opens one rather than a clause.
    fn declaration_start(&mut self, span: Span) -> Result<Option<ItemStart>, ParseError> {
        let text = self.slice(span);
        let word = text.split('*').next().unwrap_or_default();
        let word_span = Span::new(self.file, span.start as usize, span.start as usize + word.len());
        if token::opens_declaration(word) {
            self.at = span.start as usize;
            self.mode = Mode::Declaration;
            return Ok(Some(ItemStart::Declaration));
        }
        let file = matches!(self.origin, Origin::Script | Origin::Library);
        let plain =
            !text.contains([':', '-', '.', '?', '!', '`']) && !matches!(text, "BEGIN" | "END" | "ERROR");
        if self.settings.pspec || !file || !plain || !self.names_type(word) {
            return Ok(None);
        }
        self.at = word_span.end as usize;
        self.mode = Mode::Declaration;
        self.queued = Some((word_span.start as usize, Token::TypeName(word.to_owned()), self.at));
        self.note_type();
        Ok(Some(ItemStart::Declaration))
    }

    /// Notes the types that the text defines from here on.
    pub fn define_types<'n>(&mut self, names: impl Iterator<Item = &'n str>) {
        for name in names {
            self.identifiers.remove(name);
            self.typedefs.insert(name.to_owned());
        }
    }

    pub(super) fn names_type(&self, word: &str) -> bool {
        self.typedefs.contains(word) || (self.options.is_type_name)(word)
    }

    fn next_lexeme(&mut self) -> Result<Option<Lexeme>, ParseError> {
        if let Some(queued) = self.queued.take() {
            self.pass(Span::new(self.file, queued.0, queued.2));
            return Ok(Some(queued));
        }
        if self.item_done {
            return Ok(None);
        }
        self.skip_blank()?;
        if matches!(self.mode, Mode::Outer | Mode::Probes) {
            return match self.outer_token()? {
                Some((token, span)) => {
                    let lexeme = self.probe_lexeme(token, span)?;
                    self.pass(span);
                    Ok(Some(lexeme))
                }
                None => Ok(None),
            };
        }
        let start = self.at;
        let Some(token) = self.body_token()? else {
            return Ok(None);
        };
        self.pass(self.span_from(start));
        Ok(Some((start, token, self.at)))
    }

    fn pass(&mut self, span: Span) {
        self.before = std::mem::replace(&mut self.previous, span);
    }

    fn body_token(&mut self) -> Result<Option<Token>, ParseError> {
        if self.after == After::Arrow && self.rest().starts_with('%') {
            return self.made_up_name().map(Some);
        }
        let start = self.at;
        let mut logos = BodyToken::lexer(self.rest());
        let token = match logos.next() {
            None => return Ok(None),
            Some(Err(())) => return Err(self.unexpected_character()),
            Some(Ok(token)) => token,
        };
        self.at += logos.span().end;
        let span = self.span_from(start);
        let lexed = match token {
            BodyToken::Word => self.word(span)?,
            BodyToken::Number => Token::Int {
                value: literal::integer(self.slice(span), span)?,
                text: self.slice(span).to_owned(),
            },
            BodyToken::Float => return Err(ParseError::Literal { problem: LiteralError::Float, span }),
            BodyToken::DoubleQuote | BodyToken::SingleQuote => self.quoted(token, span)?,
            BodyToken::Aggregation => match &self.slice(span)[1..] {
                "" => Token::Aggregation("_".to_owned()),
                name => Token::Aggregation(name.to_owned()),
            },
            BodyToken::MacroVariable => self.macro_variable(span)?,
            BodyToken::MacroArgument => self.macro_argument(span)?,
            BodyToken::Slash if self.mode == Mode::Predicate && self.ends_predicate() => {
                self.end_predicate(span)?
            }
            operator => self.operator(operator, span)?,
        };
        self.weigh(&lexed, span)?;
        self.after = match lexed {
            Token::Op(BodyToken::Dot) => After::Dot,
            Token::Op(BodyToken::Arrow) => After::Arrow,
            Token::Tag(_) | Token::Enum => After::TagWord,
            _ => After::Other,
        };
        Ok(Some(lexed))
    }

    fn quoted(&mut self, quote: BodyToken, opener: Span) -> Result<Token, ParseError> {
        let start = opener.start as usize;
        let mark = if quote == BodyToken::DoubleQuote { '"' } else { '\'' };
        let length = literal::quoted_length(&self.text[start..], mark, opener)?;
        self.at = start + length;
        let span = self.span_from(start);
        let text = self.slice(span).to_owned();
        if let Some(nul) = text.find('\0') {
            let at = start + nul;
            return Err(syntax::nul_in_literal(Span::new(self.file, at, at + 1)));
        }
        Ok(match mark {
            '"' => Token::Str { value: literal::unescape(&text[1..length - 1]), text },
            _ => Token::Char { value: literal::character(&text, span)?, text },
        })
    }

    /// Whether the slash before this place ends the predicate: the text ends, or `;`, `{` or `/` follows.
    fn ends_predicate(&self) -> bool {
        let next = self.rest().trim_start_matches([' ', '\t', '\n', '\r', '\x0b', '\x0c']);
        next.is_empty() || next.starts_with([';', '{', '/'])
    }

    fn end_predicate(&mut self, span: Span) -> Result<Token, ParseError> {
        if let Some((_, opener)) = self.opener() {
            return Err(syntax::open_bracket_in_predicate(self.slice(opener), opener, span));
        }
        self.mode = Mode::Probes;
        self.end_statement();
        Ok(Token::PredicateEnd)
    }
}

impl Iterator for Lexer<'_> {
    type Item = Result<Lexeme, ParseError>;

    fn next(&mut self) -> Option<Self::Item> {
        let lexeme = self.next_lexeme();
        if let (Some(tape), Ok(Some((start, token, end)))) = (&mut self.tape, &lexeme) {
            tape.push((token.clone(), Span::new(self.file, *start, *end)));
        }
        lexeme.transpose()
    }
}
