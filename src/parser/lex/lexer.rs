//! parser/lex/lexer.rs: the lexer's state: mode, position, open brackets, and the definitions so far.

use std::collections::HashSet;

use super::options::{ParseOptions, Settings};
use super::token::{BodyToken, Token};
use crate::parser::ast::Pragma;
use kinst_base::source::{FileId, Origin, Source, Span};

/// A token between two byte offsets, as the grammar expects it.
pub(crate) type Lexeme = (usize, Token, usize);

/// The kind of the next external declaration.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ItemStart {
    Clause,
    Declaration,
    End,
}

/// The mode, which determines the next tokens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mode {
    Outer,
    Probes,
    Predicate,
    Body,
    Declaration,
    /// A single expression.
    Expression,
    /// A single type name: every word that is not a keyword names a type.
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

pub(crate) struct Lexer<'a> {
    pub(super) text: &'a str,
    pub file: FileId,
    pub(super) origin: Origin,
    pub(super) options: &'a ParseOptions<'a>,
    pub settings: Settings,
    /// The tokens of this item, if they are requested.
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
    /// No `` name.name` `` begins before this offset; it makes the search for one linear.
    pub(super) no_dotted_scope_before: usize,
    /// How many included files are open here.
    pub(super) included: usize,
    /// Whether the last line marker was for a system header.
    pub(super) in_system_header: bool,
}

/// An open bracket, or the item itself at the bottom.
pub(crate) struct Level {
    pub opener: Option<(BodyToken, Span)>,
    /// Operators since the last separator; each is at most one level of the tree.
    pub operators: usize,
    /// The operators of the statement before the separator: `else` continues it.
    pub statement_before: usize,
    /// Whether the type of a declaration is complete, so that a further word is the declared name.
    pub has_type: bool,
    /// Whether these are the braces of an enum: the words in them are names, even if a type has that name.
    pub enumerates: bool,
}

impl Level {
    pub(crate) fn new(opener: Option<(BodyToken, Span)>) -> Level {
        Level { opener, operators: 0, statement_before: 0, has_type: false, enumerates: false }
    }
}

impl<'a> Lexer<'a> {
    pub(crate) fn new(
        source: &'a Source,
        file: FileId,
        mode: Mode,
        options: &'a ParseOptions<'a>,
    ) -> Lexer<'a> {
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

    /// Returns the innermost open bracket.
    pub(crate) fn opener(&self) -> Option<(BodyToken, Span)> {
        self.levels.last().and_then(|level| level.opener)
    }

    /// Returns the bracket around the innermost open one.
    pub(crate) fn outer_opener(&self) -> Option<Span> {
        self.levels.iter().rev().nth(1).and_then(|level| level.opener).map(|(_, span)| span)
    }

    /// Returns the end of the text, as a place to point at.
    pub(crate) fn end(&self) -> Span {
        let end = self.text.trim_end().len().max(self.previous.end as usize);
        Span::new(self.file, end, end)
    }

    pub(crate) fn slice(&self, span: Span) -> &'a str {
        self.text.get(span.start as usize..span.end as usize).unwrap_or_default()
    }

    pub(crate) fn rest_at(&self, span: Span) -> &'a str {
        &self.text[span.start as usize..]
    }

    pub(super) fn rest(&self) -> &'a str {
        &self.text[self.at..]
    }

    pub(super) fn span_from(&self, start: usize) -> Span {
        Span::new(self.file, start, self.at)
    }

    /// Records the types that the text defines, from here on.
    pub(crate) fn define_types<'n>(&mut self, names: impl Iterator<Item = &'n str>) {
        for name in names {
            self.identifiers.remove(name);
            self.typedefs.insert(name.to_owned());
        }
    }

    pub(super) fn names_type(&self, word: &str) -> bool {
        let in_parameters = || self.opener().is_some_and(|(opener, _)| opener == BodyToken::LParen);
        self.typedefs.contains(word)
            || (self.options.is_type_name)(word)
            || self.settings.any_type && in_parameters()
    }
}
