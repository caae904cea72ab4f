//! parser/lex/brackets.rs: open brackets: the end of an external declaration, and the maximum depth of its tree.

use super::lexer::{Level, Lexer, Mode};
use super::syntax;
use super::token::{BodyToken, Token};
use crate::parser::error::ParseError;
use crate::parser::visit;
use kinst_base::source::Span;

/// The limit on operators around a token. It bounds the depth of any tree that the grammar can have built, so
/// that dropping an incomplete one cannot exhaust the stack.
const MOST_OPERATORS: usize = 4000;

impl Lexer<'_> {
    /// Tracks brackets, to find the end of the external declaration.
    pub(in crate::parser) fn operator(&mut self, token: BodyToken, span: Span) -> Result<Token, ParseError> {
        match token {
            BodyToken::LParen | BodyToken::LBracket | BodyToken::LBrace => {
                let before = self.slice(self.previous);
                if token == BodyToken::LBrace && self.mode == Mode::Declaration && before == ")" {
                    return Err(syntax::function_body(span));
                }
                let enumerates =
                    token == BodyToken::LBrace && (before == "enum" || self.slice(self.before) == "enum");
                self.levels.push(Level {
                    has_type: enumerates,
                    enumerates,
                    ..Level::new(Some((token, span)))
                });
            }
            BodyToken::RParen | BodyToken::RBracket | BodyToken::RBrace => self.close(token, span)?,
            BodyToken::Semi => {
                self.end_statement();
                self.forget_type();
                self.item_done = self.mode == Mode::Declaration && self.levels.len() == 1;
            }
            BodyToken::Slash if self.mode == Mode::Predicate => self.division = Some(span),
            BodyToken::Comma if self.levels.last().is_some_and(|level| level.enumerates) => {
                self.end_statement();
                self.note_type();
            }
            // In parentheses and brackets, a parameter follows; in braces, another name of the same type.
            BodyToken::Comma if self.opener().is_some_and(|(opener, _)| opener != BodyToken::LBrace) => {
                self.forget_type();
            }
            // An expression follows, or a translator's input.
            BodyToken::Assign | BodyToken::Lt => self.forget_type(),
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
            Some((opener, opened)) if opener == wanted => {
                let here = self.indentation(span, true);
                if self.misplaced.is_none()
                    && here.is_some_and(|here| Some(here) < self.indentation(opened, false))
                {
                    self.misplaced = Some(opened);
                }
            }
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
            self.note_type();
            self.item_done = self.mode == Mode::Body && self.levels.len() == 1;
        }
        Ok(())
    }

    pub(in crate::parser) fn end_statement(&mut self) {
        if let Some(level) = self.levels.last_mut() {
            self.operators -= level.operators;
            level.statement_before = std::mem::take(&mut level.operators);
        }
    }

    /// Counts the operators that may become a level of the tree.
    pub(in crate::parser) fn weigh(&mut self, token: &Token, span: Span) -> Result<(), ParseError> {
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
            true => Err(ParseError::TooDeep { limit: visit::MAX_DEPTH, span }),
            false => Ok(()),
        }
    }

    /// Returns the blanks at the start of the line of `span`. If `first`, `None` unless the span comes first on its
    /// line.
    fn indentation(&self, span: Span, first: bool) -> Option<&str> {
        let before = &self.text[..span.start as usize];
        let line = &before[before.rfind('\n').map_or(0, |newline| newline + 1)..];
        let blanks = &line[..line.len() - line.trim_start().len()];
        (!first || blanks.len() == line.len()).then_some(blanks)
    }
}
