//! typeck/declare/specs.rs: resolution of types as written.

use crate::parser::ast::{Derived, Expr, Params, Storage, TypeKeyword, TypeName, TypeSpec};
use crate::typeck::error;
use crate::typeck::error::{Error, Result};
use crate::typeck::state::Checker;
use kinst_base::diag::suggest;
use kinst_base::source::{Span, Spanned};
use kinst_types::declared::Declared;
use kinst_types::{KernelTypes, Member, TagKind, Tagged, Type, TypeOrigin, TypeSource};

/// All types that the program can name at this point: first its declarations, then the kernel's types.
#[derive(Clone, Copy)]
pub(in crate::typeck) struct Types<'a> {
    pub declared: &'a Declared,
    pub kernel: &'a dyn KernelTypes,
}

impl Types<'_> {
    fn source(&self, tagged: &Tagged) -> &dyn TypeSource {
        match tagged.id.origin {
            TypeOrigin::Program => self.declared,
            TypeOrigin::Kernel(_) | TypeOrigin::File(_) => self.kernel,
        }
    }
}

impl TypeSource for Types<'_> {
    fn named(&self, name: &str) -> Option<Type> {
        match own_scope(name) {
            Some(name) => self.declared.named(name),
            None => self.declared.named(name).or_else(|| self.kernel.named(name)),
        }
    }

    fn tagged(&self, kind: TagKind, name: &str) -> Option<Type> {
        match own_scope(name) {
            Some(name) => self.declared.tagged(kind, name),
            None => self.declared.tagged(kind, name).or_else(|| self.kernel.tagged(kind, name)),
        }
    }

    /// Completes a type; the kernel may define one that the program only declares forward.
    fn complete(&self, tagged: &Tagged) -> Tagged {
        let known = self.source(tagged).complete(tagged);
        let kernel = match known.bytes {
            None if !known.name.is_empty() && !self.declared.is_begun(&known) => {
                self.kernel.tagged(known.kind, &known.name)
            }
            _ => None,
        };
        match kernel {
            Some(Type::Record(found) | Type::Enum(found)) if found.bytes.is_some() => found,
            _ => known,
        }
    }

    fn members(&self, record: &Tagged) -> Vec<Member> {
        self.source(record).members(record)
    }

    fn parameters(&self, record: &Tagged) -> Vec<(String, Type)> {
        self.source(record).parameters(record)
    }

    fn virtual_bases(&self, record: &Tagged) -> Vec<Type> {
        self.source(record).virtual_bases(record)
    }

    fn enumerators(&self, tagged: &Tagged) -> Vec<(String, i64)> {
        self.source(tagged).enumerators(tagged)
    }

    fn is_packed(&self, record: &Tagged) -> bool {
        self.source(record).is_packed(record)
    }

    fn names(&self) -> Vec<&str> {
        let mut names = self.declared.names();
        names.extend(self.kernel.names());
        names
    }
}

/// Returns the name that follows `` D` `` or `` C` ``, the scopes of what a program declares and includes.
fn own_scope(name: &str) -> Option<&str> {
    name.strip_prefix("D`").or_else(|| name.strip_prefix("C`"))
}

impl Checker<'_> {
    pub(in crate::typeck) fn types(&self) -> Types<'_> {
        Types { declared: &self.declared, kernel: self.env.kernel }
    }

    /// Returns the type, completed with the declarations so far.
    pub(in crate::typeck) fn complete(&self, ty: Type) -> Type {
        match ty {
            Type::Record(tagged) => Type::Record(self.types().complete(&tagged)),
            Type::Enum(tagged) => Type::Enum(self.types().complete(&tagged)),
            Type::Typedef { name, to } => Type::Typedef { name, to: Box::new(self.complete(*to)) },
            Type::Array { of, len } => Type::array_of(self.complete(*of), len),
            ty => ty,
        }
    }

    pub(in crate::typeck) fn resolve_type(&mut self, name: &TypeName) -> Result<Type> {
        let base = self.resolve_specs(&name.specs, name.span)?;
        self.derive(base, &name.derived, has_user(&name.specs), name.span)
    }

    /// Applies the steps of a declarator, innermost first.
    pub(in crate::typeck) fn derive(
        &mut self,
        base: Type,
        derived: &[Derived],
        user: bool,
        span: Span,
    ) -> Result<Type> {
        let mut ty = base;
        for step in derived.iter().rev() {
            ty = match step {
                Derived::Pointer { .. } => Type::Pointer { to: Box::new(ty), user },
                Derived::Array(length) => {
                    let length = length.as_deref().map(|length| self.array_length(length)).transpose()?;
                    self.require_object(&ty, span)?;
                    Type::array_of(ty, length.unwrap_or(0))
                }
                Derived::AssocArray(_) => return Err(error::Declaration::ArrayObject { span }.into()),
                Derived::Function(params) => {
                    self.parameters(params, "function", Allowed::FUNCTION, span)?;
                    Type::Function
                }
            };
        }
        Ok(ty)
    }

    /// Checks that an object of this type can be stored: it is not void and its size is known.
    pub(in crate::typeck) fn require_object(&self, ty: &Type, span: Span) -> Result<()> {
        match self.complete(ty.clone()).resolved() {
            Type::Void => Err(error::Declaration::VoidObject { span }.into()),
            Type::Record(Tagged { bytes: None, .. }) | Type::Enum(Tagged { bytes: None, .. }) => {
                Err(error::Definition::Incomplete { found: ty.clone(), span }.into())
            }
            _ => Ok(()),
        }
    }

    /// Returns the types of a parameter list; `(void)` is an empty list.
    pub(in crate::typeck) fn parameters(
        &mut self,
        params: &Params,
        kind: &'static str,
        allowed: Allowed,
        span: Span,
    ) -> Result<Vec<Type>> {
        let mut types = Vec::new();
        for param in &params.list {
            if let Some(storage) = &param.storage
                && storage.node != Storage::Register
            {
                return Err(error::Parameter::Storage { span: storage.span }.into());
            }
            if let Some(Derived::AssocArray(_)) = param.ty.derived.first() {
                let found = Type::Dynamic;
                return Err(error::Parameter::Type { kind, found, span: param.ty.span }.into());
            }
            let ty = self.resolve_type(&param.ty)?;
            let sole = params.list.len() == 1 && !params.variadic;
            match ty.resolved() {
                Type::Void if allowed.void && param.name.is_some() => {
                    return Err(error::Parameter::VoidName { kind, span: param.ty.span }.into());
                }
                Type::Void if allowed.void && sole => return Ok(Vec::new()),
                Type::Void if allowed.void => {
                    return Err(error::Parameter::Void { kind, span: param.ty.span }.into());
                }
                Type::Void | Type::Dynamic => {
                    return Err(error::Parameter::Type { kind, found: ty, span: param.ty.span }.into());
                }
                _ if !allowed.anonymous && param.name.is_none() => {
                    return Err(error::Parameter::Name { kind, span: param.ty.span }.into());
                }
                _ => types.push(ty),
            }
        }
        if params.variadic && !allowed.variadic {
            let span = params.list.last().map_or(span, |last| last.ty.span);
            return Err(error::Parameter::Variadic { kind, span }.into());
        }
        Ok(types)
    }

    /// Evaluates an array length: a positive integer constant.
    fn array_length(&mut self, len: &Expr) -> Result<u64> {
        let value = self.check_expr(len)?;
        match value.constant() {
            Some(n) if value.ty.is_integer() && ((n as i64) > 0 || n == 0 && self.in_header) => {
                if n > u64::from(u32::MAX) {
                    return Err(error::Declaration::ArrayTooBig { span: len.span }.into());
                }
                Ok(n)
            }
            _ => Err(error::Declaration::ArrayLength { span: len.span }.into()),
        }
    }

    pub(in crate::typeck) fn resolve_specs(
        &mut self,
        specs: &[Spanned<TypeSpec>],
        span: Span,
    ) -> Result<Type> {
        let mut words: Vec<TypeKeyword> = Vec::new();
        let mut named: Option<(Type, Span)> = None;
        for spec in specs {
            let ty = match &spec.node {
                TypeSpec::Keyword(
                    TypeKeyword::Const
                    | TypeKeyword::Volatile
                    | TypeKeyword::Restrict
                    | TypeKeyword::Userland,
                ) => continue,
                TypeSpec::Keyword(word) => {
                    words.push(*word);
                    continue;
                }
                _ if named.is_some() => return Err(error::TypeSpec::BadMix { span: spec.span }.into()),
                TypeSpec::Name(name) => self.named_type(name, spec.span)?,
                TypeSpec::Tag { kind, name } => self.tagged_type(*kind, name, spec.span)?,
                TypeSpec::Record(record) => self.define_record(record, spec.span)?,
                TypeSpec::Enum(definition) => self.define_enum(definition, spec.span)?,
            };
            named = Some((ty, spec.span));
        }
        let Some((ty, span)) = named else { return self.keyword_type(&words, span) };
        use TypeKeyword as W;
        match words.iter().find(|word| !matches!(word, W::Int)) {
            None if words.is_empty() => Ok(ty),
            Some(W::Signed | W::Unsigned) => Err(error::TypeSpec::SignedNonInteger { span }.into()),
            Some(W::Long) => Err(error::TypeSpec::LongNonArithmetic { span }.into()),
            _ => Err(error::TypeSpec::BadMix { span }.into()),
        }
    }

    /// The error for a type of a module: if the module is missing, so are its types.
    fn unknown_in_module(&self, name: &str, full: String, span: Span) -> Box<Error> {
        let module = name.split('`').next().unwrap_or_default();
        if module.is_empty() || self.env.kernel.has_module(module) {
            return error::TypeSpec::Unknown { name: full, similar: None, span }.into();
        }
        let module = module.to_owned();
        error::TypeSpec::NoModule { name: full, module, span }.into()
    }

    /// Resolves a tag; naming a tag that nothing defines declares it.
    fn tagged_type(&mut self, kind: TagKind, name: &str, span: Span) -> Result<Type> {
        if let Some(ty) = self.types().tagged(kind, name) {
            return Ok(ty);
        }
        if name.contains('`') {
            let full = format!("{} {name}", kind.text());
            return Err(self.unknown_in_module(name, full, span));
        }
        let tagged = self.declared.declare_tag(kind, Some(name), span);
        Ok(if kind == TagKind::Enum { Type::Enum(tagged) } else { Type::Record(tagged) })
    }

    fn named_type(&self, name: &str, span: Span) -> Result<Type> {
        let types = self.types();
        if let Some(ty) = types.named(name) {
            return Ok(ty);
        }
        if name.contains('`') {
            return Err(self.unknown_in_module(name, name.to_owned(), span));
        }
        let similar = suggest::nearest(name, types.names()).map(str::to_string);
        Err(error::TypeSpec::Unknown { name: name.to_string(), similar, span }.into())
    }

    /// Resolves `unsigned long int` and the like, with the words in any order.
    fn keyword_type(&self, words: &[TypeKeyword], span: Span) -> Result<Type> {
        use TypeKeyword as W;
        let count = |word| words.iter().filter(|w| **w == word).count();
        let (longs, signed, unsigned) = (count(W::Long), count(W::Signed), count(W::Unsigned));
        let base = words.iter().find(|w| !matches!(w, W::Long | W::Short | W::Signed | W::Unsigned | W::Int));
        let short = count(W::Short) > 0;
        let modified = longs > 0 || short || signed > 0 || unsigned > 0 || count(W::Int) > 0;
        let bad_signs = signed + unsigned > 1;
        let name = match base {
            Some(W::Char) if longs > 0 || short => return Err(error::TypeSpec::CharLength { span }.into()),
            Some(W::Char) if bad_signs || count(W::Int) > 0 => {
                return Err(error::TypeSpec::BadMix { span }.into());
            }
            Some(W::Char) if unsigned > 0 => "unsigned char",
            Some(W::Char) if signed > 0 => "signed char",
            Some(W::Char) => "char",
            Some(W::Double) if longs == 1 && signed + unsigned == 0 && !short => "long double",
            Some(W::Float | W::Double | W::String) if signed + unsigned > 0 => {
                return Err(error::TypeSpec::SignedNonInteger { span }.into());
            }
            Some(W::String) if longs > 0 => return Err(error::TypeSpec::LongNonArithmetic { span }.into()),
            Some(W::Void) if modified => return Err(error::TypeSpec::VoidModified { span }.into()),
            Some(_) if modified => return Err(error::TypeSpec::BadMix { span }.into()),
            Some(W::Void) => "void",
            Some(W::String) => "string",
            Some(W::Float) => "float",
            Some(W::Double) => "double",
            Some(_) => return Err(error::TypeSpec::BadMix { span }.into()),
            None if bad_signs || short && longs > 0 || longs > 2 => {
                return Err(error::TypeSpec::BadMix { span }.into());
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
        self.types().named(name).ok_or_else(|| error::TypeSpec::BadMix { span }.into())
    }
}

/// The entries that a parameter list permits in addition to named objects.
#[derive(Clone, Copy)]
pub(in crate::typeck) struct Allowed {
    /// A single `void`, for no parameters.
    pub void: bool,
    /// `...`
    pub variadic: bool,
    /// Types without names.
    pub anonymous: bool,
}

impl Allowed {
    pub(crate) const FUNCTION: Allowed = Allowed { void: true, variadic: true, anonymous: true };
    pub(crate) const KEYS: Allowed = Allowed { void: false, variadic: false, anonymous: true };
    pub(crate) const INLINE: Allowed = Allowed { void: false, variadic: false, anonymous: false };
    pub(crate) const PROBE: Allowed = Allowed { void: true, variadic: false, anonymous: true };
    pub(crate) const TRANSLATED: Allowed = Allowed { void: true, variadic: false, anonymous: false };
}

pub(in crate::typeck) fn has_user(specs: &[Spanned<TypeSpec>]) -> bool {
    specs.iter().any(|spec| matches!(spec.node, TypeSpec::Keyword(TypeKeyword::Userland)))
}
