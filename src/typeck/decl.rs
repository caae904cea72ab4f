//! typeck/decl.rs: types as written, and declarations of variables.

use super::builtin;
use super::names::Name;
use super::typed::Scope;
use super::{Checker, Error, Result, constants};
use crate::diag::suggest;
use crate::parser::ast::{
    Declaration, Declarator, Derived, Expr, ExprKind, Storage, TypeKeyword, TypeName, TypeSpec,
};
use crate::source::{Span, Spanned};
use crate::types::{Kernel, Type};

impl Checker<'_> {
    pub(super) fn types(&self) -> &dyn Kernel {
        self.env.kernel
    }

    pub(super) fn resolve_type(&self, name: &TypeName) -> Result<Type> {
        let base = self.resolve_specs(&name.specs, name.span)?;
        self.derive(base, &name.derived, has_user(&name.specs), name.span)
    }

    pub(super) fn declare(&mut self, declaration: &Declaration) -> Result<()> {
        let scope = match &declaration.storage {
            None => Scope::Global,
            Some(storage) => match storage.node {
                Storage::SelfThread => Scope::Thread,
                Storage::This => Scope::Clause,
                Storage::Extern | Storage::Typedef => {
                    let what = match storage.node {
                        Storage::Extern => "extern",
                        _ => "typedef",
                    };
                    return Err(Box::new(Error::Unsupported { what: what.into(), span: storage.span }));
                }
                Storage::Auto | Storage::Register | Storage::Static => {
                    return Err(Box::new(Error::BadStorage { span: storage.span }));
                }
            },
        };
        if declaration.declarators.is_empty() {
            return Err(Box::new(Error::UselessDeclaration { span: declaration.span }));
        }
        for declarator in &declaration.declarators {
            self.declare_one(scope, &declaration.specs, declarator, declaration.span)?;
        }
        Ok(())
    }

    fn declare_one(
        &mut self,
        scope: Scope,
        specs: &[Spanned<TypeSpec>],
        declarator: &Declarator,
        span: Span,
    ) -> Result<()> {
        let name = Name { scope, name: &declarator.name.node, span: declarator.name.span };
        if name.name.contains('`') {
            return Err(Box::new(Error::ScopedDeclaration { span: name.span }));
        }
        let base = self.resolve_specs(specs, span)?;
        let (keys, derived) = match declarator.derived.split_first() {
            Some((Derived::AssocArray(keys), rest)) => (Some(keys), rest),
            _ => (None, declarator.derived.as_slice()),
        };
        if keys.is_some() && scope == Scope::Clause {
            return Err(Box::new(Error::LocalArrayDeclared { name: name.full(), span: name.span }));
        }
        let ty = self.derive(base, derived, has_user(specs), span)?;
        match ty.resolved() {
            Type::Void => return Err(Box::new(Error::VoidObject { span: name.span })),
            Type::Array { len: 0, .. } => {
                return Err(Box::new(Error::EmptyArray { name: name.full(), span: name.span }));
            }
            Type::Function => {
                let what = "the declaration of a function".to_string();
                return Err(Box::new(Error::Unsupported { what, span: name.span }));
            }
            _ => {}
        }
        let keys = match keys {
            None => None,
            Some(keys) => {
                Some(keys.list.iter().map(|key| self.key_type(&key.ty)).collect::<Result<Vec<Type>>>()?)
            }
        };
        self.declare_variable(&name, keys, ty)
    }

    fn key_type(&self, key: &TypeName) -> Result<Type> {
        let ty = self.resolve_type(key)?;
        if ty.is_void() { Err(Box::new(Error::KeyVoid { found: ty, span: key.span })) } else { Ok(ty) }
    }

    fn declare_variable(&mut self, name: &Name<'_>, keys: Option<Vec<Type>>, ty: Type) -> Result<()> {
        let known = name.scope == Scope::Global
            && (builtin::lookup(name.name).is_some()
                || constants::lookup(name.name).is_some()
                || self.types().named(name.name).is_some());
        if known {
            let (name, span) = (name.full(), name.span);
            return Err(Box::new(Error::Redeclared { name, declared: None, span }));
        }
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
            return Err(Box::new(Error::Redeclared { name: name.full(), declared, span: name.span }));
        }
        self.names.create(name, keys, ty)?;
        Ok(())
    }

    /// The steps of a declarator are applied from the innermost.
    fn derive(&self, base: Type, derived: &[Derived], user: bool, span: Span) -> Result<Type> {
        let mut ty = base;
        for step in derived.iter().rev() {
            ty = match step {
                Derived::Pointer { .. } => Type::Pointer { to: Box::new(ty), user },
                Derived::Array(None) => Type::array_of(ty, 0),
                Derived::Array(Some(len)) => Type::array_of(ty, self.array_length(len)?),
                Derived::AssocArray(_) => return Err(Box::new(Error::ArrayObject { span })),
                Derived::Function(_) => Type::Function,
            };
        }
        Ok(ty)
    }

    /// A positive integer constant; a length is an expression over constants only, so no name is resolved.
    fn array_length(&self, len: &Expr) -> Result<u64> {
        let mut checker = Checker::new(self.env);
        let value = checker.check_expr(len)?;
        match value.constant() {
            Some(n) if value.ty.is_integer() && (n as i64) > 0 => {
                if n > u64::from(u32::MAX) {
                    return Err(Box::new(Error::ArrayTooBig { span: len.span }));
                }
                Ok(n)
            }
            _ => Err(Box::new(Error::ArrayLength { span: len.span })),
        }
    }

    fn resolve_specs(&self, specs: &[Spanned<TypeSpec>], span: Span) -> Result<Type> {
        let mut words: Vec<TypeKeyword> = Vec::new();
        let mut named: Option<(Type, Span)> = None;
        for spec in specs {
            match &spec.node {
                TypeSpec::Keyword(
                    TypeKeyword::Const
                    | TypeKeyword::Volatile
                    | TypeKeyword::Restrict
                    | TypeKeyword::Userland,
                ) => {}
                TypeSpec::Keyword(word) => words.push(*word),
                TypeSpec::Name(_) | TypeSpec::Tag { .. } if named.is_some() => {
                    return Err(Box::new(Error::BadTypeMix { span: spec.span }));
                }
                TypeSpec::Name(name) => named = Some((self.named_type(name, spec.span)?, spec.span)),
                TypeSpec::Tag { kind, name } => {
                    let Some(ty) = self.types().tagged(*kind, name) else {
                        let name = format!("{} {name}", kind.text());
                        return Err(Box::new(Error::KernelType {
                            name,
                            why: self.types().without_types(),
                            span: spec.span,
                        }));
                    };
                    named = Some((ty, spec.span));
                }
                TypeSpec::Record(_) | TypeSpec::Enum(_) => {
                    let what = "definitions of struct, union and enum types".into();
                    return Err(Box::new(Error::Unsupported { what, span: spec.span }));
                }
            }
        }
        match named {
            Some((_, span)) if !words.is_empty() => Err(Box::new(Error::BadTypeMix { span })),
            Some((ty, _)) => Ok(ty),
            None => self.keyword_type(&words, span),
        }
    }

    fn named_type(&self, name: &str, span: Span) -> Result<Type> {
        let types = self.types();
        if let Some(ty) = types.named(name) {
            return Ok(ty);
        }
        if name.contains('`') {
            let (name, why) = (name.to_string(), types.without_types());
            return Err(Box::new(Error::KernelType { name, why, span }));
        }
        let similar = suggest::nearest(name, types.names()).map(str::to_string);
        Err(Box::new(Error::UnknownType { name: name.to_string(), similar, span }))
    }

    /// `unsigned long int` and the like, in any order of the words.
    fn keyword_type(&self, words: &[TypeKeyword], span: Span) -> Result<Type> {
        use TypeKeyword as W;
        let count = |word| words.iter().filter(|w| **w == word).count();
        let (longs, signed, unsigned) = (count(W::Long), count(W::Signed), count(W::Unsigned));
        let base = words.iter().find(|w| !matches!(w, W::Long | W::Short | W::Signed | W::Unsigned | W::Int));
        let short = count(W::Short) > 0;
        let modified = longs > 0 || short || signed > 0 || unsigned > 0 || count(W::Int) > 0;
        let bad_signs = signed + unsigned > 1;
        let name = match base {
            Some(W::Char) if longs > 0 || short => return Err(Box::new(Error::CharLength { span })),
            Some(W::Char) if bad_signs || count(W::Int) > 0 => {
                return Err(Box::new(Error::BadTypeMix { span }));
            }
            Some(W::Char) if unsigned > 0 => "unsigned char",
            Some(W::Char) if signed > 0 => "signed char",
            Some(W::Char) => "char",
            Some(W::Double) if longs == 1 && signed + unsigned == 0 && !short => "long double",
            Some(W::Float | W::Double) if signed + unsigned > 0 => {
                return Err(Box::new(Error::SignedNonInteger { span }));
            }
            Some(W::Void) if modified => return Err(Box::new(Error::VoidModified { span })),
            Some(_) if modified => return Err(Box::new(Error::BadTypeMix { span })),
            Some(W::Void) => "void",
            Some(W::String) => "string",
            Some(W::Float) => "float",
            Some(W::Double) => "double",
            Some(_) => return Err(Box::new(Error::BadTypeMix { span })),
            None if bad_signs || short && longs > 0 || longs > 2 => {
                return Err(Box::new(Error::BadTypeMix { span }));
            }
            None => match (short, longs, unsigned > 0) {
                (true, _, false) => "short",
                (true, _, true) => "unsigned short",
                (_, 0, false) => "int",
                (_, 0, true) => "unsigned int",
                (_, 1, false) => "long",
                (_, 1, true) => "unsigned long",
                (_, _, false) => "long long",
                (_, _, true) => "unsigned long long",
            },
        };
        self.types().named(name).ok_or_else(|| Box::new(Error::BadTypeMix { span }))
    }
}

fn has_user(specs: &[Spanned<TypeSpec>]) -> bool {
    specs.iter().any(|spec| matches!(spec.node, TypeSpec::Keyword(TypeKeyword::Userland)))
}

/// A string constant's bytes.
pub(super) fn string_constant(expr: &Expr) -> Option<&[u8]> {
    match &expr.kind {
        ExprKind::Str { value, .. } => Some(value),
        _ => None,
    }
}
