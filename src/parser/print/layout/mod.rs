//! parser/print/layout/: the canonical layout of a script: its tokens and comments, laid out anew.

pub(super) mod pieces;
pub(super) mod spacing;
pub(super) mod write;

use crate::parser::lex::ItemStart;
use crate::parser::lex::token::Token;
use crate::source::Span;

/// The tokens of one external declaration, as they were read.
#[derive(Debug)]
pub(in crate::parser) struct ItemTokens {
    pub start: ItemStart,
    pub tokens: Vec<(Token, Span)>,
}

/// Lays out the text; only blanks, newlines and needless `;` differ.
pub(in crate::parser) fn layout(text: &str, items: &[ItemTokens]) -> String {
    let items: Vec<(ItemStart, Vec<pieces::Piece<'_>>)> = pieces::of_items(text, items);
    write::Writer::default().write(&items)
}
