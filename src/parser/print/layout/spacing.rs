//! parser/print/layout/spacing.rs: blanks between tokens, and the places where a long line may be broken.

use crate::parser::lex::token::{BodyToken as B, Token};

/// The context from earlier tokens of a line for the next one.
#[derive(Clone, Debug, Default)]
pub(crate) struct Spacing<'a> {
    previous: Option<(&'a Token, &'a str)>,
    role: Role,
    parens: Vec<Paren>,
    /// Whether this is between the `<` and `>` of xlate.
    angle: bool,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Role {
    #[default]
    Start,
    /// Ends an operand.
    Operand,
    /// A word of a type, after which a `*` makes a pointer.
    Type,
    /// A sign before its operand, and the star of a pointer.
    Prefix,
    /// Closes a cast.
    Cast,
    Other,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Paren {
    Call,
    Cast,
    /// After `if`.
    Condition,
    Group,
}

/// How a token follows the one before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Join {
    pub blank: bool,
    /// Whether a line that is too long may be broken here.
    pub may_break: bool,
}

impl<'a> Spacing<'a> {
    /// Decides how a token joins the preceding one; `next` is the token after this one.
    pub(crate) fn join(&mut self, token: &'a Token, text: &'a str, next: Option<&Token>) -> Join {
        let role = self.role_of(token, next);
        let blank = self.blank(token, text, role);
        let after_comma = matches!(self.previous, Some((Token::Op(B::Comma), _)));
        let after_assignment = matches!(self.previous, Some((Token::Op(B::Assign), _)));
        let joins =
            matches!(token, Token::Op(B::AndAnd | B::OrOr | B::XorXor | B::Question | B::Colon | B::Plus))
                && role == Role::Other;
        let may_break = blank && (after_comma || after_assignment || joins);
        self.angle &= *token != Token::Op(B::Gt);
        self.previous = Some((token, text));
        self.role = role;
        Join { blank, may_break }
    }

    fn role_of(&mut self, token: &Token, next: Option<&Token>) -> Role {
        let operand = matches!(self.role, Role::Operand);
        match token {
            Token::Op(B::LParen) => {
                let type_next = next.is_some_and(is_type);
                let paren = match (self.previous, self.role) {
                    (Some((Token::If, _)), _) => Paren::Condition,
                    (Some((Token::Str { .. }, _)), _) => Paren::Group,
                    (Some((Token::Sizeof | Token::Offsetof, _)), _) | (_, Role::Operand) => Paren::Call,
                    _ if type_next => Paren::Cast,
                    _ => Paren::Group,
                };
                self.parens.push(paren);
                Role::Other
            }
            Token::Op(B::RParen) => match self.parens.pop() {
                Some(Paren::Cast) => Role::Cast,
                Some(Paren::Condition) => Role::Other,
                _ => Role::Operand,
            },
            Token::Op(B::RBracket) => Role::Operand,
            Token::Op(B::Lt) if matches!(self.previous, Some((Token::Xlate, _))) => {
                self.angle = true;
                Role::Prefix
            }
            Token::Op(B::Gt) if self.angle => Role::Cast,
            Token::Op(B::RBrace) => Role::Type,
            Token::Op(B::Increment | B::Decrement) if operand => Role::Operand,
            Token::Op(B::Increment | B::Decrement | B::Tilde | B::Not) => Role::Prefix,
            Token::Op(B::Star | B::Minus | B::Plus | B::And) if !operand => Role::Prefix,
            Token::Op(_) | Token::PredicateEnd => Role::Other,
            Token::Sizeof | Token::Stringof | Token::Offsetof | Token::Xlate => Role::Other,
            Token::TypeName(_) => Role::Type,
            token if is_type(token) => Role::Type,
            Token::Ident(_)
            | Token::Aggregation(_)
            | Token::Int { .. }
            | Token::NegativeInt { .. }
            | Token::Char { .. }
            | Token::Str { .. }
            | Token::SelfScope
            | Token::ThisScope => Role::Operand,
            _ => Role::Other,
        }
    }

    fn blank(&self, token: &Token, text: &str, role: Role) -> bool {
        let Some((previous, before)) = self.previous else { return false };
        // These would be read as one operator, or a slash would open a comment.
        let merges = before.ends_with(['+', '-', '&']) && text.starts_with(&before[before.len() - 1..])
            || before.ends_with('/') && text.starts_with('*');
        if merges {
            return true;
        }
        let scoped = text.contains('`') || before.contains('`');
        match (previous, token) {
            // `` a.b`c `` would be read as one name.
            (Token::Op(B::Dot), _) | (_, Token::Op(B::Dot)) => {
                scoped || matches!(previous, Token::Int { .. })
            }
            (Token::Op(B::Arrow), _) | (_, Token::Op(B::Arrow)) => false,
            (Token::Op(B::LParen | B::LBracket), _) => false,
            (_, Token::Op(B::RParen | B::RBracket | B::Comma | B::Semi)) => false,
            (_, Token::Op(B::Gt)) if self.angle => false,
            // The slashes of a predicate.
            (_, Token::PredicateEnd) => false,
            (_, Token::Op(B::Increment | B::Decrement)) if role == Role::Operand => false,
            (Token::Sizeof | Token::Stringof | Token::Offsetof, Token::Op(B::LParen)) => false,
            (_, Token::Op(B::LBracket)) => self.role == Role::Other || self.role == Role::Type,
            // The values of an alias, after its descriptions.
            (Token::Str { .. }, Token::Op(B::LParen)) => true,
            (_, Token::Op(B::LParen)) => !matches!(self.role, Role::Operand | Role::Prefix | Role::Cast),
            // A `*` after a pointer's star or a type's qualifier.
            _ if self.role == Role::Prefix => false,
            _ if self.role == Role::Cast => false,
            _ => true,
        }
    }

    /// Records the `/` that opens a predicate; no blank follows it.
    pub(crate) fn opened_predicate(&mut self) {
        self.role = Role::Cast;
    }
}

fn is_type(token: &Token) -> bool {
    matches!(
        token,
        Token::TypeKeyword(_) | Token::Qualifier(_) | Token::Tag(_) | Token::Enum | Token::TypeName(_)
    )
}
