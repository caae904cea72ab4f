//! typeck/expr/member.rs: members of structs and unions: `.`, `->`, offsetof; bit-fields.

use super::fold::sum;
use crate::parser::ast;
use crate::typeck::error;
use crate::typeck::error::Result;
use crate::typeck::operand::Operand;
use crate::typeck::state::Checker;
use crate::typeck::state::names::Name;
use crate::typeck::typed::{ArithOp, Bits, Expr, ExprKind, Memory, Place, VariableId};
use kinst_base::diag::{Tag, suggest, tags};
use kinst_base::source::{Span, Spanned};
use kinst_dif::insn::{Builtin, Subr};
use kinst_types::intrinsic::{INT, LONG, UCHAR, UINT, ULONG, USHORT};
use kinst_types::{Member, Tagged, Type, TypeSource as _, has_size};

impl Checker<'_> {
    pub(in crate::typeck) fn check_member(
        &mut self,
        base: &ast::Expr,
        arrow: bool,
        member: &Spanned<String>,
        span: Span,
    ) -> Result<Operand> {
        if let ast::ExprKind::Scope(scope) = base.kind {
            if !arrow {
                return Err(error::Name::BareScope { span: base.span }.into());
            }
            let name = Name { scope: scope.into(), name: &member.node, span };
            return match self.names.find(&name) {
                Some(id) => Ok(self.read_scalar(id, span)?.into()),
                None => Err(self.undefined(&name)),
            };
        }
        if self.is_locals(base) {
            return Ok(self.check_local(base.span, arrow, member, span)?.into());
        }
        let argument = self.argument_meant(base);
        let base = match self.check_operand(base)? {
            Operand::Value(base) => base,
            Operand::Translated(object) => return self.check_translated_member(*object, member, span),
        };
        let record = match arrow {
            true => match base.ty.referent() {
                Some(record) => record.clone(),
                None => {
                    let (found, span) = (base.ty, base.span);
                    return Err(error::Memory::ArrowNotPointer { found, argument, span }.into());
                }
            },
            false => base.ty.clone(),
        };
        if matches!(base.kind, ExprKind::Builtin(Builtin::Curthread)) && record.is_void() {
            let (name, why) = ("struct task_struct".to_string(), self.env.kernel.without_types());
            return Err(error::Kernel::Type { name, why, span: base.span }.into());
        }
        let tagged =
            self.require_record(&record, base.span, |found, span| error::Memory::NotRecord { found, span })?;
        let found = self.find_member(&tagged, &record, member, tags::TYPE_MEMBER)?;
        let user = in_user_memory(&base);
        Ok(self.load_member(base, found, user, span)?.into())
    }

    /// The probe that the expression is an argument of, if it is `args[N]`.
    fn argument_meant(&self, expr: &ast::Expr) -> Option<error::Argument> {
        let ast::ExprKind::Index { base, .. } = &expr.kind else { return None };
        if !matches!(&base.kind, ast::ExprKind::Ident(name) if name == "args") {
            return None;
        }
        let first = self.probes.as_ref()?.first()?;
        let probe = first.kind.to_string();
        let returns = probe.starts_with("fbt:") && probe.ends_with(":return");
        Some(error::Argument { probe, returns })
    }

    pub(in crate::typeck) fn load_member(
        &self,
        base: Expr,
        member: Member,
        user: bool,
        span: Span,
    ) -> Result<Expr> {
        let at = |base: Expr, offset: u64, ty: Type| {
            let offset = Expr::new(ExprKind::Int(offset), LONG, span);
            sum(base, offset, Type::Pointer { to: Box::new(ty), user }, span)
        };
        let Some(bits) = member.bits else {
            let address = at(base, member.bit_offset / 8, member.ty);
            return self.dereference(address, span);
        };
        let place = |base: Expr, offset: u64, unit: Type, shift: u32, bits: u32, ty: Type| {
            let memory = Memory { address: Box::new(at(base, offset, unit.clone())), user };
            Expr::new(ExprKind::Place(Place::Bits(Bits { memory, unit, shift, bits })), ty, span)
        };
        if let Some((offset, unit, shift)) = unit_of(member.bit_offset, bits) {
            return Ok(place(base, offset, unit, shift, bits, member.ty));
        }
        // In a packed structure the lower bits are at the end of one word, the upper ones at the beginning of the
        // next. The operands of the address are evaluated twice, so they may have no side effects.
        if bits == 0 || bits > 64 || !is_pure(&base) {
            let what = format!("the bit-field `{}` over two words", member.name);
            return Err(error::Unavailable::NotYet { what, span }.into());
        }
        let (offset, shift) = (member.bit_offset / 64 * 8, (member.bit_offset % 64) as u32);
        let lower = place(base.clone(), offset, ULONG, shift, 64 - shift, ULONG);
        let upper = place(base, offset + 8, ULONG, 0, bits - (64 - shift), member.ty.clone());
        let by = Expr::new(ExprKind::Int((64 - shift).into()), INT, span);
        let arith = |op, left, right| {
            let kind = ExprKind::Arith { op, left: Box::new(left), right: Box::new(right) };
            Expr::new(kind, member.ty.clone(), span)
        };
        Ok(arith(ArithOp::Or, arith(ArithOp::Shl, upper, by), lower))
    }

    pub(in crate::typeck) fn check_offsetof(
        &mut self,
        ty: &ast::TypeName,
        member: &Spanned<String>,
        span: Span,
    ) -> Result<Expr> {
        let record = self.resolve_type(ty)?;
        let tagged =
            self.require_record(&record, ty.span, |found, span| error::Memory::OffsetofType { found, span })?;
        let found = self.find_member(&tagged, &record, member, tags::UNKNOWN)?;
        if found.bits.is_some() {
            return Err(error::Memory::OffsetofBits { span: member.span }.into());
        }
        Ok(Expr::new(ExprKind::Int(found.bit_offset / 8), INT, span))
    }

    /// Returns the struct or union that a type is; it must be defined by now.
    fn require_record(
        &self,
        record: &Type,
        span: Span,
        error: impl Fn(Type, Span) -> error::Memory,
    ) -> Result<Tagged> {
        let tagged = match record.resolved() {
            Type::Record(tagged) => self.types().complete(tagged),
            _ => return Err(error(record.clone(), span).into()),
        };
        if tagged.bytes.is_none() {
            let why = self.env.kernel.without_types();
            return Err(error::Kernel::IncompleteMember { found: record.clone(), why, span }.into());
        }
        Ok(tagged)
    }

    /// Checks that a struct or union used as a value has a size, and that no value is larger than 32 bits can count.
    pub(in crate::typeck) fn require_sized(&self, value: &Expr, tag: Tag) -> Result<()> {
        if has_size(&value.ty) {
            let bytes = self.layout.size(&value.ty);
            if bytes.is_none_or(|bytes| u32::try_from(bytes).is_err()) {
                let (found, span) = (value.ty.clone(), value.span);
                return Err(error::Kernel::LargeValue { found, bytes, span }.into());
            }
        }
        match value.ty.resolved() {
            Type::Record(tagged) if tagged.bytes.unwrap_or(0) == 0 => {
                let why = self.env.kernel.without_types().filter(|_| tagged.bytes.is_none());
                let (found, span) = (value.ty.clone(), value.span);
                Err(error::Kernel::IncompleteValue { tag, found, why, span }.into())
            }
            _ => Ok(()),
        }
    }

    fn find_member(
        &self,
        tagged: &Tagged,
        record: &Type,
        member: &Spanned<String>,
        tag: Tag,
    ) -> Result<Member> {
        let members = self.types().members(tagged);
        let names = members.iter().map(|candidate| candidate.name.as_str());
        let similar = suggest::nearest(&member.node, names).map(str::to_string);
        members.into_iter().find(|candidate| candidate.name == member.node).ok_or_else(|| {
            let (member, record, span) = (member.node.clone(), record.clone(), member.span);
            error::Memory::NoMember { tag, member, record, similar, span }.into()
        })
    }
}

/// Whether a value is a pointer to the memory of the current process, or an object there that is not loaded.
pub(in crate::typeck) fn in_user_memory(value: &Expr) -> bool {
    let there = matches!(&value.kind, ExprKind::Place(Place::Memory(memory)) if memory.user);
    value.ty.is_user() || there && value.ty.is_by_ref()
}

/// Whether a struct, array or string is in a variable of D, or is part of such a value.
pub(in crate::typeck) fn in_variable(mut value: &Expr) -> bool {
    while value.ty.is_by_ref() {
        let ExprKind::Place(place) = &value.kind else { return false };
        value = match place {
            Place::Variable(_) | Place::Element { .. } => return true,
            Place::Memory(memory) => &memory.address,
            Place::Bits(_) => return false,
        };
        while let ExprKind::Convert(inner) | ExprKind::Arith { op: ArithOp::Add, left: inner, .. } =
            &value.kind
        {
            value = inner;
        }
    }
    false
}

/// Whether it may be evaluated again later: it changes nothing but variables that the compiler made, as `is_made` says.
pub(in crate::typeck) fn is_repeatable(value: &Expr, is_made: &impl Fn(VariableId) -> bool) -> bool {
    let all = |values: &[&Expr]| values.iter().all(|value| is_repeatable(value, is_made));
    match &value.kind {
        ExprKind::Int(_) | ExprKind::Str(_) | ExprKind::Builtin(_) | ExprKind::BuiltinElement { .. } => true,
        ExprKind::Place(place) => is_repeatable_place(place, is_made),
        ExprKind::Negate(value) | ExprKind::Complement(value) | ExprKind::Not(value) => all(&[value]),
        ExprKind::Convert(value) | ExprKind::Bounded { index: value, .. } => all(&[value]),
        ExprKind::Arith { left, right, .. }
        | ExprKind::Compare { left, right, .. }
        | ExprKind::Logic { left, right, .. }
        | ExprKind::Comma { left, right } => all(&[left, right]),
        ExprKind::Conditional { condition, then, otherwise } => all(&[condition, then, otherwise]),
        ExprKind::Call { subroutine: Subr::Alloca | Subr::Copyin | Subr::Copyinstr, args } => {
            args.iter().all(|arg| is_repeatable(arg, is_made))
        }
        ExprKind::Assign { place: Place::Variable(id), value } => is_made(*id) && all(&[value]),
        ExprKind::Assign { place: Place::Memory(memory), value } => {
            is_of_made(&memory.address, is_made) && all(&[value])
        }
        ExprKind::Call { .. } | ExprKind::Assign { .. } | ExprKind::Update { .. } | ExprKind::Step { .. } => {
            false
        }
    }
}

fn is_repeatable_place(place: &Place, is_made: &impl Fn(VariableId) -> bool) -> bool {
    match place {
        Place::Variable(_) => true,
        Place::Element { keys, .. } => keys.iter().all(|key| is_repeatable(key, is_made)),
        Place::Memory(memory) | Place::Bits(Bits { memory, .. }) => is_repeatable(&memory.address, is_made),
    }
}

/// Whether an address is in the memory of a variable that the compiler made.
fn is_of_made(address: &Expr, is_made: &impl Fn(VariableId) -> bool) -> bool {
    match &address.kind {
        ExprKind::Place(Place::Variable(id)) => is_made(*id),
        ExprKind::Arith { op: ArithOp::Add, left, .. } => is_of_made(left, is_made),
        ExprKind::Convert(address) => is_of_made(address, is_made),
        _ => false,
    }
}

/// Whether it may be evaluated twice: variables, members and sums of them.
fn is_pure(value: &Expr) -> bool {
    let mut open = vec![value];
    while let Some(value) = open.pop() {
        match &value.kind {
            ExprKind::Int(_) | ExprKind::Builtin(_) | ExprKind::Place(Place::Variable(_)) => {}
            ExprKind::Place(Place::Memory(memory)) => open.push(&memory.address),
            ExprKind::Convert(value) | ExprKind::Bounded { index: value, .. } => open.push(value),
            ExprKind::Arith { left, right, .. } => open.extend([left, right].map(|side| &**side)),
            _ => return false,
        }
    }
    true
}

/// Returns the smallest aligned integer that contains all the bits: its offset in bytes, its type, and its first
/// bit in use.
fn unit_of(bit_offset: u64, bits: u32) -> Option<(u64, Type, u32)> {
    let units = [(8, UCHAR), (16, USHORT), (32, UINT), (64, ULONG)];
    units.into_iter().find_map(|(width, unit)| {
        let shift = bit_offset % width;
        let fits = bits > 0 && shift + u64::from(bits) <= width;
        fits.then(|| (bit_offset / width * (width / 8), unit, shift as u32))
    })
}
