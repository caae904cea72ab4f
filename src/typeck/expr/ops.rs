//! typeck/expr/ops.rs: unary, binary and conditional operators.

use super::fold::{self, sum};
use crate::parser::ast::{self, BinaryOp, UnaryOp};
use crate::typeck::error::Result;
use crate::typeck::operand::{Operand, Translated};
use crate::typeck::state::Checker;
use crate::typeck::typed::{ArithOp, CompareClass, CompareOp, Expr, ExprKind, LogicOp, Memory, Place};
use crate::typeck::{error, words};
use crate::vocabulary::builtin;
use kinst_base::source::Span;
use kinst_types::intrinsic::{CHAR, INT};
use kinst_types::{Type, promote};

impl Checker<'_> {
    pub(in crate::typeck) fn check_unary(
        &mut self,
        op: UnaryOp,
        operand: &ast::Expr,
        span: Span,
    ) -> Result<Operand> {
        match op {
            UnaryOp::PreInc => return self.check_step(operand, true, false, span).map(Operand::Value),
            UnaryOp::PreDec => return self.check_step(operand, false, false, span).map(Operand::Value),
            _ => {}
        }
        if let (UnaryOp::Sizeof, ast::ExprKind::Ident(name)) = (op, &operand.kind)
            && name.contains('`')
            && let Some(size) = self.symbol_size(name, span)
        {
            return Ok(size.into());
        }
        match self.check_operand(operand)? {
            Operand::Value(value) => self.apply_unary(op, operand, value, span).map(Operand::Value),
            Operand::Translated(object) if op == UnaryOp::Deref => {
                self.dereference_object(object, operand.span, span)
            }
            Operand::Translated(object) => object.no_value(operand.span),
        }
    }

    /// The target of a translated pointer exists only through its members too.
    fn dereference_object(&self, object: Box<Translated>, operand: Span, span: Span) -> Result<Operand> {
        match object.ty.referent() {
            Some(to) => Ok(Translated { ty: self.complete(to.clone()), span, ..*object }.into()),
            None => object.no_value(operand),
        }
    }

    fn apply_unary(&self, op: UnaryOp, operand: &ast::Expr, value: Expr, span: Span) -> Result<Expr> {
        match op {
            UnaryOp::Plus | UnaryOp::Neg => {
                require(value.ty.is_integer(), &value, |found, span| error::Operator::NotArithmetic {
                    op: if op == UnaryOp::Neg { "-" } else { "+" },
                    found,
                    span,
                })?;
                Ok(match op {
                    UnaryOp::Plus => Expr { span, ..value },
                    _ => unary(value, u64::wrapping_neg, ExprKind::Negate, span),
                })
            }
            UnaryOp::BitNot => {
                require(value.ty.is_integer(), &value, |found, span| error::Operator::NotInteger {
                    op: "~",
                    found,
                    span,
                })?;
                Ok(unary(value, |v| !v, ExprKind::Complement, span))
            }
            UnaryOp::Not => {
                require(value.ty.is_scalar(), &value, |found, span| error::Operator::NotScalar {
                    op: "!",
                    found,
                    span,
                })?;
                let not = unary(value, |v| u64::from(v == 0), ExprKind::Not, span);
                Ok(Expr { ty: INT, ..not })
            }
            UnaryOp::AddrOf if is_argument(operand) => Err(error::Memory::AddressOfVariable { span }.into()),
            UnaryOp::AddrOf if Self::is_function_address(&value) => Ok(value),
            UnaryOp::AddrOf => check_address_of(value, span),
            UnaryOp::Sizeof => match &value.kind {
                ExprKind::Place(Place::Bits(_)) => {
                    Err(error::Memory::BitField { what: "sizeof", span: value.span }.into())
                }
                ExprKind::Str(text) => {
                    let size = ExprKind::Int(text.len() as u64 + 1);
                    Ok(Expr::new(size, words::type_of("size_t"), span))
                }
                _ => self.sizeof(&value.ty, span),
            },
            UnaryOp::Stringof => {
                if !self.is_textual(&value) {
                    return Err(error::Operator::Stringof { found: value.ty, span: value.span }.into());
                }
                Ok(self.cast(value, Type::String, Some(span)))
            }
            UnaryOp::Deref => self.dereference(value, span),
            UnaryOp::PreInc | UnaryOp::PreDec => Ok(value),
        }
    }

    pub(in crate::typeck) fn check_binary(
        &mut self,
        op: BinaryOp,
        left: &ast::Expr,
        right: &ast::Expr,
        span: Span,
    ) -> Result<Expr> {
        let compares = compare_op(op).is_some();
        let left = match self.check_expr(left) {
            Err(error) if compares => return Err(self.without_quotes(error, right)),
            checked => checked?,
        };
        let enumerator = if compares { self.check_enumerator(&left.ty, right)? } else { None };
        let right = match enumerator {
            Some(value) => value,
            None => {
                self.check_expr(right).map_err(|error| match compares && left.ty.is_string_compatible() {
                    true => as_text(*error),
                    false => error,
                })?
            }
        };
        if let Some(op) = logic_op(op) {
            return check_logic(op, left, right, span);
        }
        match compare_op(op) {
            Some(compare) => check_compare(compare, symbol(op), left, right, span),
            None => self.arith(arith_op(op), symbol(op), left, right, span),
        }
    }

    /// The error of the left side of a comparison: if the right side is a string, a word may be a string
    /// without quotes.
    fn without_quotes(&mut self, error: Box<error::Error>, right: &ast::Expr) -> Box<error::Error> {
        match self.check_expr(right) {
            Ok(right) if right.ty.is_string_compatible() => as_text(*error),
            _ => error,
        }
    }

    /// Checks an arithmetic operator, also for `op=` and `[]`; `op_text` is the user's spelling.
    pub(in crate::typeck) fn arith(
        &self,
        op: ArithOp,
        op_text: &'static str,
        left: Expr,
        right: Expr,
        span: Span,
    ) -> Result<Expr> {
        match op {
            ArithOp::Add | ArithOp::Sub if !(left.ty.is_integer() && right.ty.is_integer()) => {
                return self.pointer_arith(op, op_text, left, right, span);
            }
            ArithOp::Add | ArithOp::Sub => {}
            ArithOp::Mul | ArithOp::Div => {
                let error = |found, span| error::Operator::NotArithmetic { op: op_text, found, span };
                require(left.ty.is_integer(), &left, error)?;
                require(right.ty.is_integer(), &right, error)?;
            }
            _ => {
                let error = |found, span| error::Operator::NotInteger { op: op_text, found, span };
                require(left.ty.is_integer(), &left, error)?;
                require(right.ty.is_integer(), &right, error)?;
            }
        }
        let ty = match op {
            ArithOp::Shl | ArithOp::Shr => left.ty.clone(),
            _ => promote(&left.ty, &right.ty),
        };
        if matches!(op, ArithOp::Div | ArithOp::Rem) && right.constant() == Some(0) {
            return Err(error::Operator::DivisionByZero { span: right.span }.into());
        }
        if let (Some(l), Some(r)) = (left.constant(), right.constant())
            && let Some(value) = fold::arith(op, ty.is_signed(), l, r)
        {
            return Ok(Expr::new(ExprKind::Int(value), ty, span));
        }
        let (left, right) = (Box::new(left), Box::new(right));
        Ok(Expr::new(ExprKind::Arith { op, left, right }, ty, span))
    }

    /// Checks pointer ± integer, integer + pointer, pointer − pointer; a string counts as a pointer to char.
    fn pointer_arith(
        &self,
        op: ArithOp,
        op_text: &'static str,
        left: Expr,
        right: Expr,
        span: Span,
    ) -> Result<Expr> {
        let incompatible = |left: &Expr, right: &Expr| {
            let (left, right) = (left.ty.clone(), right.ty.clone());
            error::Operator::Incompatible { op: op_text, left, right, span }.into()
        };
        let element = |value: &Expr| match value.ty.resolved() {
            Type::String => Some(CHAR),
            ty => ty.referent().cloned(),
        };
        match (element(&left), element(&right)) {
            (Some(to), None) if right.ty.is_integer() => match self.layout.size(&to) {
                Some(size) => Ok(offset_pointer(op, left, right, to, size, span)),
                None => Err(incompatible(&left, &right)),
            },
            (None, Some(to)) if left.ty.is_integer() && op == ArithOp::Add => match self.layout.size(&to) {
                Some(size) => Ok(offset_pointer(op, right, left, to, size, span)),
                None => Err(incompatible(&left, &right)),
            },
            (Some(a), Some(b)) if op == ArithOp::Sub && a.same(&b) => match self.layout.size(&a) {
                Some(size) => Ok(pointer_difference(left, right, size, span)),
                None => Err(incompatible(&left, &right)),
            },
            _ => Err(incompatible(&left, &right)),
        }
    }

    pub(in crate::typeck) fn check_conditional(
        &mut self,
        condition: &ast::Expr,
        then: &ast::Expr,
        otherwise: &ast::Expr,
        span: Span,
    ) -> Result<Operand> {
        let condition = self.check_expr(condition)?;
        require(condition.ty.is_scalar(), &condition, |found, span| error::Operator::NotScalar {
            op: "?:",
            found,
            span,
        })?;
        // A constant selects the arm; the other arm may be anything that parses.
        if let Some(value) = condition.constant() {
            let chosen = self.check_operand(if value != 0 { then } else { otherwise })?;
            return Ok(chosen.at(span));
        }
        self.refuse_action(then, "?:")?;
        self.refuse_action(otherwise, "?:")?;
        let then = self.check_operand(then)?;
        let otherwise = self.check_operand(otherwise)?;
        let then = Box::new(known("?:", then)?);
        let otherwise = Box::new(known("?:", otherwise)?);
        let Some(ty) = self.unify(&then, &otherwise) else {
            let (left, right) = (then.ty, otherwise.ty);
            return Err(error::Operator::Incompatible { op: "?:", left, right, span }.into());
        };
        let condition = Box::new(condition);
        Ok(Expr::new(ExprKind::Conditional { condition, then, otherwise }, ty, span).into())
    }

    pub(in crate::typeck) fn check_comma(
        &mut self,
        left: &ast::Expr,
        right: &ast::Expr,
        span: Span,
    ) -> Result<Expr> {
        self.refuse_action(left, ",")?;
        self.refuse_action(right, ",")?;
        let left = self.check_operand(left)?;
        let right = self.check_operand(right)?;
        let left = Box::new(known(",", left)?);
        let right = Box::new(known(",", right)?);
        let ty = right.ty.clone();
        Ok(Expr::new(ExprKind::Comma { left, right }, ty, span))
    }

    /// Refuses an action as an operand of `?:` or `,`.
    fn refuse_action(&self, operand: &ast::Expr, op: &'static str) -> Result<()> {
        if let ast::ExprKind::Call { callee, .. } = &operand.kind
            && let Some(entry) = builtin::lookup(&callee.node)
            && matches!(entry.what, builtin::What::Action(_))
        {
            let (action, span) = (entry.name.to_string(), operand.span);
            return Err(error::Operator::ActionOperand { op, action, span }.into());
        }
        Ok(())
    }
}

/// The value of an operand that must have one.
fn known(op: &'static str, operand: Operand) -> Result<Expr> {
    operand.known().map_err(|(_, span)| error::Operator::DynamicOperand { op, span }.into())
}

fn require(ok: bool, value: &Expr, error: impl Fn(Type, Span) -> error::Operator) -> Result<()> {
    if ok { Ok(()) } else { Err(error(value.ty.clone(), value.span).into()) }
}

fn unary(value: Expr, fold: impl Fn(u64) -> u64, kind: impl Fn(Box<Expr>) -> ExprKind, span: Span) -> Expr {
    let ty = value.ty.clone();
    let kind = match value.constant() {
        Some(constant) => ExprKind::Int(fold(constant)),
        None => kind(Box::new(value)),
    };
    Expr::new(kind, ty, span)
}

/// Checks `&x`, the address that `x` would be loaded from; variables of D have no address.
fn check_address_of(value: Expr, span: Span) -> Result<Expr> {
    match value.kind {
        ExprKind::Place(Place::Memory(Memory { address, user })) => {
            let to = Type::Pointer { to: Box::new(value.ty), user };
            Ok(Expr::new(ExprKind::Convert(address), to, span))
        }
        ExprKind::Place(Place::Bits(_)) => {
            Err(error::Memory::BitField { what: "&", span: value.span }.into())
        }
        ExprKind::Place(_) | ExprKind::Builtin(_) | ExprKind::BuiltinElement { .. } => {
            Err(error::Memory::AddressOfVariable { span }.into())
        }
        _ if value.ty == Type::Dynamic => Err(error::Memory::AddressOfVariable { span }.into()),
        _ => Err(error::Memory::AddressOfValue { span }.into()),
    }
}

fn offset_pointer(op: ArithOp, pointer: Expr, index: Expr, to: Type, size: u64, span: Span) -> Expr {
    // The rest of a string is a string.
    let ty = match pointer.ty.is_string() {
        true => Type::String,
        false => Type::Pointer { to: Box::new(to), user: pointer.ty.is_user() },
    };
    let index = scale(index, size);
    match op {
        ArithOp::Add => sum(pointer, index, ty, span),
        _ => {
            let (left, right) = (Box::new(pointer), Box::new(index));
            Expr::new(ExprKind::Arith { op, left, right }, ty, span)
        }
    }
}

/// Scales an index to bytes, with a shift where the size is a power of two.
fn scale(index: Expr, size: u64) -> Expr {
    let (ty, span) = (index.ty.clone(), index.span);
    let constant = |value| Box::new(Expr::new(ExprKind::Int(value), ty.clone(), span));
    let kind = match (index.constant(), size) {
        (_, 1) => return index,
        (Some(value), _) => ExprKind::Int(value.wrapping_mul(size)),
        (None, size) if size.is_power_of_two() => {
            let right = constant(size.trailing_zeros().into());
            ExprKind::Arith { op: ArithOp::Shl, left: Box::new(index), right }
        }
        (None, size) => ExprKind::Arith { op: ArithOp::Mul, left: Box::new(index), right: constant(size) },
    };
    Expr::new(kind, ty, span)
}

fn pointer_difference(left: Expr, right: Expr, size: u64, span: Span) -> Expr {
    let ty = words::type_of("ptrdiff_t");
    let (left, right) = (Box::new(left), Box::new(right));
    let bytes = Expr::new(ExprKind::Arith { op: ArithOp::Sub, left, right }, ty.clone(), span);
    if size <= 1 {
        return bytes;
    }
    let divisor = Box::new(Expr::new(ExprKind::Int(size), ty.clone(), span));
    Expr::new(ExprKind::Arith { op: ArithOp::Div, left: Box::new(bytes), right: divisor }, ty, span)
}

fn check_logic(op: LogicOp, left: Expr, right: Expr, span: Span) -> Result<Expr> {
    let text = match op {
        LogicOp::Or => "||",
        LogicOp::Xor => "^^",
        LogicOp::And => "&&",
    };
    for operand in [&left, &right] {
        require(operand.ty.is_scalar(), operand, |found, span| error::Operator::NotScalar {
            op: text,
            found,
            span,
        })?;
    }
    let kind = match (left.constant(), right.constant()) {
        (Some(l), Some(r)) => ExprKind::Int(u64::from(match op {
            LogicOp::Or => l != 0 || r != 0,
            LogicOp::Xor => (l != 0) != (r != 0),
            LogicOp::And => l != 0 && r != 0,
        })),
        _ => ExprKind::Logic { op, left: Box::new(left), right: Box::new(right) },
    };
    Ok(Expr::new(kind, INT, span))
}

fn check_compare(op: CompareOp, text: &'static str, left: Expr, right: Expr, span: Span) -> Result<Expr> {
    let (l, r) = (&left.ty, &right.ty);
    let strings = l.is_string_compatible() && r.is_string_compatible();
    let class = if l.is_integer() && r.is_integer() {
        if promote(l, r).is_signed() { CompareClass::Signed } else { CompareClass::Unsigned }
    } else if strings && (l.is_string() || r.is_string()) {
        CompareClass::String
    } else if pointers_compare(&left, &right) {
        CompareClass::Unsigned
    } else {
        let (left, right) = (left.ty, right.ty);
        return Err(error::Operator::Incompatible { op: text, left, right, span }.into());
    };
    let kind = match (left.constant(), right.constant()) {
        (Some(l), Some(r)) => ExprKind::Int(u64::from(fold::compare(op, class, l, r))),
        _ => ExprKind::Compare { op, class, left: Box::new(left), right: Box::new(right) },
    };
    Ok(Expr::new(kind, INT, span))
}

fn pointers_compare(left: &Expr, right: &Expr) -> bool {
    let zero = |value: &Expr| value.ty.is_integer() && value.constant() == Some(0);
    let pointer = |value: &Expr| value.ty.is_pointer() || value.ty.is_string();
    match (left.ty.referent(), right.ty.referent()) {
        (Some(a), Some(b)) => {
            left.ty.is_user() == right.ty.is_user() && (a.same(b) || a.is_void() || b.is_void())
        }
        _ => pointer(left) && zero(right) || zero(left) && pointer(right),
    }
}

fn logic_op(op: BinaryOp) -> Option<LogicOp> {
    match op {
        BinaryOp::LogOr => Some(LogicOp::Or),
        BinaryOp::LogXor => Some(LogicOp::Xor),
        BinaryOp::LogAnd => Some(LogicOp::And),
        _ => None,
    }
}

/// An unknown variable that is compared with a string is probably the string itself, without quotes.
fn as_text(error: error::Error) -> Box<error::Error> {
    match error {
        error::Error::Name(error::Name::Undefined { name, similar, span, .. }) => {
            error::Name::Undefined { name, similar, meant: error::Meant::Text, span }.into()
        }
        other => Box::new(other),
    }
}

fn compare_op(op: BinaryOp) -> Option<CompareOp> {
    match op {
        BinaryOp::Eq => Some(CompareOp::Eq),
        BinaryOp::Ne => Some(CompareOp::Ne),
        BinaryOp::Lt => Some(CompareOp::Lt),
        BinaryOp::Le => Some(CompareOp::Le),
        BinaryOp::Gt => Some(CompareOp::Gt),
        BinaryOp::Ge => Some(CompareOp::Ge),
        _ => None,
    }
}

/// Returns the arithmetic operator of `op`, which is not a comparison; the bitwise one for a logical operator.
pub(in crate::typeck) fn arith_op(op: BinaryOp) -> ArithOp {
    match op {
        BinaryOp::BitOr | BinaryOp::LogOr => ArithOp::Or,
        BinaryOp::BitXor | BinaryOp::LogXor => ArithOp::Xor,
        BinaryOp::BitAnd | BinaryOp::LogAnd => ArithOp::And,
        BinaryOp::Shl => ArithOp::Shl,
        BinaryOp::Shr => ArithOp::Shr,
        BinaryOp::Sub => ArithOp::Sub,
        BinaryOp::Mul => ArithOp::Mul,
        BinaryOp::Div => ArithOp::Div,
        BinaryOp::Rem => ArithOp::Rem,
        _ => ArithOp::Add,
    }
}

fn symbol(op: BinaryOp) -> &'static str {
    match op {
        BinaryOp::LogOr => "||",
        BinaryOp::LogXor => "^^",
        BinaryOp::LogAnd => "&&",
        BinaryOp::BitOr => "|",
        BinaryOp::BitXor => "^",
        BinaryOp::BitAnd => "&",
        BinaryOp::Eq => "==",
        BinaryOp::Ne => "!=",
        BinaryOp::Lt => "<",
        BinaryOp::Le => "<=",
        BinaryOp::Gt => ">",
        BinaryOp::Ge => ">=",
        BinaryOp::Shl => "<<",
        BinaryOp::Shr => ">>",
        BinaryOp::Add => "+",
        BinaryOp::Sub => "-",
        BinaryOp::Mul => "*",
        BinaryOp::Div => "/",
        BinaryOp::Rem => "%",
    }
}

/// Whether this is `args[…]`: syntactically an element of a variable, but a computed value.
pub(in crate::typeck) fn is_argument(expr: &ast::Expr) -> bool {
    let ast::ExprKind::Index { base, .. } = &expr.kind else { return false };
    matches!(&base.kind, ast::ExprKind::Ident(name) if name == "args")
}
