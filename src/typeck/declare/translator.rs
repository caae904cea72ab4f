//! typeck/declare/translator.rs: translators: structures made from expressions over another type.

use crate::parser::ast;
use crate::typeck::error;
use crate::typeck::error::Result;
use crate::typeck::operand::{Operand, Translated};
use crate::typeck::state::Checker;
use crate::typeck::state::declared::{Frame, Translator};
use crate::typeck::state::names::Name;
use crate::typeck::typed::{ArithOp, Expr, ExprKind, Place, Scope};
use kinst_base::diag::{suggest, tags};
use kinst_base::source::{Span, Spanned};
use kinst_dif::insn::Subr;
use kinst_types::intrinsic::ULONG;
use kinst_types::{Member, Tagged, Type, TypeSource};

impl Checker<'_> {
    pub(in crate::typeck) fn define_translator(&mut self, definition: &ast::Translator) -> Result<()> {
        let input = self.resolve_type(&definition.input)?;
        let output = self.resolve_type(&definition.output)?;
        let output = self.complete(output);
        let (Type::Record(tagged @ Tagged { bytes: Some(_), .. }), span) =
            (output.resolved(), definition.output.span)
        else {
            return Err(error::Translator::Output { found: output, span: definition.output.span }.into());
        };
        let tagged = tagged.clone();
        if let Some((_, before)) = self.translators.making(&tagged).find(|(_, t)| t.input.same(&input)) {
            let (input, declared) = (input, before.span);
            return Err(error::Translator::Redefined { output, input, declared, span }.into());
        }
        let translator = Translator {
            output: tagged,
            input,
            parameter: definition.parameter.node.clone(),
            members: definition.members.clone(),
            span,
        };
        self.try_translator(&translator, &output)?;
        self.translators.push(translator);
        Ok(())
    }

    /// Checks every member once, where it is defined, over an unknown value of the input's type.
    fn try_translator(&mut self, translator: &Translator, output: &Type) -> Result<()> {
        let before = self.names.mark();
        let unknown = Name {
            scope: crate::typeck::typed::Scope::Global,
            name: &format!("%{}", translator.parameter),
            span: translator.span,
        };
        let id = self.names.create(&unknown, None, translator.input.clone())?;
        let source = self.read_scalar(id, translator.span)?;
        let members = self.types().members(&translator.output);
        let result = translator.members.iter().try_for_each(|(name, value)| {
            let Some(member) = members.iter().find(|member| member.name == name.node) else {
                let similar = suggest::nearest(&name.node, members.iter().map(|m| m.name.as_str()));
                let (similar, member) = (similar.map(str::to_string), name.node.clone());
                let (record, span) = (output.clone(), name.span);
                return Err(error::Translator::Member { member, record, similar, span }.into());
            };
            self.translate(translator, member, value, source.clone(), name.span).map(drop)
        });
        self.names.reset(&before);
        result
    }

    fn translate(
        &mut self,
        translator: &Translator,
        member: &Member,
        value: &ast::Expr,
        source: Expr,
        span: Span,
    ) -> Result<Operand> {
        let frame = Frame::from([(translator.parameter.clone(), source)]);
        let found = match self.check_in_frame(value, frame, span)? {
            // Strings and arrays of char may be translated into one another.
            Operand::Value(found) if found.ty.is_string_compatible() && member.ty.is_string_compatible() => {
                return Ok(self.translate_text(found, member, span)?.into());
            }
            found => found,
        };
        self.passed(found, &member.ty, span, |found| {
            let (member, expected) = (member.name.clone(), member.ty.clone());
            error::Translator::Type { member, expected, found, span: value.span }.into()
        })
    }

    fn translate_text(&mut self, found: Expr, member: &Member, span: Span) -> Result<Expr> {
        if !found.ty.is_string() && matches!(member.ty.resolved(), Type::Array { .. } | Type::String) {
            return Ok(Expr { span, ..self.cast(found, Type::String, None) });
        }
        match member.ty.resolved() {
            Type::Array { len: len @ 1.., .. } if found.ty.is_string() => {
                self.in_array(found, *len, member.ty.clone(), span)
            }
            _ => Ok(Expr { span, ..found }),
        }
    }

    /// Puts a string, cut to `len` bytes with its NUL, into an array of char in the probe's scratch memory.
    fn in_array(&mut self, text: Expr, len: u64, ty: Type, span: Span) -> Result<Expr> {
        let expr = |kind, ty: &Type| Expr::new(kind, ty.clone(), span);
        let number = |value| expr(ExprKind::Int(value), &ULONG);
        let call = |subroutine, args, ty: &Type| expr(ExprKind::Call { subroutine, args }, ty);
        let pointer = Type::pointer_to(ty);
        // Names that no program can write.
        let mut variable = |what: &str| -> Result<Place> {
            let wanted = Name { scope: Scope::Clause, name: &format!("%{what}_{len}"), span };
            let known = self.names.find(&wanted);
            Ok(Place::Variable(known.map_or_else(|| self.names.create(&wanted, None, pointer.clone()), Ok)?))
        };
        let (cut, room) = (variable("cut")?, variable("room")?);
        let load = |place: &Place| expr(ExprKind::Place(place.clone()), &pointer);
        let assign = |place: &Place, value| {
            expr(ExprKind::Assign { place: place.clone(), value: Box::new(value) }, &pointer)
        };
        let cut_text = call(Subr::Substr, vec![text, number(0), number(len - 1)], &Type::String);
        let made = call(Subr::Alloca, vec![number(len)], &pointer);
        let length =
            call(Subr::Strlen, vec![expr(ExprKind::Convert(Box::new(load(&cut))), &Type::String)], &ULONG);
        let (left, right) = (Box::new(length), Box::new(number(1)));
        let bytes = expr(ExprKind::Arith { op: ArithOp::Add, left, right }, &ULONG);
        let copied = call(Subr::Bcopy, vec![load(&cut), load(&room), bytes], &Type::Void);
        let steps = [
            assign(&cut, expr(ExprKind::Convert(Box::new(cut_text)), &pointer)),
            assign(&room, made),
            copied,
        ];
        let whole = self.dereference(load(&room), span)?;
        Ok(steps.into_iter().rev().fold(whole, |right, left| {
            let ty = right.ty.clone();
            expr(ExprKind::Comma { left: Box::new(left), right: Box::new(right) }, &ty)
        }))
    }

    /// Checks `xlate <type>(operand)`; the value exists only through its members.
    pub(in crate::typeck) fn check_xlate(
        &mut self,
        ty: &ast::TypeName,
        operand: &ast::Expr,
        span: Span,
    ) -> Result<Operand> {
        let ty = self.resolve_type(ty)?;
        let source = self.check_expr(operand)?;
        Ok(self.translated(ty, source, span)?.into())
    }

    pub(in crate::typeck) fn translated(&self, ty: Type, source: Expr, span: Span) -> Result<Translated> {
        let record = match ty.resolved() {
            Type::Pointer { to, .. } => self.complete((**to).clone()),
            _ => self.complete(ty.clone()),
        };
        let Type::Record(output) = record.resolved() else {
            return Err(error::Translator::Missing { output: ty, input: source.ty, span }.into());
        };
        let Some(translator) = self.find_translator(output, &source) else {
            return Err(error::Translator::Missing { output: ty, input: source.ty, span }.into());
        };
        let input = self.translators.list[translator].input.clone();
        let source = self.convert(source, &input);
        let source = Expr { ty: input, ..source };
        Ok(Translated { translator, source, ty, span })
    }

    /// Checks `place = translated`: assigns each member that the translator makes; the value is the whole object.
    pub(in crate::typeck) fn snapshot(
        &mut self,
        place: Place,
        ty: Type,
        object: &Translated,
        span: Span,
    ) -> Result<Expr> {
        let translator = self.translators.list[object.translator].clone();
        let members = self.types().members(&translator.output);
        let mut whole = Expr::new(ExprKind::Place(place.clone()), ty.clone(), span);
        for (name, value) in translator.members.iter().rev() {
            let Some(member) = members.iter().find(|member| member.name == name.node) else { continue };
            let value =
                self.translate(&translator, member, value, object.source.clone(), span)?.value(span)?;
            let base = Expr::new(ExprKind::Place(place.clone()), ty.clone(), span);
            let target = self.load_member(base, member.clone(), false, span)?;
            let ExprKind::Place(target) = target.kind else { continue };
            let array = matches!(member.ty.resolved(), Type::Array { .. });
            let value = if array && value.ty.is_string() { padded(value) } else { value };
            let assigned = ExprKind::Assign { place: target, value: Box::new(value) };
            let left = Box::new(Expr::new(assigned, member.ty.clone(), span));
            whole = Expr::new(ExprKind::Comma { left, right: Box::new(whole) }, ty.clone(), span);
        }
        Ok(whole)
    }

    /// Returns the translator for exactly this type, or else one that accepts it.
    fn find_translator(&self, output: &Tagged, source: &Expr) -> Option<usize> {
        let exact = self.translators.making(output).find(|(_, t)| t.input.same(&source.ty));
        let any = || self.translators.making(output).find(|(_, t)| self.is_compatible(source, &t.input));
        exact.or_else(any).map(|(index, _)| index)
    }

    pub(in crate::typeck) fn has_translator(&self, output: &Tagged, input: &Type) -> bool {
        self.translators.making(output).any(|(_, t)| t.input.same(input))
    }

    /// Checks `translated.member` or `translated->member`.
    pub(in crate::typeck) fn check_translated_member(
        &mut self,
        object: Translated,
        member: &Spanned<String>,
        span: Span,
    ) -> Result<Operand> {
        let translator = self.translators.list[object.translator].clone();
        let members = self.types().members(&translator.output);
        let record = Type::Record(translator.output.clone());
        let Some(found) = members.iter().find(|m| m.name == member.node) else {
            let similar = suggest::nearest(&member.node, members.iter().map(|m| m.name.as_str()));
            let (similar, member, span) = (similar.map(str::to_string), member.node.clone(), member.span);
            return Err(
                error::Memory::NoMember { tag: tags::TYPE_MEMBER, member, record, similar, span }.into()
            );
        };
        let Some((_, value)) = translator.members.iter().find(|(name, _)| name.node == member.node) else {
            let (member, declared, span) = (member.node.clone(), translator.span, member.span);
            return Err(error::Translator::NotTranslated { member, record, declared, span }.into());
        };
        self.translate(&translator, found, value, object.source, span)
    }
}

/// Copies a string into scratch memory of full size: a string constant ends at its NUL.
fn padded(text: Expr) -> Expr {
    let span = text.span;
    let empty = Expr::new(ExprKind::Str(Vec::new()), Type::String, span);
    let kind = ExprKind::Call { subroutine: Subr::Strjoin, args: vec![text, empty] };
    Expr::new(kind, Type::String, span)
}
