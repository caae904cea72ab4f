//! parser/print/layout/: the canonical layout of a script: formats its tokens and comments.

pub(super) mod pieces;
pub(super) mod spacing;
pub(super) mod write;

use crate::parser::lex::lexer::ItemStart;

pub(in crate::parser) use pieces::ItemTokens;

/// Lays out the text; only blanks, newlines and needless `;` differ.
pub(in crate::parser) fn layout(text: &str, items: &[ItemTokens]) -> String {
    let items: Vec<(ItemStart, Vec<pieces::Piece<'_>>)> = pieces::of_items(text, items);
    write::Writer::default().write(&items)
}
