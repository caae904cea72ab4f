//! typeck/expr/check.rs: expressions: names, constants, elements.

use super::member::{in_user_memory, in_variable};
use crate::parser::ast;
use crate::typeck::error::{self, Error, Result};
use crate::typeck::operand::Operand;
use crate::typeck::state::Checker;
use crate::typeck::state::names::{Name, as_name};
use crate::typeck::typed::{ArithOp, Expr, ExprKind, Memory, Place, Scope, VariableId, written_aggregation};
use crate::typeck::words;
use crate::vocabulary::builtin::{self, What};
use crate::vocabulary::constants;
use kinst_base::diag::tags;
use kinst_base::source::{Span, Spanned};
use kinst_dif::insn::Builtin;
use kinst_types::Type;
use kinst_types::intrinsic::{INT, LONG, LONG_LONG, UINT, ULONG, ULONG_LONG};

impl Checker<'_> {
    /// Checks an expression that must be a value.
    pub(in crate::typeck) fn check_expr(&mut self, expr: &ast::Expr) -> Result<Expr> {
        use ast::ExprKind as K;
        let span = expr.span;
        match &expr.kind {
            K::Int { value, text } => Ok(check_int(*value, text, span)),
            K::Char { value, .. } => {
                // More than four characters need more than an int.
                let ty = if *value >> 32 == 0 { INT } else { LONG };
                Ok(Expr::new(ExprKind::Int(*value as u64), ty, span))
            }
            K::Str { value, .. } => Ok(Expr::new(ExprKind::Str(value.clone()), Type::String, span)),
            K::Aggregation(name) => self.check_aggregation_operand(name, span),
            K::Scope(_) => Err(error::Name::BareScope { span }.into()),
            K::Postfix { op, operand } => self.check_step(operand, *op == ast::PostfixOp::Inc, true, span),
            K::Binary { op, left, right } => self.check_binary(*op, left, right, span),
            K::Assign { op: None, left, right } => self.check_assign(left, right, span),
            K::Assign { op: Some(op), left, right } => self.check_update(*op, left, right, span),
            K::Comma { left, right } => self.check_comma(left, right, span),
            K::Call { callee, args } => self.check_call(callee, args, span),
            K::Cast { ty, operand } => {
                let ty = self.resolve_type(ty)?;
                let value = self.check_expr(operand)?;
                self.check_cast(value, ty, span)
            }
            K::SizeofType { ty } => {
                let ty = self.resolve_type(ty)?;
                self.sizeof(&ty, span)
            }
            K::Offsetof { ty, member } => self.check_offsetof(ty, member, span),
            K::Ident(_)
            | K::Unary { .. }
            | K::Conditional { .. }
            | K::Index { .. }
            | K::Member { .. }
            | K::Xlate { .. } => self.check_operand(expr)?.value(span),
        }
    }

    /// Checks an expression that may also be a translated object, which only has members.
    pub(in crate::typeck) fn check_operand(&mut self, expr: &ast::Expr) -> Result<Operand> {
        use ast::ExprKind as K;
        let span = expr.span;
        match &expr.kind {
            K::Ident(name) => self.check_ident(name, span),
            K::Unary { op, operand } => self.check_unary(*op, operand, span),
            K::Conditional { condition, then, otherwise } => {
                self.check_conditional(condition, then, otherwise, span)
            }
            K::Index { base, indices } => self.check_index(base, indices, span),
            K::Member { base, arrow, member } => self.check_member(base, *arrow, member, span),
            K::Xlate { ty, operand } => self.check_xlate(ty, operand, span),
            K::Int { .. }
            | K::Char { .. }
            | K::Str { .. }
            | K::Aggregation(_)
            | K::Scope(_)
            | K::Postfix { .. }
            | K::Binary { .. }
            | K::Assign { .. }
            | K::Comma { .. }
            | K::Call { .. }
            | K::Cast { .. }
            | K::SizeofType { .. }
            | K::Offsetof { .. } => self.check_expr(expr).map(Operand::Value),
        }
    }

    /// Whether the name is a parameter of the inline or translator that is being expanded.
    fn is_bound(&self, name: &Name<'_>) -> bool {
        name.scope == Scope::Global && self.frames.last().is_some_and(|frame| frame.contains_key(name.name))
    }

    pub(in crate::typeck) fn check_ident(&mut self, name: &str, span: Span) -> Result<Operand> {
        if let Some(bound) = self.frames.last().and_then(|frame| frame.get(name)) {
            return Ok(Expr { span, ..bound.clone() }.into());
        }
        let wanted = Name { scope: Scope::Global, name, span };
        if let Some(inline) = self.check_inline(name, span) {
            return inline;
        }
        if let Some(id) = self.names.find(&wanted) {
            return Ok(self.read_scalar(id, span)?.into());
        }
        if let Some(entry) = self.builtin(name) {
            return Ok(self.check_builtin(entry, span)?.into());
        }
        if let [of, ..] = constants::machines(name)[..] {
            let machine = self.env.places.machine();
            let Some(index) = constants::register(name, machine) else {
                let (name, of, machine) = (name.to_owned(), of.facts().name, machine.facts().name);
                return Err(error::Name::Register { name, of, machine, span }.into());
            };
            return Ok(Expr::new(ExprKind::Int(index as u64), INT, span).into());
        }
        if let Some((value, ty)) = words::constant(name) {
            return Ok(Expr::new(ExprKind::Int(value as u64), ty, span).into());
        }
        if name.contains('`') {
            return Ok(self.check_symbol_read(name, span)?.into());
        }
        if name == "locals" {
            return Err(error::Local::Alone { span }.into());
        }
        Err(self.undefined(&wanted))
    }

    pub(in crate::typeck) fn check_builtin(&mut self, entry: &builtin::Entry, span: Span) -> Result<Expr> {
        match entry.what {
            What::Variable { id, ty } => {
                if let Some(argument) = self.check_raw_driver_argument(entry.name, span) {
                    return argument;
                }
                if let Some(reason) = builtin::absent(entry.name) {
                    self.absent(tags::VAR_UNSUP, format!("the variable {}", entry.name), reason, span);
                } else if !entry.supported {
                    self.not_yet(format!("the variable {}", entry.name), span);
                }
                Ok(Expr::new(ExprKind::Builtin(id), self.builtin_type(id, ty), span))
            }
            // The kernel defines its type: without it, no use of the variable can be checked.
            What::Library => {
                let (name, why) = (entry.name, self.env.kernel.without_types());
                Err(error::Unavailable::Library { name, why, span }.into())
            }
            What::Array(_) => Err(error::Name::ArrayAsScalar { name: entry.name.to_string(), span }.into()),
            What::Subroutine(_) | What::Action(_) | What::Aggregating(_) => {
                Err(error::Name::FunctionAsVariable { name: entry.name.to_string(), span }.into())
            }
        }
    }

    /// An aggregation has no value here; its type makes every operator refuse it with the operator's own message.
    fn check_aggregation_operand(&mut self, name: &str, span: Span) -> Result<Expr> {
        match self.names.find_aggregation(name) {
            Some(_) => Ok(Expr::new(ExprKind::Int(0), Type::Dynamic, span)),
            None => {
                let similar = self.names.similar_aggregation(name);
                let (name, meant) = (written_aggregation(name), error::Meant::Variable);
                Err(error::Name::Undefined { name, similar, meant, span }.into())
            }
        }
    }

    pub(in crate::typeck) fn read_scalar(&self, id: VariableId, span: Span) -> Result<Expr> {
        let variable = self.names.variable(id);
        if variable.keys.is_some() {
            return Err(error::Name::ArrayAsScalar { name: variable.full_name(), span }.into());
        }
        Ok(Expr::new(ExprKind::Place(Place::Variable(id)), variable.ty.clone(), span))
    }

    /// Returns the error for a variable that is read but has not been assigned so far.
    pub(in crate::typeck) fn undefined(&self, name: &Name<'_>) -> Box<Error> {
        let (similar, span) = (self.names.similar_variable(name), name.span);
        match name.scope {
            Scope::Global => {
                let symbol = self.env.kernel.symbol(&format!("`{}", name.name));
                let of_kernel = symbol.is_some_and(|symbol| symbol.ty != Some(Type::Function));
                let meant = if of_kernel { error::Meant::Kernel } else { error::Meant::Variable };
                error::Name::Undefined { name: name.full(), similar, meant, span }.into()
            }
            _ => error::Name::Unassigned { name: name.full(), similar, span }.into(),
        }
    }

    fn check_index(&mut self, base: &ast::Expr, indices: &[ast::Expr], span: Span) -> Result<Operand> {
        if let ast::ExprKind::Aggregation(name) = &base.kind {
            for key in indices {
                self.check_expr(key)?;
            }
            return Ok(self.check_aggregation_operand(name, span)?.into());
        }
        if let ast::ExprKind::Ident(name) = &base.kind {
            let name = Spanned::new(name.clone(), base.span);
            if let Some(value) = self.check_inline_call(&name, indices, span) {
                return value;
            }
        }
        let plain = as_name(base).filter(|name| !self.is_bound(name) && !name.name.contains('`'));
        if let Some(name) = plain {
            if let Some(id) = self.names.find(&name) {
                if self.names.variable(id).keys.is_some() {
                    let keys = self.check_keys(id, indices, span)?;
                    let ty = self.names.variable(id).ty.clone();
                    return Ok(
                        Expr::new(ExprKind::Place(Place::Element { array: id, keys }), ty, span).into()
                    );
                }
            } else if name.scope == Scope::Clause {
                return Err(error::Array::Local { name: name.full(), span }.into());
            } else if name.scope == Scope::Thread {
                return Ok(self.read_ahead(&name, indices, span)?.into());
            } else {
                match self.builtin(name.name) {
                    Some(entry) => match entry.what {
                        What::Array(array) => return self.check_builtin_array(entry, array, indices, span),
                        What::Library => return Ok(self.check_builtin(entry, span)?.into()),
                        _ => {}
                    },
                    None if constants::lookup(name.name).is_none() => {
                        return Ok(self.read_ahead(&name, indices, span)?.into());
                    }
                    None => {}
                }
            }
        }
        let [index] = indices else {
            return Err(error::Array::SeveralIndices { span }.into());
        };
        let (mut base, mut index) = (self.check_expr(base)?, self.check_expr(index)?);
        if base.ty.is_integer() {
            std::mem::swap(&mut base, &mut index);
        }
        let user = in_user_memory(&base);
        let index = self.bounded(&base, index)?;
        let mut address = self.arith(ArithOp::Add, "[]", base, index, span)?;
        if let (Type::Pointer { to, .. }, true) = (&address.ty, user) {
            address.ty = Type::Pointer { to: to.clone(), user };
        }
        Ok(self.dereference(address, span)?.into())
    }

    /// Refuses a constant index beyond the array. For an array in a variable of D, adds a run-time check of
    /// other indices: its neighbours are other variables. The length of an array elsewhere may differ from
    /// its type.
    fn bounded(&self, base: &Expr, index: Expr) -> Result<Expr> {
        let inside = in_variable(base);
        let length = match base.ty.resolved() {
            Type::Array { len, .. } if inside || *len > 1 => *len,
            Type::String if inside => self.layout.strsize.into(),
            _ => return Ok(index),
        };
        match index.constant() {
            Some(constant) if constant >= length => {
                let shown = if index.ty.is_signed() { (constant as i64).into() } else { constant.into() };
                Err(error::Array::OutOfBounds { index: shown, len: length, span: index.span }.into())
            }
            None if inside && index.ty.is_integer() => {
                let (ty, span) = (index.ty.clone(), index.span);
                Ok(Expr::new(ExprKind::Bounded { index: Box::new(index), length }, ty, span))
            }
            _ => Ok(index),
        }
    }

    fn check_builtin_array(
        &mut self,
        entry: &builtin::Entry,
        array: Builtin,
        indices: &[ast::Expr],
        span: Span,
    ) -> Result<Operand> {
        if array == Builtin::Args {
            return self.check_typed_argument(indices, span);
        }
        let [index] = indices else {
            return Err(error::Array::RegisterIndex { array: entry.name, span }.into());
        };
        let index = self.check_expr(index)?;
        match index.constant() {
            Some(i) if index.ty.is_integer() && i <= i32::MAX as u64 => {}
            _ => return Err(error::Array::RegisterIndex { array: entry.name, span: index.span }.into()),
        }
        let kind = ExprKind::BuiltinElement { array, index: Box::new(index) };
        Ok(Expr::new(kind, words::type_of("uint64_t"), span).into())
    }

    /// Returns the keys of an element of a known associative array, converted to its key types.
    pub(in crate::typeck) fn check_keys(
        &mut self,
        array: VariableId,
        indices: &[ast::Expr],
        span: Span,
    ) -> Result<Vec<Expr>> {
        let mut keys = Vec::new();
        for index in indices {
            keys.push(self.check_key(index)?);
        }
        let variable = self.names.variable(array);
        let types = variable.keys.clone().unwrap_or_default();
        let (name, declared) = (variable.full_name(), variable.span);
        if types.len() != keys.len() {
            let (expected, found) = (types.len(), keys.len());
            return Err(error::Array::KeyCount { name, expected, found, span, declared }.into());
        }
        let mut converted = Vec::new();
        for (number, (key, ty)) in keys.into_iter().zip(types).enumerate() {
            if !self.is_compatible(&key, &ty) {
                let (number, found, span) = (number + 1, key.ty, key.span);
                return Err(
                    error::Array::KeyType { name, number, expected: ty, found, span, declared }.into()
                );
            }
            converted.push(self.convert(key, &ty));
        }
        Ok(converted)
    }

    /// Checks a value that can be a key of an array or aggregation.
    pub(in crate::typeck) fn check_key(&mut self, index: &ast::Expr) -> Result<Expr> {
        let no_value = |found| error::Array::KeyVoid { found, span: index.span };
        let key = self.check_operand(index)?.known().map_err(|(found, _)| no_value(found))?;
        if key.ty.is_void() {
            return Err(no_value(key.ty).into());
        }
        self.require_sized(&key, tags::OP_INCOMPLETE)?;
        Ok(key)
    }

    /// Checks `*address`.
    pub(in crate::typeck) fn dereference(&self, address: Expr, span: Span) -> Result<Expr> {
        let to = match address.ty.resolved() {
            Type::String => kinst_types::intrinsic::CHAR,
            ty => match ty.referent() {
                Some(to) => to.clone(),
                None => {
                    return Err(error::Memory::NotPointer { found: address.ty, span: address.span }.into());
                }
            },
        };
        match to.resolved() {
            Type::Void => return Err(error::Memory::DereferenceVoid { span }.into()),
            Type::Function => return Err(error::Memory::DereferenceFunction { span }.into()),
            _ => {}
        }
        let user = address.ty.is_user();
        let memory = Memory { address: Box::new(address), user };
        Ok(Expr::new(ExprKind::Place(Place::Memory(memory)), self.complete(to), span))
    }

    pub(in crate::typeck) fn sizeof(&self, ty: &Type, span: Span) -> Result<Expr> {
        match self.layout.size(&self.complete(ty.clone())) {
            Some(size) if size > 0 => Ok(Expr::new(ExprKind::Int(size), words::type_of("size_t"), span)),
            _ => Err(error::Memory::NoSize { found: ty.clone(), span }.into()),
        }
    }
}

/// Gives a constant the first type of C99's list that holds its value; decimal constants without `u` are never
/// unsigned.
fn check_int(value: u64, text: &str, span: Span) -> Expr {
    let suffix = text.trim_start_matches(|c: char| c.is_ascii_hexdigit() || c == 'x' || c == 'X');
    let unsigned = suffix.contains(['u', 'U']);
    let longs = suffix.chars().filter(|c| matches!(c, 'l' | 'L')).count();
    let decimal = !text.starts_with('0');
    let types = [
        (INT, i32::MAX as u64),
        (UINT, u32::MAX.into()),
        (LONG, i64::MAX as u64),
        (ULONG, u64::MAX),
        (LONG_LONG, i64::MAX as u64),
        (ULONG_LONG, u64::MAX),
    ];
    let start = usize::from(unsigned) + 2 * longs;
    let step = if decimal || unsigned { 2 } else { 1 };
    let fits = types.into_iter().skip(start).step_by(step).find(|(_, max)| value <= *max);
    // The lexer refuses a constant that fits no type.
    let ty = fits.map_or(ULONG_LONG, |(ty, _)| ty);
    Expr::new(ExprKind::Int(value), ty, span)
}
