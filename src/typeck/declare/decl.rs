//! typeck/declare/decl.rs: declarations of variables, typedefs and kernel symbols.

use super::specs::{Allowed, has_user};
use crate::parser::ast::{Declaration, Declarator, Derived, Expr, ExprKind, Storage};
use crate::typeck::error;
use crate::typeck::error::Result;
use crate::typeck::state::Checker;
use crate::typeck::state::names::Name;
use crate::typeck::typed::Scope;
use crate::vocabulary::builtin::What;
use crate::vocabulary::constants;
use kinst_base::source::Span;
use kinst_types::intrinsic::Intrinsic;
use kinst_types::{Type, TypeSource};

impl Checker<'_> {
    pub(in crate::typeck) fn declare(&mut self, declaration: &Declaration) -> Result<()> {
        self.in_header = declaration.in_header;
        let result = self.declare_all(declaration);
        self.in_header = false;
        result
    }

    fn declare_all(&mut self, declaration: &Declaration) -> Result<()> {
        let base = self.resolve_specs(&declaration.specs, declaration.span)?;
        let storage = declaration.storage.as_ref();
        if declaration.declarators.is_empty() {
            // A struct or enum may be declared by itself.
            let tagged = matches!(&base, Type::Record(tag) | Type::Enum(tag) if !tag.name.is_empty())
                || matches!(&base, Type::Enum(_));
            return match tagged && storage.is_none() {
                true => Ok(()),
                false => Err(error::Declaration::Useless { span: declaration.span }.into()),
            };
        }
        for declarator in &declaration.declarators {
            let name = &declarator.name;
            if name.node.contains('`') {
                return Err(error::Declaration::Scoped { span: name.span }.into());
            }
            let user = has_user(&declaration.specs);
            let base = base.clone();
            match storage.map(|storage| storage.node) {
                Some(Storage::Typedef) => self.declare_type(base, declarator, user)?,
                Some(Storage::Extern) => self.declare_extern(base, declarator, user)?,
                Some(Storage::Auto | Storage::Register | Storage::Static) => {
                    let span = storage.map_or(declaration.span, |storage| storage.span);
                    return Err(error::Declaration::BadStorage { span }.into());
                }
                // A kernel function.
                None if is_function(&declarator.derived) => self.declare_extern(base, declarator, user)?,
                None => self.declare_object(Scope::Global, base, declarator, user)?,
                Some(Storage::SelfThread) => self.declare_object(Scope::Thread, base, declarator, user)?,
                Some(Storage::This) => self.declare_object(Scope::Clause, base, declarator, user)?,
            }
        }
        Ok(())
    }

    fn declare_type(&mut self, base: Type, declarator: &Declarator, user: bool) -> Result<()> {
        let (name, span) = (declarator.name.node.as_str(), declarator.name.span);
        let ty = self.derive(base, &declarator.derived, user, span)?;
        if self.in_header && self.types_are_compatible(name, &ty) {
            return Ok(());
        }
        if self.is_type_name(name) || self.global_is_taken(name, span) {
            let declared = self.declared.typedef(name).cloned();
            return Err(error::Declaration::Redeclared { name: name.to_string(), declared, span }.into());
        }
        self.declared.define_type(name, ty, span);
        Ok(())
    }

    /// Declares the type of a kernel symbol.
    fn declare_extern(&mut self, base: Type, declarator: &Declarator, user: bool) -> Result<()> {
        let (name, span) = (declarator.name.node.as_str(), declarator.name.span);
        let ty = self.derive(base, &declarator.derived, user, span)?;
        if let Some((declared, at)) = self.externs.get(name) {
            if declared.same(&ty) {
                return Ok(());
            }
            let declared = Some((declared.clone(), *at));
            return Err(error::Declaration::Redeclared { name: name.to_string(), declared, span }.into());
        }
        if self.global_is_taken(name, span) {
            // In a program, a word of D means the same before and after an #include.
            return match self.in_header {
                true => Ok(()),
                false => {
                    Err(error::Declaration::Redeclared { name: name.to_string(), declared: None, span }
                        .into())
                }
            };
        }
        self.externs.insert(name.to_string(), (ty, span));
        Ok(())
    }

    fn declare_object(
        &mut self,
        scope: Scope,
        base: Type,
        declarator: &Declarator,
        user: bool,
    ) -> Result<()> {
        let name = Name { scope, name: &declarator.name.node, span: declarator.name.span };
        let (keys, derived) = match declarator.derived.split_first() {
            Some((Derived::AssocArray(keys), rest)) => (Some(keys), rest),
            _ => (None, declarator.derived.as_slice()),
        };
        if keys.is_some() && scope == Scope::Clause {
            return Err(error::Declaration::LocalArray { name: name.full(), span: name.span }.into());
        }
        let keys = keys
            .map(|keys| self.parameters(keys, "associative array", Allowed::KEYS, name.span))
            .transpose()?;
        let ty = self.derive(base, derived, user, name.span)?;
        let ty = self.complete(ty);
        self.require_object(&ty, name.span)?;
        if let Type::Array { len: 0, .. } = ty.resolved() {
            return Err(error::Declaration::EmptyArray { name: name.full(), span: name.span }.into());
        }
        self.declare_variable(&name, keys, ty)
    }

    fn declare_variable(&mut self, name: &Name<'_>, keys: Option<Vec<Type>>, ty: Type) -> Result<()> {
        if let Some(id) = self.names.find(name) {
            let variable = self.names.variable(id);
            let same_keys = match (&variable.keys, &keys) {
                (Some(a), Some(b)) => a.len() == b.len() && a.iter().zip(b).all(|(a, b)| a.same(b)),
                (None, None) => true,
                _ => false,
            };
            if same_keys && variable.ty.same(&ty) {
                return Ok(());
            }
            let declared = Some((variable.ty.clone(), variable.span));
            return Err(
                error::Declaration::Redeclared { name: name.full(), declared, span: name.span }.into()
            );
        }
        if name.scope == Scope::Global
            && (self.global_is_taken(name.name, name.span) || self.is_type_name(name.name))
        {
            let declared = self.declared.typedef(name.name).cloned();
            let (name, span) = (name.full(), name.span);
            return Err(error::Declaration::Redeclared { name, declared, span }.into());
        }
        self.names.create(name, keys, ty)?;
        Ok(())
    }

    /// Whether a variable, constant, function or inline has this name.
    pub(in crate::typeck) fn global_is_taken(&self, name: &str, span: Span) -> bool {
        let wanted = Name { scope: Scope::Global, name, span };
        // A library defines some of the names that every program has.
        self.builtin(name).is_some_and(|entry| !self.in_library || !matches!(entry.what, What::Library))
            || constants::lookup(name).is_some()
            || self.names.find(&wanted).is_some()
            || self.inlines.contains_key(name)
    }

    /// Whether a type of this name with the same layout exists already. The signedness of an integer may
    /// differ: id_t has none in C.
    fn types_are_compatible(&self, name: &str, ty: &Type) -> bool {
        let known = Intrinsic.named(name).or_else(|| self.declared.named(name));
        known.is_some_and(|known| match (known.resolved(), ty.resolved()) {
            (Type::Int(a), Type::Int(b)) => a.bytes == b.bytes,
            (a, b) => a.same(b),
        })
    }

    fn is_type_name(&self, name: &str) -> bool {
        Intrinsic.named(name).is_some() || self.declared.typedef(name).is_some()
    }
}

fn is_function(derived: &[Derived]) -> bool {
    matches!(derived.first(), Some(Derived::Function(_)))
}

/// Returns the bytes of a string constant.
pub(in crate::typeck) fn string_constant(expr: &Expr) -> Option<&[u8]> {
    match &expr.kind {
        ExprKind::Str { value, .. } => Some(value),
        _ => None,
    }
}
