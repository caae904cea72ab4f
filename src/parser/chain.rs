//! parser/chain.rs: a chain of binary operators, `a + b * c == d`, becomes a tree by their precedence.

use super::ast::{BinaryOp, Expr};
use super::error::ParseError;
use super::node;

/// What is read so far. The operators that wait for their right operand bind ever more strongly.
pub struct Chain {
    waiting: Vec<(Expr, BinaryOp)>,
    last: Expr,
}

impl Chain {
    pub fn new(first: Expr) -> Chain {
        Chain { waiting: Vec::new(), last: first }
    }

    /// All of them associate to the left: what binds as strongly as `op` or more has its right operand now.
    pub fn push(mut self, op: BinaryOp, operand: Expr) -> Result<Chain, ParseError> {
        while self.waiting.last().is_some_and(|(_, waiting)| waiting.level() >= op.level()) {
            self = self.fold()?;
        }
        self.waiting.push((self.last, op));
        Ok(Chain { last: operand, ..self })
    }

    pub fn finish(mut self) -> Result<Expr, ParseError> {
        while !self.waiting.is_empty() {
            self = self.fold()?;
        }
        Ok(self.last)
    }

    fn fold(mut self) -> Result<Chain, ParseError> {
        if let Some((left, op)) = self.waiting.pop() {
            self.last = node::binary(op, left, self.last)?;
        }
        Ok(self)
    }
}
