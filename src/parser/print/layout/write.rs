//! parser/print/layout/write.rs: the lines: one statement per line, a tab per level, one empty line between clauses.

use super::pieces::{Kind, Piece};
use super::spacing::{Join, Spacing};
use crate::parser::lex::lexer::ItemStart;
use crate::parser::lex::token::{BodyToken as B, Token};

/// The maximum columns of a line, if it can be broken at all.
const WIDTH: usize = 100;
const TAB: usize = 8;
/// The indentation of the rest of a broken line.
const CONTINUATION: &str = "    ";

#[derive(Default)]
pub(crate) struct Writer<'a> {
    out: String,
    line: Vec<(String, Join)>,
    spacing: Spacing<'a>,
    indent: usize,
    /// Whether nothing has been written since the start of a block or of the text, so that no empty line
    /// comes here.
    fresh: bool,
    pieces: &'a [Piece<'a>],
    at: usize,
}

impl<'a> Writer<'a> {
    pub(crate) fn write(mut self, items: &'a [(ItemStart, Vec<Piece<'a>>)]) -> String {
        self.fresh = true;
        let mut before: Option<ItemStart> = None;
        for (start, pieces) in items {
            (self.pieces, self.at) = (pieces, 0);
            let clause = *start == ItemStart::Clause;
            // Empty lines separate a clause from other items; the empty lines of other items are preserved.
            let apart = before == Some(ItemStart::Clause) || clause && before.is_some();
            self.leading(apart && !pieces.is_empty(), clause);
            match start {
                ItemStart::Clause => self.clause(),
                ItemStart::Declaration => self.declaration(),
                ItemStart::End => {}
            }
            before = Some(*start);
        }
        self.out
    }

    /// Writes what precedes an item's first token.
    fn leading(&mut self, apart: bool, clause: bool) {
        // A comment on the last line of the previous item belongs to that item.
        if let Some(first) = self.pieces.first()
            && apart
            && (first.newlines > 0 || matches!(first.kind, Kind::Token(_)))
        {
            self.empty_line();
        }
        let mut control = false;
        while let Some(piece) = self.pieces.get(self.at).filter(|piece| !matches!(piece.kind, Kind::Token(_)))
        {
            control = matches!(piece.kind, Kind::Control);
            self.trivia_piece(*piece);
        }
        if control && clause {
            self.empty_line();
        }
    }

    fn clause(&mut self) {
        while let Some(token) = self.peek() {
            match token {
                Token::Op(B::LBrace) => {
                    self.end_line();
                    self.braces();
                }
                Token::Op(B::Slash) => {
                    self.end_line();
                    self.push();
                    self.spacing.opened_predicate();
                    while let Some(token) = self.peek() {
                        self.push();
                        if *token == Token::PredicateEnd {
                            break;
                        }
                    }
                    self.end_line();
                }
                Token::Op(B::Comma) => {
                    self.push();
                    self.end_line();
                }
                _ => self.push(),
            }
        }
        self.end_line();
    }

    /// Writes `{`, the statements and `}`; the line continues after it.
    fn braces(&mut self) {
        self.push();
        self.end_line();
        self.fresh = true;
        self.indent += 1;
        self.block();
        self.indent -= 1;
        self.push();
        self.fresh = false;
    }

    fn block(&mut self) {
        loop {
            self.trivia();
            match self.peek() {
                None | Some(Token::Op(B::RBrace)) => return,
                Some(Token::Op(B::Semi)) => self.at += 1,
                Some(_) => self.statement(),
            }
        }
    }

    fn statement(&mut self) {
        if self.peek() != Some(&Token::If) {
            let mut depth = 0;
            while let Some(token) = self.peek() {
                match token {
                    Token::Op(B::LParen | B::LBracket) => depth += 1,
                    Token::Op(B::RParen | B::RBracket) => depth -= 1,
                    Token::Op(B::RBrace) if depth == 0 => {
                        // The last `;` of a block may be left out.
                        self.line.push((";".to_owned(), Join { blank: false, may_break: false }));
                        break;
                    }
                    _ => {}
                }
                self.push();
                if depth == 0 && *token == Token::Op(B::Semi) {
                    break;
                }
            }
            return self.end_line();
        }
        self.push();
        self.condition();
        let braces = self.branch();
        if self.peek() == Some(&Token::Else) {
            if !braces {
                self.end_line();
            }
            self.push();
            if self.peek() == Some(&Token::If) {
                return self.statement();
            }
            self.branch();
        }
        self.end_line();
    }

    fn condition(&mut self) {
        let mut depth = 0;
        while let Some(token) = self.peek() {
            match token {
                Token::Op(B::LParen) => depth += 1,
                Token::Op(B::RParen) => depth -= 1,
                _ => {}
            }
            self.push();
            if depth == 0 {
                return;
            }
        }
    }

    /// Writes the statement that an `if` or `else` controls; returns whether it has braces.
    fn branch(&mut self) -> bool {
        if self.peek() == Some(&Token::Op(B::LBrace)) {
            self.braces();
            return true;
        }
        self.end_line();
        self.indent += 1;
        self.fresh = true;
        self.trivia();
        self.statement();
        self.indent -= 1;
        false
    }

    /// Writes a declaration, inline, translator or provider.
    fn declaration(&mut self) {
        let (mut braces, mut parens) = (Vec::new(), 0);
        let mut enumerates = false;
        while let Some(token) = self.peek() {
            match token {
                Token::Enum => enumerates = true,
                Token::Tag(_) | Token::Translator | Token::Provider => enumerates = false,
                Token::Op(B::LParen | B::LBracket) => parens += 1,
                Token::Op(B::RParen | B::RBracket) => parens -= 1,
                Token::Op(B::RBrace) => {
                    self.trivia();
                    self.end_line();
                    self.indent = self.indent.saturating_sub(1);
                    braces.pop();
                }
                _ => {}
            }
            self.push();
            match token {
                Token::Op(B::LBrace) => {
                    self.end_line();
                    braces.push(enumerates);
                    self.indent += 1;
                    self.fresh = true;
                }
                Token::Op(B::Semi) => self.end_line(),
                Token::Op(B::Comma) if parens == 0 && braces.last() == Some(&true) => self.end_line(),
                _ => {}
            }
        }
        self.end_line();
    }

    /// Returns the next token; comments before it are not written yet.
    fn peek(&self) -> Option<&'a Token> {
        self.pieces[self.at..].iter().find_map(|piece| match piece.kind {
            Kind::Token(token) => Some(token),
            _ => None,
        })
    }

    /// Adds the next token to the line.
    fn push(&mut self) {
        self.trivia();
        let Some(Piece { text, kind: Kind::Token(token), newlines }) = self.pieces.get(self.at).copied()
        else {
            return;
        };
        if self.line.is_empty() && newlines > 1 && *token != Token::Op(B::RBrace) {
            self.empty_line();
        }
        self.at += 1;
        let join = self.spacing.join(token, text, self.peek());
        self.line.push((text.to_owned(), join));
    }

    fn trivia(&mut self) {
        while let Some(piece) = self.pieces.get(self.at).filter(|piece| !matches!(piece.kind, Kind::Token(_)))
        {
            self.trivia_piece(*piece);
        }
    }

    fn trivia_piece(&mut self, piece: Piece<'a>) {
        self.at += 1;
        if matches!(piece.kind, Kind::Control) {
            self.end_line();
            if piece.newlines > 1 {
                self.empty_line();
            }
            self.out.push_str(piece.text);
            self.out.push('\n');
            self.fresh = false;
            return;
        }
        let text = self.comment(piece.text);
        if !self.line.is_empty() {
            self.line.push((text, Join { blank: true, may_break: false }));
        } else if piece.newlines == 0 && self.out.ends_with('\n') && !self.out.ends_with("\n\n") {
            // It continues the previous line.
            self.out.pop();
            self.out.push_str(&format!(" {text}\n"));
        } else {
            if piece.newlines > 1 {
                self.empty_line();
            }
            self.out.push_str(&"\t".repeat(self.indent));
            self.out.push_str(&text);
            self.out.push('\n');
            self.fresh = false;
        }
    }

    /// Aligns the lines of a comment that begin with a star.
    fn comment(&self, text: &str) -> String {
        let mut lines = text.lines();
        let mut all = lines.next().unwrap_or_default().trim_end().to_owned();
        for line in lines {
            all.push('\n');
            match line.trim_start().strip_prefix('*') {
                Some(rest) => {
                    all.push_str(&"\t".repeat(self.indent));
                    all.push_str(" *");
                    all.push_str(rest.trim_end());
                }
                None => all.push_str(line.trim_end()),
            }
        }
        all
    }

    fn empty_line(&mut self) {
        if !self.fresh && !self.out.is_empty() && !self.out.ends_with("\n\n") {
            self.out.push('\n');
        }
    }

    /// Writes the line, broken if it is too long.
    fn end_line(&mut self) {
        let line = std::mem::take(&mut self.line);
        self.spacing = Spacing::default();
        if line.is_empty() {
            return;
        }
        let mut column = TAB * self.indent;
        self.out.push_str(&"\t".repeat(self.indent));
        for (index, (text, join)) in line.iter().enumerate() {
            let unbroken = line[index + 1..].iter().take_while(|(_, join)| !join.may_break);
            let wanted: usize = unbroken.map(|(text, join)| width(text) + usize::from(join.blank)).sum();
            if join.may_break && column + 1 + width(text) + wanted > WIDTH {
                self.out.push('\n');
                self.out.push_str(&"\t".repeat(self.indent));
                self.out.push_str(CONTINUATION);
                column = TAB * self.indent + CONTINUATION.len();
            } else if join.blank && index > 0 {
                self.out.push(' ');
                column += 1;
            }
            self.out.push_str(text);
            column += width(text);
        }
        self.out.push('\n');
        self.fresh = false;
    }
}

fn width(text: &str) -> usize {
    text.chars().count()
}
