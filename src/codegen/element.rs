//! codegen/element.rs: the tuple stack: keys of associative arrays and arguments of subroutines.

use super::error::{Error, Result};
use super::expr::Object;
use super::regs::Held;
use crate::typeck::typed::{Expr, ExprKind};
use kinst_dif::insn::{Opcode, PUSH_D, PUSH_STRING, TUPLE_ENTRIES};

/// An evaluated key or argument, and the way it is pushed.
pub(super) struct Entry {
    value: Held,
    push: Push,
}

#[derive(Clone, Copy)]
enum Push {
    Value,
    /// By reference, with this many bytes.
    Bytes(u64),
    /// A string of at most this many bytes.
    String(u64),
}

impl Object<'_, '_> {
    /// Evaluates all expressions before it pushes the first value: each may use the tuple stack itself.
    pub(super) fn hold_all(&mut self, exprs: &[Expr]) -> Result<Vec<Entry>> {
        if exprs.len() > TUPLE_ENTRIES {
            let (found, most, span) = (exprs.len(), TUPLE_ENTRIES, self.span);
            return Err(Box::new(Error::TooManyKeys { found, most, span }));
        }
        let mut entries = Vec::new();
        for expr in exprs {
            let reg = self.eval(expr)?;
            let push = self.push_of(expr);
            entries.push(Entry { value: self.regs.hold(reg), push });
        }
        Ok(entries)
    }

    fn push_of(&self, expr: &Expr) -> Push {
        let size = self.generator.program.layout.size(&expr.ty).unwrap_or(0);
        if let ExprKind::Str(text) = &expr.kind {
            return Push::String(text.len() as u64 + 1);
        }
        match (expr.ty.is_string(), expr.ty.is_by_ref()) {
            (true, _) => Push::String(size),
            (false, true) => Push::Bytes(size),
            (false, false) => Push::Value,
        }
    }

    /// Fills the tuple stack and releases the values.
    pub(super) fn push_all(&mut self, entries: Vec<Entry>) -> Result<()> {
        self.asm.plain(Opcode::Flushts);
        for entry in entries {
            self.push(entry, false)?;
        }
        Ok(())
    }

    /// Fills the tuple stack; the values stay held to be pushed again.
    pub(super) fn push_again(&mut self, entries: Vec<Entry>) -> Result<Vec<Entry>> {
        self.asm.plain(Opcode::Flushts);
        let mut kept = Vec::new();
        for entry in entries {
            kept.extend(self.push(entry, true)?);
        }
        Ok(kept)
    }

    fn push(&mut self, entry: Entry, keep: bool) -> Result<Option<Entry>> {
        let reg = self.take(entry.value)?;
        match entry.push {
            Push::Value => self.asm.push_value(reg),
            Push::Bytes(size) | Push::String(size) => {
                let ty = if matches!(entry.push, Push::String(_)) { PUSH_STRING } else { PUSH_D };
                let size = self.constant(size)?;
                self.asm.push_ref(ty, size, reg);
                self.regs.free(size);
            }
        }
        if keep {
            return Ok(Some(Entry { value: self.regs.hold(reg), push: entry.push }));
        }
        self.regs.free(reg);
        Ok(None)
    }
}
