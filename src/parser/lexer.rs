//! parser/lexer.rs: the modes: outer, probe description, body, control line; one external declaration at a time.

use std::collections::HashSet;

use logos::Logos;

use super::ast::Pragma;
use super::control::{self, Control};
use super::error::{LiteralError, MacroError, ParseError};
use super::token::{self, BodyToken, OuterToken, Token};
use super::{ParseOptions, literal, macros, probe, syntax};
use crate::source::{FileId, Origin, Source, Span};

/// A token between two byte offsets, as the grammar takes it.
pub type Lexeme = (usize, Token, usize);

/// What the next external declaration is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ItemStart {
    Clause,
    Declaration,
    End,
}

/// Which tokens come next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    Outer,
    Probes,
    Predicate,
    Body,
    Declaration,
    /// An expression alone.
    Expression,
    /// A type name alone: every word that is no keyword names a type.
    TypeName,
}

/// Operators that may surround a token before the text is refused: a bound on the depth of any tree that the
/// grammar can have built, so that dropping a half-built one cannot exhaust the stack.
const MOST_OPERATORS: usize = 4000;

/// An open bracket, or the item itself at the bottom.
struct Level {
    opener: Option<(BodyToken, Span)>,
    /// Operators since the last separator; each is at most one level of the tree.
    operators: usize,
    /// Those of the statement before the separator: `else` continues it.
    statement_before: usize,
    /// A declaration's type is known, so that a further word is the declared name.
    has_type: bool,
}

impl Level {
    fn new(opener: Option<(BodyToken, Span)>) -> Level {
        Level { opener, operators: 0, statement_before: 0, has_type: false }
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum After {
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
}

pub struct Lexer<'a> {
    text: &'a str,
    pub file: FileId,
    origin: Origin,
    options: &'a ParseOptions<'a>,
    pub settings: Settings,
    /// Pragmas read since the last external declaration.
    pub pragmas: Vec<Pragma>,
    /// For each macro argument from `$0`: whether the text names it.
    pub arguments_used: Vec<bool>,
    /// Where the last token is.
    pub previous: Span,
    pub mode: Mode,
    at: usize,
    levels: Vec<Level>,
    operators: usize,
    queued: Option<Lexeme>,
    item_done: bool,
    after: After,
    /// Words that were used as identifiers: they stay identifiers even where a type has that name.
    identifiers: HashSet<&'a str>,
    /// No `` name.name` `` begins before this offset; keeps the search for one linear.
    no_dotted_scope_before: usize,
}

impl<'a> Lexer<'a> {
    pub fn new(source: &'a Source, file: FileId, mode: Mode, options: &'a ParseOptions<'a>) -> Lexer<'a> {
        Lexer {
            text: &source.text,
            file,
            origin: source.origin,
            options,
            settings: options.settings,
            pragmas: Vec::new(),
            arguments_used: vec![false; options.macros.arguments.len() + 1],
            previous: Span::new(file, 0, 0),
            mode,
            at: 0,
            levels: vec![Level::new(None)],
            operators: 0,
            queued: None,
            item_done: false,
            after: After::Other,
            identifiers: HashSet::new(),
            no_dotted_scope_before: 0,
        }
    }

    /// Looks at what comes next between external declarations.
    pub fn start_item(&mut self) -> Result<ItemStart, ParseError> {
        self.mode = Mode::Outer;
        self.levels = vec![Level::new(None)];
        self.operators = 0;
        self.item_done = false;
        self.after = After::Other;
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

    /// The innermost open bracket.
    pub fn opener(&self) -> Option<(BodyToken, Span)> {
        self.levels.last().and_then(|level| level.opener)
    }

    /// The end of the text, as a place to point at.
    pub fn end(&self) -> Span {
        let end = self.text.trim_end().len().max(self.previous.end as usize);
        Span::new(self.file, end, end)
    }

    pub fn slice(&self, span: Span) -> &'a str {
        self.text.get(span.start as usize..span.end as usize).unwrap_or_default()
    }

    fn rest_at(&self, span: Span) -> &'a str {
        &self.text[span.start as usize..]
    }

    fn rest(&self) -> &'a str {
        &self.text[self.at..]
    }

    fn span_from(&self, start: usize) -> Span {
        Span::new(self.file, start, self.at)
    }

    /// White space, comments and control lines.
    fn skip_blank(&mut self) -> Result<(), ParseError> {
        let in_body = !matches!(self.mode, Mode::Outer | Mode::Probes);
        loop {
            let rest = self.rest();
            let blank = rest.len() - rest.trim_start_matches([' ', '\t', '\n', '\r', '\x0b', '\x0c']).len();
            if blank > 0 {
                self.at += blank;
            } else if rest.starts_with("/*") {
                self.skip_comment()?;
            } else if in_body && rest.starts_with("\\\n") {
                self.at += 2;
            } else if in_body && rest.starts_with("\\\r\n") {
                self.at += 3;
            } else if rest.starts_with('#') && self.at_line_start() {
                self.control_line()?;
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
        let length = rest.find('\n').unwrap_or(rest.len());
        if !rest.starts_with("#!")
            && let Control::Pragma(pragma) = control::control_line(self.text, self.file, self.at)?
        {
            self.apply(&pragma);
            self.pragmas.push(pragma);
        }
        self.at += length;
        Ok(())
    }

    /// Some options change how the text after them is read.
    fn apply(&mut self, pragma: &Pragma) {
        let Pragma::Option { name, value, .. } = pragma;
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

    fn unexpected_character(&self) -> ParseError {
        let length = self.rest().chars().next().map_or(0, char::len_utf8);
        let span = Span::new(self.file, self.at, self.at + length);
        syntax::unexpected_character(self.slice(span), self.mode, span)
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
                Token::Op(BodyToken::Slash)
            }
            OuterToken::LBrace => {
                self.mode = Mode::Body;
                self.levels.push(Level::new(Some((BodyToken::LBrace, span))));
                Token::Op(BodyToken::LBrace)
            }
        };
        self.previous = span;
        Ok((span.start as usize, lexed, span.end as usize))
    }

    /// Whether the word between external declarations opens a declaration rather than a clause.
    fn declaration_start(&mut self, span: Span) -> Result<Option<ItemStart>, ParseError> {
        let text = self.slice(span);
        let word = text.split('*').next().unwrap_or_default();
        let word_span = Span::new(self.file, span.start as usize, span.start as usize + word.len());
        if token::opens_declaration(word) {
            if let Some(what) = syntax::unsupported_item(word) {
                return Err(ParseError::Unsupported { what, span: word_span });
            }
            self.at = span.start as usize;
            self.mode = Mode::Declaration;
            return Ok(Some(ItemStart::Declaration));
        }
        let file = matches!(self.origin, Origin::Script | Origin::Library);
        let plain =
            !text.contains([':', '-', '.', '?', '!', '`']) && !matches!(text, "BEGIN" | "END" | "ERROR");
        if self.settings.pspec || !file || !plain || !(self.options.is_type_name)(word) {
            return Ok(None);
        }
        self.at = word_span.end as usize;
        self.mode = Mode::Declaration;
        self.queued = Some((word_span.start as usize, Token::TypeName(word.to_owned()), self.at));
        self.note_type();
        Ok(Some(ItemStart::Declaration))
    }

    fn note_type(&mut self) {
        if let Some(level) = self.levels.last_mut() {
            level.has_type = true;
        }
    }

    fn next_lexeme(&mut self) -> Result<Option<Lexeme>, ParseError> {
        if let Some(queued) = self.queued.take() {
            return Ok(Some(queued));
        }
        if self.item_done {
            return Ok(None);
        }
        self.skip_blank()?;
        if matches!(self.mode, Mode::Outer | Mode::Probes) {
            return match self.outer_token()? {
                Some((token, span)) => Ok(Some(self.probe_lexeme(token, span)?)),
                None => Ok(None),
            };
        }
        let start = self.at;
        let Some(token) = self.body_token()? else {
            return Ok(None);
        };
        self.previous = self.span_from(start);
        Ok(Some((start, token, self.at)))
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
            BodyToken::Word => self.word(span),
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
            Token::Tag(_) => After::TagWord,
            _ => After::Other,
        };
        Ok(Some(lexed))
    }

    /// `%name` after `->`: a variable that the sugar pass made, when its dump is read.
    fn made_up_name(&mut self) -> Result<Token, ParseError> {
        let name = &self.rest()[1..];
        let length = name.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(name.len());
        if length == 0 {
            return Err(self.unexpected_character());
        }
        let text = self.rest()[..length + 1].to_owned();
        self.at += length + 1;
        self.after = After::Other;
        Ok(Token::Ident(text))
    }

    fn word(&mut self, span: Span) -> Token {
        let text = self.slice(span);
        if matches!(self.after, After::Dot | After::Arrow) {
            return Token::Ident(text.to_owned());
        }
        if let Some(keyword) = token::keyword(text) {
            if matches!(keyword, Token::TypeKeyword(_)) {
                self.note_type();
            }
            return keyword;
        }
        let text = self.dotted_scope(span).unwrap_or(text);
        if self.after == After::TagWord || self.mode == Mode::TypeName || self.is_type(text) {
            self.note_type();
            return Token::TypeName(text.to_owned());
        }
        Token::Ident(text.to_owned())
    }

    /// The rest of `` a.out`x ``: dots are part of a module's name if a backtick follows.
    fn dotted_scope(&mut self, span: Span) -> Option<&'a str> {
        let start = span.start as usize;
        if !self.rest().starts_with('.')
            || start < self.no_dotted_scope_before
            || self.slice(span).contains('`')
        {
            return None;
        }
        let is_part = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '`');
        let from_start = &self.text[start..];
        let run = &from_start[..from_start.find(|c| !is_part(c)).unwrap_or(from_start.len())];
        let Some(tick) = run.find('`').filter(|&tick| !run[..tick].ends_with('.')) else {
            self.no_dotted_scope_before = start + run.len();
            return None;
        };
        let symbol = &run[tick..];
        self.at = start + tick + symbol.find('.').unwrap_or(symbol.len());
        Some(&self.text[start..self.at])
    }

    /// Whether the word, which ends here, is the name of a type rather than an identifier.
    fn is_type(&mut self, word: &'a str) -> bool {
        if self.identifiers.contains(word) {
            return false;
        }
        let next = self.rest().trim_start_matches([' ', '\t', '\n', '\r', '\x0b', '\x0c']);
        let assigned = next.starts_with('=') && !next.starts_with("==");
        let listed = next.starts_with(',') && self.opener().is_none();
        if assigned || listed || ["++", "--", "[", ";"].iter().any(|follow| next.starts_with(follow)) {
            self.identifiers.insert(word);
            return false;
        }
        if !(self.options.is_type_name)(word) {
            return false;
        }
        let declared =
            self.mode == Mode::Declaration && self.levels.last().is_some_and(|level| level.has_type);
        !declared
    }

    fn quoted(&mut self, quote: BodyToken, opener: Span) -> Result<Token, ParseError> {
        let start = opener.start as usize;
        let mark = if quote == BodyToken::DoubleQuote { '"' } else { '\'' };
        let length = literal::quoted_length(&self.text[start..], mark, opener)?;
        self.at = start + length;
        let span = self.span_from(start);
        let text = self.slice(span).to_owned();
        Ok(match mark {
            '"' => Token::Str { value: literal::unescape(&text[1..length - 1]), text },
            _ => Token::Char { value: literal::character(&text, span)?, text },
        })
    }

    fn macro_variable(&mut self, span: Span) -> Result<Token, ParseError> {
        let text = self.slice(span);
        let name = text.trim_start_matches('$');
        let Some(value) = self.options.macros.variable(name) else {
            return Err(ParseError::Macro { problem: MacroError::UndefinedVariable(name.to_owned()), span });
        };
        Ok(match text.starts_with("$$") {
            true => macros::string_token(value.to_string().as_bytes()),
            false => macros::number_token(value),
        })
    }

    fn macro_argument(&mut self, span: Span) -> Result<Token, ParseError> {
        let text = self.slice(span);
        let as_string = text.starts_with("$$");
        let index = macros::index(text.trim_start_matches('$'), span)?;
        if let Some(flag) = self.arguments_used.get_mut(index) {
            *flag = true;
        }
        match self.options.macros.argument(index) {
            Some(argument) if as_string => Ok(macros::string_token(argument.as_bytes())),
            Some(argument) => {
                let is_type =
                    |word: &str| !self.identifiers.contains(word) && (self.options.is_type_name)(word);
                macros::argument_token(argument, is_type, span)
            }
            None if self.settings.defaultargs && as_string => Ok(macros::string_token(b"")),
            None if self.settings.defaultargs => Ok(macros::number_token(0)),
            None => {
                let given = self.options.macros.arguments.len();
                Err(ParseError::Macro { problem: MacroError::UndefinedArgument { index, given }, span })
            }
        }
    }

    /// Whether the slash before this place ends the predicate: the text ends, or `;`, `{` or `/` comes next.
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

    /// Brackets are counted here, so that the end of the external declaration is known.
    fn operator(&mut self, token: BodyToken, span: Span) -> Result<Token, ParseError> {
        match token {
            BodyToken::LParen | BodyToken::LBracket | BodyToken::LBrace => {
                if token == BodyToken::LBrace && self.mode == Mode::Declaration {
                    return Err(ParseError::Unsupported {
                        what: "definitions of struct, union and enum types are",
                        span,
                    });
                }
                self.levels.push(Level::new(Some((token, span))));
            }
            BodyToken::RParen | BodyToken::RBracket | BodyToken::RBrace => self.close(token, span)?,
            BodyToken::Semi => {
                self.end_statement();
                self.item_done = self.mode == Mode::Declaration && self.levels.len() == 1;
            }
            BodyToken::Comma if self.levels.len() > 1 => {
                if let Some(level) = self.levels.last_mut() {
                    level.has_type = false;
                }
            }
            _ => {}
        }
        Ok(Token::Op(token))
    }

    fn close(&mut self, token: BodyToken, span: Span) -> Result<(), ParseError> {
        let wanted = match token {
            BodyToken::RParen => BodyToken::LParen,
            BodyToken::RBracket => BodyToken::LBracket,
            _ => BodyToken::LBrace,
        };
        match self.opener() {
            Some((opener, _)) if opener == wanted => {}
            Some((_, opener)) => {
                return Err(syntax::wrong_closer(self.slice(span), self.slice(opener), span, opener));
            }
            None => return Err(syntax::lone_closer(self.slice(span), span)),
        }
        if let Some(level) = self.levels.pop() {
            self.operators -= level.operators;
        }
        if token == BodyToken::RBrace {
            self.end_statement();
            self.item_done = self.mode == Mode::Body && self.levels.len() == 1;
        }
        Ok(())
    }

    fn end_statement(&mut self) {
        if let Some(level) = self.levels.last_mut() {
            self.operators -= level.operators;
            level.statement_before = std::mem::take(&mut level.operators);
        }
    }

    /// Counts what may become a level of the tree.
    fn weigh(&mut self, token: &Token, span: Span) -> Result<(), ParseError> {
        let opens = matches!(token, Token::Op(BodyToken::LParen | BodyToken::LBracket | BodyToken::LBrace));
        let weight = match token {
            Token::Else => 1 + self.levels.last().map_or(0, |level| level.statement_before),
            Token::Op(BodyToken::RParen | BodyToken::RBracket | BodyToken::RBrace | BodyToken::Semi) => 0,
            Token::Op(_) | Token::If | Token::Sizeof | Token::Stringof | Token::Xlate => 1,
            _ => 0,
        };
        // A bracket is an operator of the level around it.
        let level = self.levels.len().saturating_sub(1 + usize::from(opens));
        if let Some(level) = self.levels.get_mut(level) {
            level.operators += weight;
            self.operators += weight;
        }
        match self.operators > MOST_OPERATORS {
            true => Err(ParseError::TooDeep { limit: super::MAX_DEPTH, span }),
            false => Ok(()),
        }
    }
}

impl Iterator for Lexer<'_> {
    type Item = Result<Lexeme, ParseError>;

    fn next(&mut self) -> Option<Self::Item> {
        self.next_lexeme().transpose()
    }
}
