//! parser/lex/scan.rs: the next token in each mode, and the start of the next external declaration.

use logos::Logos;

use super::control::{self, Control};
use super::lexer::{After, ItemStart, Level, Lexeme, Lexer, Mode};
use super::token::{self, BodyToken, OuterToken, Token};
use super::{literal, probe, syntax};
use crate::parser::ast::Pragma;
use crate::parser::error::{LiteralError, ParseError};
use kinst_base::source::{Origin, Span};

impl<'a> Lexer<'a> {
    /// Reads the start of the next external declaration.
    pub(crate) fn start_item(&mut self) -> Result<ItemStart, ParseError> {
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
