//! typeck/declare/record.rs: definitions of structs, unions and enums.

use std::collections::HashSet;

use super::specs::has_user;
use crate::parser::ast::{EnumDefinition, Expr, MemberDeclaration, MemberDeclarator, RecordDefinition};
use crate::typeck::error;
use crate::typeck::error::Result;
use crate::typeck::operand::Operand;
use crate::typeck::state::Checker;
use crate::typeck::state::declared::{Inline, Value};
use crate::vocabulary::constants;
use kinst_base::attributes::STABLE;
use kinst_base::source::{Span, Spanned};
use kinst_types::declared::{Placement, Unplaced};
use kinst_types::intrinsic::{INT, LONG, UINT, ULONG};
use kinst_types::{TagKind, Tagged, Type};

/// A member before its offset is known.
enum Part {
    Member(String, Type, Span),
    BitField(String, Type, u32, Span),
}

impl Checker<'_> {
    pub(in crate::typeck) fn define_record(&mut self, record: &RecordDefinition, span: Span) -> Result<Type> {
        // Inside the braces the tag can be named, through a pointer.
        let tagged = self.new_tag(record.kind, record.name.as_ref(), span)?;
        self.declared.begin(&tagged);
        if record.packed {
            self.declared.pack(&tagged);
        }
        let mut parts = Vec::new();
        for declaration in &record.members {
            self.check_members(declaration, &mut parts)?;
        }
        let mut seen: HashSet<&str> = HashSet::new();
        for part in &parts {
            let (Part::Member(name, _, span) | Part::BitField(name, _, _, span)) = part;
            if !name.is_empty() && !seen.insert(name) {
                return Err(error::Definition::MemberTwice { name: name.clone(), span: *span }.into());
            }
        }
        let types = self.types();
        let mut placement = Placement::new(record.kind, self.layout, record.packed, &types);
        for part in parts {
            let (found, span, placed) = match part {
                Part::Member(name, ty, span) => (ty.clone(), span, placement.member(&name, ty)),
                Part::BitField(name, ty, bits, span) => {
                    (ty.clone(), span, placement.bit_field(&name, ty, bits))
                }
            };
            match placed {
                Ok(()) => {}
                Err(Unplaced::NoSize) => return Err(error::Definition::Incomplete { found, span }.into()),
                Err(Unplaced::TooLarge) => {
                    let name = Type::Record(tagged).to_string();
                    return Err(error::Definition::LargeRecord { name, span }.into());
                }
            }
        }
        let (members, bytes) = placement.finish();
        Ok(Type::Record(self.declared.define_record(&tagged, members, bytes, span)))
    }

    fn new_tag(&mut self, kind: TagKind, name: Option<&Spanned<String>>, span: Span) -> Result<Tagged> {
        if let Some(name) = name {
            if name.node.contains('`') {
                return Err(error::Declaration::Scoped { span: name.span }.into());
            }
            if let Some(declared) = self.declared.defined_at(kind, &name.node) {
                let (name, span) = (format!("{} {}", kind.text(), name.node), name.span);
                return Err(error::Definition::TagRedefined { name, declared, span }.into());
            }
        }
        Ok(self.declared.declare_tag(kind, name.map(|name| name.node.as_str()), span))
    }

    fn check_members(&mut self, declaration: &MemberDeclaration, parts: &mut Vec<Part>) -> Result<()> {
        let base = self.resolve_specs(&declaration.specs, declaration.span)?;
        if declaration.members.is_empty() {
            return match &base {
                Type::Record(tagged) if tagged.name.is_empty() => {
                    parts.push(Part::Member(String::new(), base, declaration.span));
                    Ok(())
                }
                _ => Err(error::Declaration::Useless { span: declaration.span }.into()),
            };
        }
        for member in &declaration.members {
            let (name, ty, span) = match &member.declarator {
                Some(declarator) => {
                    let span = declarator.name.span;
                    if declarator.name.node.contains('`') {
                        return Err(error::Declaration::Scoped { span }.into());
                    }
                    let user = has_user(&declaration.specs);
                    let ty = self.derive(base.clone(), &declarator.derived, user, span)?;
                    (declarator.name.node.clone(), ty, span)
                }
                None => (String::new(), base.clone(), declaration.span),
            };
            let ty = self.complete(ty);
            self.require_object(&ty, span)?;
            parts.push(match &member.bits {
                Some(bits) => self.check_bit_field(name, ty, bits, member, span)?,
                None => match ty.resolved() {
                    Type::Array { len: 0, .. } if !self.in_header => {
                        return Err(error::Declaration::EmptyArray { name, span }.into());
                    }
                    Type::Function => return Err(error::Definition::Incomplete { found: ty, span }.into()),
                    _ => Part::Member(name, ty, span),
                },
            });
        }
        Ok(())
    }

    fn check_bit_field(
        &mut self,
        name: String,
        ty: Type,
        bits: &Expr,
        member: &MemberDeclarator,
        span: Span,
    ) -> Result<Part> {
        let value = self.check_expr(bits)?;
        let count = match value.constant() {
            Some(count) if value.ty.is_integer() && (count as i64) >= 0 => count,
            _ => return Err(error::Definition::BitsConstant { span: bits.span }.into()),
        };
        if count == 0 && member.declarator.is_some() {
            return Err(error::Definition::BitsConstant { span: bits.span }.into());
        }
        if !matches!(ty.resolved(), Type::Int(_)) {
            return Err(error::Definition::BitsType { found: ty, span }.into());
        }
        let most = self.layout.size(&ty).unwrap_or(0) * 8;
        if count > most {
            return Err(error::Definition::BitsSize { bits: count, most, found: ty, span: bits.span }.into());
        }
        Ok(Part::BitField(name, ty, count as u32, span))
    }

    /// Each enumerator becomes a constant of type int.
    pub(in crate::typeck) fn define_enum(&mut self, definition: &EnumDefinition, span: Span) -> Result<Type> {
        let tagged = self.new_tag(TagKind::Enum, definition.name.as_ref(), span)?;
        let mut enumerators: Vec<(String, i64)> = Vec::new();
        let mut seen: HashSet<&str> = HashSet::new();
        let mut next = 0;
        for (name, value) in &definition.enumerators {
            if name.node.contains('`') {
                return Err(error::Declaration::Scoped { span: name.span }.into());
            }
            let number = match value {
                Some(value) => self.enumerator(value)?,
                None => next,
            };
            let Some(ty) = self.enumerator_type(number) else {
                let span = value.as_ref().map_or(name.span, |value| value.span);
                return Err(error::Definition::EnumeratorRange { span }.into());
            };
            next = number + 1;
            let number = number as i64;
            if !seen.insert(&name.node) {
                return Err(
                    error::Definition::EnumeratorTwice { name: name.node.clone(), span: name.span }.into()
                );
            }
            if self.in_header && self.is_constant(&name.node, number) {
                enumerators.push((name.node.clone(), number));
                continue;
            }
            if self.global_is_taken(&name.node, name.span) {
                let declared = self.inlines.get(&name.node).map(|inline| (inline.ty.clone(), inline.span));
                let (name, span) = (name.node.clone(), name.span);
                return Err(error::Declaration::Redeclared { name, declared, span }.into());
            }
            enumerators.push((name.node.clone(), number));
            let (value, attributes) = (Value::Constant(number), STABLE);
            let inline = Inline { params: None, ty, value, attributes, span: name.span };
            self.inlines.insert(name.node.clone(), inline);
        }
        Ok(Type::Enum(self.declared.define_enum(&tagged, enumerators, span)))
    }

    /// Whether D or a library already defines this name with the same number.
    fn is_constant(&mut self, name: &str, number: i64) -> bool {
        if let Some((value, _)) = constants::lookup(name) {
            return value == number;
        }
        let span = self.inlines.get(name).map(|inline| inline.span);
        let value = span.and_then(|span| self.check_inline(name, span)).and_then(Result::ok);
        value.is_some_and(
            |value| matches!(value, Operand::Value(value) if value.constant() == Some(number as u64)),
        )
    }

    /// Returns the type of an enumerator: int, as in C; in a header, as in GNU C, a type that holds the number.
    fn enumerator_type(&self, number: i128) -> Option<Type> {
        let types = [INT, UINT, LONG, ULONG];
        let types = &types[..if self.in_header { 4 } else { 1 }];
        let holds = |ty: &&Type| {
            let bits = self.layout.size(ty).unwrap_or(0) * 8;
            match ty.is_signed() {
                true => (-(1 << (bits - 1))..1 << (bits - 1)).contains(&number),
                false => (0..1 << bits).contains(&number),
            }
        };
        types.iter().find(holds).cloned()
    }

    fn enumerator(&mut self, value: &Expr) -> Result<i128> {
        let checked = self.check_expr(value)?;
        match checked.constant() {
            Some(number) if checked.ty.is_integer() => Ok(match checked.ty.is_signed() {
                true => (number as i64).into(),
                false => number.into(),
            }),
            _ => Err(error::Definition::EnumeratorConstant { span: value.span }.into()),
        }
    }
}
