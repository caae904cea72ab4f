//! typeck/stmt/action.rs: statements: actions, and expressions evaluated for their effect.

use crate::parser::ast;
use crate::sugar::plain::ProbeDesc;
use crate::typeck::error::{Error, Result};
use crate::typeck::expr::assign::as_aggregation;
use crate::typeck::state::Checker;
use crate::typeck::typed::{
    AggregationId, Control, Expr, FormatAction, StackAction, Stmt, StmtKind, SymbolAction,
    written_aggregation,
};
use crate::typeck::{error, words};
use crate::vocabulary::builtin::{Action, Entry, What};
use kinst_base::diag::{Tag, tags};
use kinst_base::source::Span;
use kinst_base::space::Space;
use kinst_dif::action::{ActionKind, Takes};
use kinst_dif::{MAX_FRAMES, MAX_TRACEMEM};
use kinst_types::Type;
use kinst_types::intrinsic::INT;

impl Checker<'_> {
    pub(in crate::typeck) fn check_stmt(&mut self, expr: &ast::Expr) -> Result<Stmt> {
        let stmt = self.check_statement(expr);
        self.reject_misplaced_action(stmt)
    }

    /// Returns the result if no action was used in place of a value.
    pub(in crate::typeck) fn reject_misplaced_action<T>(&mut self, result: Result<T>) -> Result<T> {
        let Some(misplaced) = self.misplaced.take() else { return result };
        match result {
            Ok(_) => Err(misplaced.into()),
            Err(error) if error.is_about_void() => {
                Err(Box::new(Error::OfAction { error, action: misplaced }))
            }
            error => error,
        }
    }

    fn check_statement(&mut self, expr: &ast::Expr) -> Result<Stmt> {
        let span = expr.span;
        let kind = match &expr.kind {
            ast::ExprKind::Assign { op, left, right } if is_aggregating(left) => {
                if op.is_some() {
                    return Err(error::Aggregation::Update { span: left.span }.into());
                }
                self.check_aggregate(left, right, span)?
            }
            ast::ExprKind::Call { callee, args } => match self.function(callee)?.what {
                What::Action(action) => {
                    let entry = self.function(callee)?;
                    self.check_action(action, entry, args, span)?
                }
                _ => StmtKind::Expr(self.check_expr(expr)?),
            },
            _ if as_aggregation(expr).is_some() => {
                self.check_expr(expr)?;
                return Err(error::Aggregating::Missing { span }.into());
            }
            _ => StmtKind::Expr(self.check_expr(expr)?),
        };
        Ok(Stmt { kind, span })
    }

    fn check_action(
        &mut self,
        action: Action,
        entry: &Entry,
        args: &[ast::Expr],
        span: Span,
    ) -> Result<StmtKind> {
        let name = entry.name;
        Ok(match action {
            Action::Trace => StmtKind::Trace(self.check_copied(name, args, span)?),
            Action::Print if let Some(all) = self.check_print_all(args, span) => all?,
            Action::Print => {
                let value = self.check_traced(name, args, span)?;
                StmtKind::Print(self.printed_value(value))
            }
            Action::Printf => self.check_printf(FormatAction::Printf, name, args, span)?,
            Action::System => self.check_printf(FormatAction::System, name, args, span)?,
            Action::Freopen => self.check_printf(FormatAction::Freopen, name, args, span)?,
            Action::Printa => self.check_printa(args, span)?,
            Action::Tracemem => self.check_tracemem(args, span)?,
            Action::Printm => self.check_printm(name, args, span)?,
            Action::Stack | Action::Ustack | Action::Jstack => {
                let stack = self.check_stack(action, args, span)?;
                StmtKind::Stack(self.with_copy(stack))
            }
            Action::Sym | Action::Mod | Action::Usym | Action::Umod | Action::Uaddr => {
                let (symbol, address) = self.check_symbol(action, name, args, span)?;
                StmtKind::Symbol(symbol, address)
            }
            Action::Exit => StmtKind::Exit(self.check_int_arg(name, args, span)?),
            Action::Speculation(kind) => self.check_speculation(kind, name, args, span)?,
            Action::Destructive(kind) => self.check_destructive(kind, name, args, span)?,
            Action::Clear => {
                StmtKind::Control(Control::Clear(self.check_aggregation_arg(action, name, args, 1, span)?))
            }
            Action::Denormalize => {
                let aggregation = self.check_aggregation_arg(action, name, args, 1, span)?;
                StmtKind::Control(Control::Denormalize(aggregation))
            }
            Action::Trunc => {
                let aggregation = self.check_aggregation_arg(action, name, args, 2, span)?;
                let count = args.get(1).map(|arg| self.check_scalar_arg(action, name, arg)).transpose()?;
                StmtKind::Control(Control::Trunc { aggregation, count })
            }
            Action::Normalize => {
                let aggregation = self.check_aggregation_arg(action, name, args, 2, span)?;
                let Some(divisor) = args.get(1) else {
                    return Err(aggregation_count(action, name, args.len(), span));
                };
                let divisor = self.check_scalar_arg(action, name, divisor).and_then(not_zero)?;
                StmtKind::Control(Control::Normalize { aggregation, divisor })
            }
            Action::Setopt => self.check_setopt(name, args, span)?,
            Action::Ftruncate => {
                self.require_count(name, args.len(), 0, Some(0), span)?;
                StmtKind::Control(Control::Ftruncate)
            }
        })
    }

    /// Checks the argument of trace() or print(), which may be any value.
    pub(in crate::typeck) fn check_traced(
        &mut self,
        name: &'static str,
        args: &[ast::Expr],
        span: Span,
    ) -> Result<Expr> {
        self.require_count(name, args.len(), 1, Some(1), span)?;
        if args.first().is_some_and(|arg| as_aggregation(arg).is_some()) {
            return Err(error::Trace::Aggregation { action: name, span: args[0].span }.into());
        }
        let value = self.check_operand(&args[0])?.known().map_err(|(found, span)| error::Trace::Dynamic {
            action: name,
            found,
            span,
        })?;
        if value.ty.is_void() {
            return Err(error::Trace::Void { action: name, span: value.span }.into());
        }
        let print = name == "print";
        self.require_sized(&value, if print { tags::PRINT_SIZE } else { tags::OP_INCOMPLETE })?;
        Ok(value)
    }

    /// Checks the argument of trace(), which is recorded as a whole.
    fn check_copied(&mut self, name: &'static str, args: &[ast::Expr], span: Span) -> Result<Expr> {
        let value = self.check_traced(name, args, span)?;
        Ok(self.copied_in(value))
    }

    fn check_tracemem(&mut self, args: &[ast::Expr], span: Span) -> Result<StmtKind> {
        self.require_count("tracemem", args.len(), 2, None, span)?;
        if args.len() > 3 {
            return Err(error::Trace::TracememCount { found: args.len(), span }.into());
        }
        let address = self.check_expr(&args[0])?;
        if !address.ty.is_integer() && !address.ty.is_pointer() {
            return Err(error::Trace::TracememAddress { found: address.ty, span: address.span }.into());
        }
        let size = self.check_prototype("tracemem", 2, &args[1], "size_t")?;
        let Some(bytes) = positive(&size).filter(|bytes| *bytes <= MAX_TRACEMEM) else {
            return Err(error::Trace::TracememSize { span: size.span }.into());
        };
        let length = match args.get(2) {
            None => None,
            Some(arg) => {
                let length = self.check_expr(arg)?;
                if !length.ty.is_scalar() {
                    return Err(error::Trace::TracememLength { found: length.ty, span: arg.span }.into());
                }
                Some(length)
            }
        };
        Ok(StmtKind::Tracemem { address, size: bytes, length })
    }

    /// Checks printm(size, memref(address, length)), which prints at most `size` bytes of the referenced memory.
    fn check_printm(&mut self, name: &'static str, args: &[ast::Expr], span: Span) -> Result<StmtKind> {
        self.require_count(name, args.len(), 2, Some(2), span)?;
        let size = self.check_prototype(name, 1, &args[0], "size_t")?;
        let reference = self.check_prototype(name, 2, &args[1], "uintptr_t *")?;
        let Some(bytes) = positive(&size).filter(|bytes| *bytes <= MAX_TRACEMEM) else {
            return Err(error::Trace::PrintmSize { span: size.span }.into());
        };
        if !matches!(reference.ty.resolved(), Type::Pointer { .. }) {
            return Err(error::Trace::PrintmAddress { found: reference.ty, span: reference.span }.into());
        }
        Ok(StmtKind::Printm { size: bytes, reference })
    }

    /// Checks an argument of an action against the type in the prototype.
    fn check_prototype(&mut self, name: &str, number: usize, arg: &ast::Expr, param: &str) -> Result<Expr> {
        let value = self.check_expr(arg)?;
        let to = words::type_of(param);
        if self.is_compatible(&value, &to) {
            return Ok(value);
        }
        let (function, expected) = (name.to_string(), to.to_string());
        let (found, span) = (value.ty, arg.span);
        Err(error::Call::ArgumentType { function, number, expected, found, span }.into())
    }

    pub(in crate::typeck) fn check_stack(
        &mut self,
        action: Action,
        args: &[ast::Expr],
        span: Span,
    ) -> Result<StackAction> {
        let user = action != Action::Stack;
        if args.len() > 1 + usize::from(user) {
            return Err(error::Action::StackCount { user, found: args.len(), span }.into());
        }
        let frames = match args.first() {
            None if action == Action::Jstack => self.env.jstackframes,
            None if user => self.env.ustackframes,
            None => self.env.stackframes,
            Some(arg) => {
                let value = self.check_expr(arg)?;
                let frames = positive(&value).filter(|frames| *frames <= MAX_FRAMES);
                frames.ok_or(error::Action::StackFrames { user, span: arg.span })?
            }
        };
        let frames = frames.min(self.env.maxframes);
        if !user {
            return Ok(StackAction::Kernel { frames });
        }
        let strsize = match args.get(1) {
            None if action == Action::Jstack => self.env.jstackstrsize,
            None => 0,
            Some(arg) => {
                let value = self.check_expr(arg)?;
                let size = value.constant().filter(|_| value.ty.is_integer());
                let size = size.and_then(|size| u32::try_from(size).ok());
                size.ok_or(error::Action::UstackStrsize { span: arg.span })?
            }
        };
        Ok(StackAction::User { frames, strsize, copied: self.env.ustackcopy.unwrap_or_default() })
    }

    /// Lets a clause of programs copy the stack unless an option says how much: most have no frame pointers.
    fn with_copy(&self, stack: StackAction) -> StackAction {
        const COPIED: u32 = 8 << 10;
        let is_in_program = |probe: &ProbeDesc| {
            probe.kind.fields().is_some_and(|fields| Space::of_program(&fields.provider).is_some())
        };
        match stack {
            StackAction::User { frames, strsize, .. }
                if self.env.ustackcopy.is_none()
                    && self.probes.as_ref().is_some_and(|probes| probes.iter().all(is_in_program)) =>
            {
                StackAction::User { frames, strsize, copied: COPIED }
            }
            stack => stack,
        }
    }

    pub(in crate::typeck) fn check_symbol(
        &mut self,
        action: Action,
        name: &str,
        args: &[ast::Expr],
        span: Span,
    ) -> Result<(SymbolAction, Expr)> {
        let (address, called) = self.check_address(name, args, span)?;
        let symbol = match action {
            Action::Sym => SymbolAction::Sym { called },
            Action::Mod => SymbolAction::Mod,
            Action::Usym => SymbolAction::Usym,
            Action::Umod => SymbolAction::Umod,
            _ => SymbolAction::Uaddr,
        };
        Ok((symbol, address))
    }

    /// Checks that the only argument is an address; returns whether it is like `caller`.
    fn check_address(&mut self, name: &str, args: &[ast::Expr], span: Span) -> Result<(Expr, bool)> {
        let (value, to) = self.check_argument(name, args, "uintptr_t", span)?;
        let called = value.ty.is_place_in_code() && !matches!(value.ty.resolved(), Type::Pointer { .. });
        Ok((self.convert(value, &to), called))
    }

    /// Checks that the only argument is an integer, or a pointer where an address is expected.
    fn check_one(&mut self, name: &str, args: &[ast::Expr], param: &str, span: Span) -> Result<Expr> {
        let (value, to) = self.check_argument(name, args, param, span)?;
        Ok(self.convert(value, &to))
    }

    /// Returns the argument unconverted, and the type to convert it to.
    fn check_argument(
        &mut self,
        name: &str,
        args: &[ast::Expr],
        param: &str,
        span: Span,
    ) -> Result<(Expr, Type)> {
        self.require_count(name, args.len(), 1, Some(1), span)?;
        let value = self.check_expr(&args[0])?;
        let to = words::type_of(param);
        let address = param == "uintptr_t" && matches!(value.ty.resolved(), Type::Pointer { .. });
        if !address && !self.is_compatible(&value, &to) {
            let (function, expected) = (name.to_string(), to.to_string());
            let (found, span) = (value.ty, value.span);
            return Err(error::Call::ArgumentType { function, number: 1, expected, found, span }.into());
        }
        Ok((value, to))
    }

    fn check_int_arg(&mut self, name: &str, args: &[ast::Expr], span: Span) -> Result<Expr> {
        let value = self.check_one(name, args, "int", span)?;
        Ok(self.cast(value, INT, None))
    }

    fn check_speculation(
        &mut self,
        kind: ActionKind,
        name: &str,
        args: &[ast::Expr],
        span: Span,
    ) -> Result<StmtKind> {
        Ok(StmtKind::Speculation(kind, self.check_int_arg(name, args, span)?))
    }

    fn check_destructive(
        &mut self,
        kind: ActionKind,
        name: &str,
        args: &[ast::Expr],
        span: Span,
    ) -> Result<StmtKind> {
        if kind.takes() == Takes::Value {
            return Ok(StmtKind::Destructive(kind, Some(self.check_int_arg(name, args, span)?)));
        }
        self.require_count(name, args.len(), 0, Some(0), span)?;
        Ok(StmtKind::Destructive(kind, None))
    }

    /// Returns the aggregation that clear(), trunc(), normalize() and denormalize() name without keys.
    fn check_aggregation_arg(
        &mut self,
        action: Action,
        name: &'static str,
        args: &[ast::Expr],
        most: usize,
        span: Span,
    ) -> Result<AggregationId> {
        let Some(arg) = args.first().filter(|_| args.len() <= most) else {
            return Err(aggregation_count(action, name, args.len(), span));
        };
        let ast::ExprKind::Aggregation(aggregation) = &arg.kind else {
            return Err(
                error::Action::NotAggregation { tag: tags(action).argument, name, span: arg.span }.into()
            );
        };
        self.names.find_aggregation(aggregation).ok_or_else(|| {
            let similar = self.names.similar_aggregation(aggregation);
            let (aggregation, span) = (written_aggregation(aggregation), arg.span);
            let tag = tags(action).unknown;
            error::Action::AggregationUndefined { tag, aggregation, similar, span }.into()
        })
    }

    fn check_scalar_arg(&mut self, action: Action, name: &'static str, arg: &ast::Expr) -> Result<Expr> {
        let value = self.check_expr(arg)?;
        if !value.ty.is_scalar() {
            let (tag, found, span) = (tags(action).scalar, value.ty, arg.span);
            return Err(error::Action::NotInteger { tag, action: name, found, span }.into());
        }
        Ok(value)
    }

    fn check_setopt(&mut self, name: &str, args: &[ast::Expr], span: Span) -> Result<StmtKind> {
        self.require_count(name, args.len(), 1, Some(2), span)?;
        let mut text = |number: usize, arg: &ast::Expr| -> Result<Expr> {
            let value = self.check_expr(arg)?;
            if !value.ty.is_string_compatible() {
                let (function, expected) = (name.to_string(), "a string".to_string());
                let (found, span) = (value.ty, arg.span);
                return Err(error::Call::ArgumentType { function, number, expected, found, span }.into());
            }
            Ok(self.cast(value, Type::String, None))
        };
        let value = args.get(1).map(|arg| text(2, arg));
        let name = text(1, &args[0])?;
        Ok(StmtKind::Control(Control::Setopt { name, value: value.transpose()? }))
    }
}

/// Tags of the actions that take an aggregation.
struct ActionTags {
    count: Tag,
    argument: Tag,
    unknown: Tag,
    scalar: Tag,
}

fn tags(action: Action) -> ActionTags {
    let (count, argument, unknown, scalar) = match action {
        Action::Clear => (tags::CLEAR_PROTO, tags::CLEAR_AGGARG, tags::CLEAR_AGGBAD, tags::PROTO_ARG),
        Action::Trunc => (tags::TRUNC_PROTO, tags::TRUNC_AGGARG, tags::TRUNC_AGGBAD, tags::TRUNC_SCALAR),
        _ => (tags::NORMALIZE_PROTO, tags::NORMALIZE_AGGARG, tags::NORMALIZE_AGGBAD, tags::NORMALIZE_SCALAR),
    };
    ActionTags { count, argument, unknown, scalar }
}

fn not_zero(divisor: Expr) -> Result<Expr> {
    match divisor.constant() {
        Some(0) => Err(error::Operator::DivisionByZero { span: divisor.span }.into()),
        _ => Ok(divisor),
    }
}

fn aggregation_count(action: Action, name: &'static str, found: usize, span: Span) -> Box<Error> {
    let expected = match action {
        Action::Trunc => "an aggregation and, if wanted, a number",
        Action::Normalize => "an aggregation and a divisor",
        _ => "one aggregation",
    };
    error::Action::AggregationCount { tag: tags(action).count, action: name, expected, found, span }.into()
}

fn is_aggregating(left: &ast::Expr) -> bool {
    match &left.kind {
        ast::ExprKind::Index { base, .. } => is_aggregating(base),
        ast::ExprKind::Aggregation(_) => true,
        _ => false,
    }
}

/// Returns the value if it is a positive integer constant.
fn positive(value: &Expr) -> Option<u32> {
    let constant = value.constant().filter(|_| value.ty.is_integer())?;
    u32::try_from(constant).ok().filter(|n| *n > 0 && *n <= i32::MAX as u32)
}
