//! typeck/expr/call.rs: subroutines in expressions.

use crate::parser::ast;
use crate::typeck::error::Result;
use crate::typeck::state::Checker;
use crate::typeck::state::names::Name;
use crate::typeck::typed::{Expr, ExprKind, Scope};
use crate::typeck::{error, words};
use crate::vocabulary::builtin::{self, Entry, Prototype, What};
use crate::vocabulary::callee;
use kinst_base::diag::{Tag, tags};
use kinst_base::source::{Span, Spanned};
use kinst_dif::insn::Subr;
use kinst_types::Type;

impl Checker<'_> {
    pub(in crate::typeck) fn check_call(
        &mut self,
        callee: &Spanned<String>,
        args: &[ast::Expr],
        span: Span,
    ) -> Result<Expr> {
        let entry = self.function(callee)?;
        match entry.what {
            What::Subroutine(prototype) => self.check_subroutine(entry, prototype, args, span),
            What::Aggregating(_) => {
                let function = entry.name.to_string();
                self.check_void(args, error::Misplaced::Aggregating { function, span }, span)
            }
            What::Action(action) => {
                let error = error::Misplaced::Action { action: entry.name.to_string(), span };
                match action.leaves() {
                    true => Err(error.into()),
                    false => self.check_void(args, error, span),
                }
            }
            _ => Err(error::Call::NotFunction { name: entry.name.to_string(), span }.into()),
        }
    }

    /// Checks a call without a value. The context reports it if it requires a value; otherwise the call is
    /// still misplaced.
    fn check_void(&mut self, args: &[ast::Expr], misplaced: error::Misplaced, span: Span) -> Result<Expr> {
        for arg in args {
            if super::assign::as_aggregation(arg).is_none() {
                self.check_operand(arg)?;
            }
        }
        self.misplaced.get_or_insert(misplaced);
        Ok(Expr::new(ExprKind::Int(0), Type::Void, span))
    }

    /// Returns the function of this name; records one that is not supported yet.
    pub(in crate::typeck) fn function(&mut self, callee: &Spanned<String>) -> Result<&'static Entry> {
        let (name, span) = (&callee.node, callee.span);
        let Some(entry) = builtin::lookup(name) else {
            let variable = Name { scope: Scope::Global, name, span };
            let error = match self.names.find(&variable) {
                Some(_) => error::Call::NotFunction { name: name.clone(), span },
                None => error::Call::Undefined { name: name.clone(), similar: callee::similar(name), span },
            };
            return Err(error.into());
        };
        match entry.what {
            What::Variable { .. } | What::Array(_) | What::Library => {
                Err(error::Call::NotFunction { name: name.clone(), span }.into())
            }
            _ => {
                if let Some(reason) = builtin::absent(entry.name) {
                    self.absent(tags::FUNC_UNDEF, format!("{}()", entry.name), reason, span);
                } else if !entry.supported {
                    self.not_yet(format!("{}()", entry.name), span);
                }
                Ok(entry)
            }
        }
    }

    pub(in crate::typeck) fn absent(&mut self, tag: Tag, what: String, reason: &'static str, span: Span) {
        self.unsupported.get_or_insert(error::Unavailable::Absent { tag, what, reason, span });
    }

    pub(in crate::typeck) fn not_yet(&mut self, what: String, span: Span) {
        self.unsupported.get_or_insert(error::Unavailable::NotYet { what, span });
    }

    fn check_subroutine(
        &mut self,
        entry: &Entry,
        prototype: Prototype,
        args: &[ast::Expr],
        span: Span,
    ) -> Result<Expr> {
        let args = match args {
            [_, prefix] if prototype.id == Subr::InetNtoa6 => {
                self.check_prefix(prefix)?;
                &args[..1]
            }
            args => args,
        };
        let most = prototype.params.len();
        let mut values = Vec::new();
        for arg in args {
            values.push(self.check_expr(arg)?);
        }
        self.require_count(entry.name, values.len(), most - prototype.optional, Some(most), span)?;
        let mut converted = Vec::new();
        for (number, (value, param)) in values.into_iter().zip(prototype.params).enumerate() {
            let param = words::type_of(param);
            if !self.is_compatible(&value, &param) {
                return Err(error::Call::ArgumentType {
                    function: entry.name.to_string(),
                    number: number + 1,
                    expected: param.to_string(),
                    found: value.ty,
                    span: value.span,
                }
                .into());
            }
            converted.push(self.convert(value, &param));
        }
        let kind = ExprKind::Call { subroutine: prototype.id, args: converted };
        Ok(Expr::new(kind, words::type_of(prototype.returns), span))
    }

    /// Checks the second argument that inet_ntoa6() has in Oracle's DTrace: whether an IPv4-mapped address
    /// keeps its prefix, as it does here.
    fn check_prefix(&mut self, prefix: &ast::Expr) -> Result<()> {
        let value = self.check_expr(prefix)?;
        match value.constant().filter(|_| value.ty.is_integer()) {
            Some(1..) => Ok(()),
            constant => Err(error::Call::Prefix { constant: constant.is_some(), span: prefix.span }.into()),
        }
    }

    /// Checks the number of arguments; `most` is `None` if any number of further arguments may follow.
    pub(in crate::typeck) fn require_count(
        &self,
        function: &str,
        found: usize,
        least: usize,
        most: Option<usize>,
        span: Span,
    ) -> Result<()> {
        if found >= least && most.is_none_or(|most| found <= most) {
            return Ok(());
        }
        Err(error::Call::ArgumentCount { function: function.to_string(), found, least, most, span }.into())
    }
}
