//! typeck/expr/text.rs: stringof() of the strings of C++, Rust and Go, which have an address and a length.

use super::layouts::Memory;
use crate::typeck::state::Checker;
use crate::typeck::typed::{ArithOp, Expr, ExprKind};
use kinst_base::source::Span;
use kinst_dif::insn::Subr;
use kinst_types::Type;
use kinst_types::intrinsic::ULONG;

impl Checker<'_> {
    /// Returns the text of a record that is a string of C++, Rust or Go in a process; `None` for other values.
    pub(super) fn text_of(&self, value: &Expr, span: Span) -> Option<Expr> {
        value.ty.resolved().is_record().then_some(())?;
        let Memory { address, bytes: length, .. } = self.text_in(value, span)?;
        let one = Expr::new(ExprKind::Int(1), ULONG, span);
        let (left, right) = (Box::new(length.clone()), Box::new(one));
        let size = ExprKind::Arith { op: ArithOp::Add, left, right };
        let address = Expr::new(ExprKind::Convert(Box::new(address)), ULONG, span);
        let args = vec![address, Expr::new(size, ULONG, span)];
        let text = Expr::new(ExprKind::Call { subroutine: Subr::Copyinstr, args }, Type::String, span);
        // An empty string of Rust has no memory.
        let empty = Expr::new(ExprKind::Str(Vec::new()), Type::String, span);
        let (condition, then, otherwise) = (Box::new(length), Box::new(text), Box::new(empty));
        Some(Expr::new(ExprKind::Conditional { condition, then, otherwise }, Type::String, span))
    }
}
