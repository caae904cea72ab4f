//! parser/print/layout/pieces.rs: tokens, and the comments and control lines between them.

use crate::parser::lex::control::control_length;
use crate::parser::lex::lexer::ItemStart;
use crate::parser::lex::token::Token;
use kinst_base::source::Span;

/// The tokens of one external declaration, as read.
#[derive(Debug)]
pub(in crate::parser) struct ItemTokens {
    pub start: ItemStart,
    pub tokens: Vec<(Token, Span)>,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Piece<'a> {
    pub text: &'a str,
    pub kind: Kind<'a>,
    /// The number of newlines between the previous piece and this one.
    pub newlines: usize,
}

#[derive(Clone, Copy, Debug)]
pub(crate) enum Kind<'a> {
    Token(&'a Token),
    Comment,
    /// A line that begins with `#`.
    Control,
}

/// Returns each item with its tokens and the pieces before each token; the last item has the pieces after all
/// tokens.
pub(crate) fn of_items<'a>(text: &'a str, items: &'a [ItemTokens]) -> Vec<(ItemStart, Vec<Piece<'a>>)> {
    let mut all = Vec::new();
    let mut at = 0;
    for item in items {
        let mut pieces = Vec::new();
        for (token, span) in &item.tokens {
            let (start, end) = (span.start as usize, span.end as usize);
            let newlines = between(&text[at..start], &mut pieces);
            pieces.push(Piece { text: &text[start..end], kind: Kind::Token(token), newlines });
            at = end;
        }
        all.push((item.start, pieces));
    }
    let mut rest = Vec::new();
    between(&text[at..], &mut rest);
    all.push((ItemStart::End, rest));
    all
}

/// Adds the comments and control lines of a gap; returns the number of newlines after the last of them.
fn between<'a>(mut gap: &'a str, pieces: &mut Vec<Piece<'a>>) -> usize {
    let mut newlines = 0;
    loop {
        let blank =
            gap.len() - gap.trim_start_matches(|c: char| c.is_ascii_whitespace() || c == '\x0b').len();
        newlines += gap[..blank].matches('\n').count();
        gap = &gap[blank..];
        let (length, kind) = if let Some(comment) = gap.strip_prefix("/*") {
            // The star that opens the comment does not close it: `/*/`.
            (comment.find("*/").map_or(gap.len(), |end| end + 4), Kind::Comment)
        } else if gap.starts_with('#') {
            (control_length(gap), Kind::Control)
        } else if gap.starts_with('\\') {
            // A newline escaped by a backslash.
            gap = &gap[1..];
            continue;
        } else {
            return newlines;
        };
        pieces.push(Piece { text: gap[..length].trim_end(), kind, newlines });
        newlines = 0;
        gap = &gap[length..];
    }
}
