//! parser/layout/: a script in its one canonical layout: the tokens and comments that were written, laid out anew.

mod pieces;
mod spacing;
mod write;

use super::lexer::ItemStart;
use super::token::Token;
use crate::source::Span;

pub(super) use pieces::control_length;

/// The tokens of one external declaration, as they were read.
#[derive(Debug)]
pub(super) struct ItemTokens {
    pub start: ItemStart,
    pub tokens: Vec<(Token, Span)>,
}

/// The text laid out; only blanks, newlines and needless `;` differ.
pub(super) fn layout(text: &str, items: &[ItemTokens]) -> String {
    let items: Vec<(ItemStart, Vec<pieces::Piece<'_>>)> = pieces::of_items(text, items);
    write::Writer::default().write(&items)
}
