//! typeck/declare/inline.rs: inline definitions and enumerators: names for expressions.

use super::specs::{Allowed, has_user};
use crate::parser::ast::{self, Derived};
use crate::typeck::error;
use crate::typeck::error::{Error, Result};
use crate::typeck::operand::{Operand, Translated};
use crate::typeck::state::Checker;
use crate::typeck::state::declared::{Frame, Inline, Value};
use crate::typeck::state::names::Name;
use crate::typeck::typed::{Expr, ExprKind, Scope};
use kinst_base::attributes::STABLE;
use kinst_base::source::{Span, Spanned};
use kinst_types::Type;

/// The limit on expressions in a program after expansion; an inline of inlines grows quickly.
const MOST_EXPANSIONS: u32 = 100_000;

impl Checker<'_> {
    pub(in crate::typeck) fn define_inline(&mut self, definition: &ast::Inline) -> Result<()> {
        let (name, span) = (definition.declarator.name.node.as_str(), definition.declarator.name.span);
        if let Some(storage) = &definition.storage {
            return Err(error::Declaration::BadStorage { span: storage.span }.into());
        }
        if name.contains('`') {
            return Err(error::Declaration::Scoped { span }.into());
        }
        let base = self.resolve_specs(&definition.specs, definition.span)?;
        let (params, derived) = match definition.declarator.derived.split_first() {
            Some((Derived::AssocArray(params), rest)) => (Some(params), rest),
            _ => (None, definition.declarator.derived.as_slice()),
        };
        let params = match params {
            Some(params) => {
                let types = self.parameters(params, "inline", Allowed::INLINE, span)?;
                let names = params.list.iter().filter_map(|param| Some(param.name.as_ref()?.node.clone()));
                Some(names.zip(types).collect::<Vec<_>>())
            }
            None => None,
        };
        let ty = self.derive(base, derived, has_user(&definition.specs), span)?;
        match ty.resolved() {
            Type::Void => return Err(error::Declaration::VoidObject { span }.into()),
            Type::Array { .. } => {
                return Err(error::Declaration::EmptyArray { name: name.to_string(), span }.into());
            }
            _ => {}
        }
        if self.global_is_taken(name, span) {
            let declared = self.inlines.get(name).map(|inline| (inline.ty.clone(), inline.span));
            return Err(error::Declaration::Redeclared { name: name.to_string(), declared, span }.into());
        }
        let value = Value::Expression(definition.value.clone());
        let attributes = self.least_of(&definition.value, STABLE);
        let inline = Inline { params, ty, value, attributes, span };
        self.try_inline(&inline)?;
        self.inlines.insert(name.to_string(), inline);
        Ok(())
    }

    /// Checks the body once, where it is defined: its parameters are unknown values of their types.
    fn try_inline(&mut self, inline: &Inline) -> Result<()> {
        let before = self.names.mark();
        let mut frame = Frame::new();
        for (name, ty) in inline.params.iter().flatten() {
            // A name that no program can write.
            let unknown = Name { scope: Scope::Global, name: &format!("%{name}"), span: inline.span };
            let id = self.names.create(&unknown, None, ty.clone())?;
            frame.insert(name.clone(), self.read_scalar(id, inline.span)?);
        }
        let result = self.expand(inline, frame, inline.span);
        self.names.reset(&before);
        result.map(drop)
    }

    /// Checks a use without arguments.
    pub(in crate::typeck) fn check_inline(&mut self, name: &str, span: Span) -> Option<Result<Operand>> {
        let inline = self.inlines.get(name)?.clone();
        Some(match inline.params {
            Some(_) => Err(error::Name::ArrayAsScalar { name: name.to_string(), span }.into()),
            None => self.expand(&inline, Frame::new(), span),
        })
    }

    /// Checks `name[arguments]`.
    pub(in crate::typeck) fn check_inline_call(
        &mut self,
        name: &Spanned<String>,
        args: &[ast::Expr],
        span: Span,
    ) -> Option<Result<Operand>> {
        let inline = self.inlines.get(&name.node)?.clone();
        let params = inline.params.clone()?;
        Some(self.bind(&name.node, &params, args, span).and_then(|frame| self.expand(&inline, frame, span)))
    }

    fn bind(
        &mut self,
        name: &str,
        params: &[(String, Type)],
        args: &[ast::Expr],
        span: Span,
    ) -> Result<Frame> {
        self.require_count(name, args.len(), params.len(), Some(params.len()), span)?;
        let mut frame = Frame::new();
        for (number, (arg, (param, ty))) in args.iter().zip(params).enumerate() {
            let value = self.check_expr(arg)?;
            if !self.is_compatible(&value, ty) {
                let (function, number) = (name.to_string(), number + 1);
                let (expected, found, span) = (ty.to_string(), value.ty, value.span);
                return Err(error::Call::ArgumentType { function, number, expected, found, span }.into());
            }
            let value = self.convert(value, ty);
            frame.insert(param.clone(), Expr { ty: ty.clone(), ..value });
        }
        Ok(frame)
    }

    fn expand(&mut self, inline: &Inline, frame: Frame, span: Span) -> Result<Operand> {
        let body = match &inline.value {
            Value::Constant(value) => {
                return Ok(Expr::new(ExprKind::Int(*value as u64), inline.ty.clone(), span).into());
            }
            Value::Expression(body) => body,
        };
        let found = self.check_in_frame(body, frame, span)?;
        let mismatch = |found| {
            error::Definition::InlineType { expected: inline.ty.clone(), found, span: body.span }.into()
        };
        self.passed(found, &inline.ty, span, mismatch)
    }

    /// Converts a result to its declared type; `mismatch` is the error if that is impossible.
    pub(in crate::typeck) fn passed(
        &self,
        found: Operand,
        to: &Type,
        span: Span,
        mismatch: impl FnOnce(Type) -> Box<Error>,
    ) -> Result<Operand> {
        match found {
            Operand::Value(value) if self.is_compatible(&value, to) => {
                Ok(Expr { ty: to.clone(), span, ..self.convert(value, to) }.into())
            }
            Operand::Translated(object) if self.is_compatible(&object.stand_in(), to) => {
                match object.ty.same(to) {
                    true => Ok(Translated { ty: to.clone(), span, ..*object }.into()),
                    // Only a value is converted.
                    false => object.no_value(span),
                }
            }
            Operand::Value(value) => Err(mismatch(value.ty)),
            Operand::Translated(object) => Err(mismatch(object.ty)),
        }
    }

    /// Checks an expression in which only the names in `frame` and the global ones are visible.
    pub(in crate::typeck) fn check_in_frame(
        &mut self,
        body: &ast::Expr,
        frame: Frame,
        span: Span,
    ) -> Result<Operand> {
        self.expansions += 1;
        if self.expansions > MOST_EXPANSIONS {
            return Err(error::Definition::TooManyExpansions { most: MOST_EXPANSIONS, span }.into());
        }
        self.frames.push(frame);
        let value = self.check_operand(body);
        self.frames.pop();
        value
    }
}
