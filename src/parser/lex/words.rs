//! parser/lex/words.rs: the words and macros of a body: keyword, identifier, type name, number, string.

use super::lexer::{After, Lexer, Mode};
use super::macros;
use super::syntax;
use super::token::{self, Token};
use crate::parser::ast::Storage;
use crate::parser::error::{MacroError, ParseError};
use kinst_base::source::Span;

impl<'a> Lexer<'a> {
    /// Reads `%name` after `->`, a variable made by the sugar pass; it occurs when the pass's dump is read
    /// back.
    pub(in crate::parser) fn made_up_name(&mut self) -> Result<Token, ParseError> {
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

    pub(in crate::parser) fn word(&mut self, span: Span) -> Result<Token, ParseError> {
        let text = self.slice(span);
        if matches!(self.after, After::Dot | After::Arrow) {
            return Ok(Token::Ident(text.to_owned()));
        }
        if self.in_header()
            && let Some(packed) = self.packed(span)
        {
            return Ok(packed);
        }
        if !self.is_plain_word(text)
            && let Some(keyword) = token::keyword(text)
        {
            match keyword {
                Token::TypeKeyword(_) => self.note_type(),
                Token::Storage(Storage::Typedef) => self.in_typedef = true,
                _ => {}
            }
            return Ok(keyword);
        }
        let text = self.dotted_scope(span).unwrap_or(text);
        if text.ends_with('`') {
            return Err(syntax::symbol_missing(span));
        }
        if self.after == After::TagWord || self.mode == Mode::TypeName || self.is_type(text) {
            self.note_type();
            return Ok(Token::TypeName(text.to_owned()));
        }
        Ok(Token::Ident(text.to_owned()))
    }

    /// Reads the rest of `` a.out`x ``: dots are part of a module's name if a backtick follows.
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

    /// Whether the word, which ends here, names a type rather than being an identifier.
    fn is_type(&mut self, word: &'a str) -> bool {
        // The name that a declaration gives, as in `typedef void (*name)(int)`.
        let pointer = self.mode == Mode::Declaration && self.slice(self.previous) == "*";
        if self.identifiers.contains(word) || pointer {
            return false;
        }
        let next = self.rest().trim_start_matches([' ', '\t', '\n', '\r', '\x0b', '\x0c']);
        let assigned = next.starts_with('=') && !next.starts_with("==");
        let listed = next.starts_with(',') && self.opener().is_none();
        if assigned || listed || ["++", "--", "[", ";"].iter().any(|follow| next.starts_with(follow)) {
            // Members and types have namespaces separate from variables.
            if self.mode != Mode::Declaration || self.opener().is_none() && !self.in_typedef {
                self.identifiers.insert(word);
            }
            return false;
        }
        let declared =
            self.mode == Mode::Declaration && self.levels.last().is_some_and(|level| level.has_type);
        !declared && self.names_type(word)
    }

    pub(in crate::parser) fn macro_variable(&mut self, span: Span) -> Result<Token, ParseError> {
        let text = self.slice(span);
        let name = text.trim_start_matches('$');
        if name == "target" {
            self.target.get_or_insert(span);
        }
        let Some(value) = self.options.macros.variable(name) else {
            return Err(ParseError::Macro { problem: MacroError::UndefinedVariable(name.to_owned()), span });
        };
        Ok(match text.starts_with("$$") {
            true => macros::string_token(value.to_string().as_bytes()),
            false => macros::number_token(value),
        })
    }

    pub(in crate::parser) fn macro_argument(&mut self, span: Span) -> Result<Token, ParseError> {
        let text = self.slice(span);
        let as_string = text.starts_with("$$");
        let index = macros::index(text.trim_start_matches('$'), span)?;
        if let Some(flag) = self.arguments_used.get_mut(index) {
            *flag = true;
        }
        match self.options.macros.argument(index) {
            Some(argument) if as_string => Ok(macros::string_token(argument.as_bytes())),
            Some(argument) => {
                let is_type = |word: &str| !self.identifiers.contains(word) && self.names_type(word);
                macros::argument_token(argument, is_type, span)
            }
            // A layout is made without the arguments: the name may be a member's.
            None if self.settings.directives
                && !as_string
                && matches!(self.after, After::Dot | After::Arrow) =>
            {
                Ok(Token::Ident(text.to_owned()))
            }
            None if self.settings.defaultargs && as_string => Ok(macros::string_token(b"")),
            None if self.settings.defaultargs => Ok(macros::number_token(0)),
            None => {
                let given = self.options.macros.arguments.len();
                Err(ParseError::Macro { problem: MacroError::UndefinedArgument { index, given }, span })
            }
        }
    }

    pub(in crate::parser) fn note_type(&mut self) {
        if let Some(level) = self.levels.last_mut() {
            level.has_type = true;
        }
    }

    pub(in crate::parser) fn forget_type(&mut self) {
        if let Some(level) = self.levels.last_mut() {
            level.has_type = false;
        }
    }
}
