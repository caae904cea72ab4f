//! parser/chain.rs: builds a tree by precedence from a chain of binary operators, `a + b * c == d`.

use super::ast::{BinaryOp, Expr};
use super::error::ParseError;
use super::node;

/// The operands and operators read so far. Each waiting operator binds more strongly than the one before it.
pub(super) struct Chain {
    waiting: Vec<(Expr, BinaryOp)>,
    last: Expr,
}

impl Chain {
    pub(super) fn new(first: Expr) -> Chain {
        Chain { waiting: Vec::new(), last: first }
    }

    /// Adds an operator and an operand. All operators associate to the left: one that binds at least as strongly as
    /// `op` now has its right operand.
    pub(super) fn push(mut self, op: BinaryOp, operand: Expr) -> Result<Chain, ParseError> {
        while self.waiting.last().is_some_and(|(_, waiting)| waiting.level() >= op.level()) {
            self = self.fold()?;
        }
        self.waiting.push((self.last, op));
        Ok(Chain { last: operand, ..self })
    }

    pub(super) fn finish(mut self) -> Result<Expr, ParseError> {
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
