//! typeck/kernel.rs: what of a program the kernel gives the meaning of: symbols, args[], curthread, names of enumerators.

use super::provider::Argument;
use super::typed::{Expr, ExprKind};
use super::{Checker, Error, Result, builtin, constants};
use crate::diag::tags;
use crate::dif::insn::Builtin;
use crate::parser::ast::{self, ProbeDesc, ProbeDescKind, TagKind};
use crate::source::Span;
use crate::types::intrinsic::{INT, ULONG};
use crate::types::{Prototype, Type, TypeSource as _};

/// arg0 to arg9.
const ARGUMENTS: [Builtin; 10] = [
    Builtin::Arg0,
    Builtin::Arg1,
    Builtin::Arg2,
    Builtin::Arg3,
    Builtin::Arg4,
    Builtin::Arg5,
    Builtin::Arg6,
    Builtin::Arg7,
    Builtin::Arg8,
    Builtin::Arg9,
];

impl Checker<'_> {
    /// `` module`name ``: a variable is loaded from its address, a function is its address.
    pub(super) fn check_symbol_read(&self, name: &str, span: Span) -> Result<Expr> {
        let Some(symbol) = self.env.kernel.symbol(name) else {
            if name.contains("``") && self.env.kernel.symbol(&name.replace("``", "`")).is_some() {
                return Err(Box::new(Error::UserSymbol { name: name.to_string(), span }));
            }
            return Err(Box::new(Error::SymbolUndefined { name: name.to_string(), span }));
        };
        let Some(ty) = symbol.ty else {
            let why = self.env.kernel.without_types();
            return Err(Box::new(Error::SymbolWithoutType { name: name.to_string(), why, span }));
        };
        let function = ty == Type::Function;
        let address = Expr::new(ExprKind::Int(symbol.address), Type::pointer_to(ty), span);
        if function { Ok(address) } else { self.dereference(address, span) }
    }

    /// A built-in variable's type, which may be one of the kernel.
    pub(super) fn builtin_type(&self, id: Builtin, ty: &'static str) -> Type {
        match id {
            Builtin::Curthread => match self.env.kernel.tagged(TagKind::Struct, "task_struct") {
                Some(task) => Type::pointer_to(task),
                None => builtin::type_of(ty),
            },
            _ => builtin::type_of(ty),
        }
    }

    /// `args[i]`: what the probes of the clause say that it is.
    pub(super) fn check_typed_argument(&mut self, indices: &[ast::Expr], span: Span) -> Result<Expr> {
        let [index] = indices else {
            return Err(Box::new(Error::ArgumentsSubscript { tag: tags::PROTO_LEN, span }));
        };
        let index = self.check_expr(index)?;
        let Some(number) = index.constant().filter(|_| index.ty.is_integer()) else {
            return Err(Box::new(Error::ArgumentsSubscript { tag: tags::PROTO_ARG, span: index.span }));
        };
        let Some(probes) = self.probes.clone() else {
            return Err(Box::new(Error::ArgumentsOutside { span }));
        };
        if let Some(value) = self.check_declared_argument(&probes, number, index.span, span) {
            return value;
        }
        let mut argument: Option<(Builtin, Type)> = None;
        for probe in &probes {
            let found = self.argument_of(probe, number, index.span, span)?;
            match &argument {
                Some(first) if first.0 != found.0 || !first.1.same(&found.1) => {
                    return Err(Box::new(Error::ArgumentsDiffer { span, probe: probe.span }));
                }
                Some(_) => {}
                None => argument = Some(found),
            }
        }
        let Some((raw, ty)) = argument else {
            return Err(Box::new(Error::ArgumentsOutside { span }));
        };
        let raw = Expr::new(ExprKind::Builtin(raw), builtin::type_of("int64_t"), span);
        Ok(Expr::new(ExprKind::Convert(Box::new(raw)), ty, span))
    }

    /// `args[number]` of probes whose provider was defined, by the program or a library; `None`: it was not.
    fn check_declared_argument(
        &mut self,
        probes: &[ProbeDesc],
        number: u64,
        index: Span,
        span: Span,
    ) -> Option<Result<Expr>> {
        let mut argument: Option<Argument> = None;
        for probe in probes {
            let ProbeDescKind::Fields(fields) = &probe.kind else { return None };
            let differ = || Some(Err(Box::new(Error::ArgumentsDiffer { span, probe: probe.span })));
            let found = match self.declared_argument(fields, number)? {
                Ok(found) => found,
                Err(Some(count)) => {
                    return Some(Err(Box::new(Error::ArgumentIndex { number, count, span: index })));
                }
                Err(None) => return differ(),
            };
            match &argument {
                Some(first) if first.0 != found.0 || !first.2.same(&found.2) => return differ(),
                _ => argument = Some(found),
            }
        }
        let (raw, native, ty) = argument?;
        let Some(raw) = ARGUMENTS.get(raw) else {
            let count = ARGUMENTS.len() as u64;
            return Some(Err(Box::new(Error::ArgumentIndex { number, count, span: index })));
        };
        let raw = Expr::new(ExprKind::Builtin(*raw), builtin::type_of("int64_t"), span);
        let value = Expr::new(ExprKind::Convert(Box::new(raw)), native.clone(), span);
        if self.is_compatible(&value, &ty) {
            return Some(Ok(Expr { ty, ..value }));
        }
        Some(self.translated(ty, value, span))
    }

    /// The raw argument of a probe that holds `args[number]`, and the type of it.
    fn argument_of(
        &self,
        probe: &ProbeDesc,
        number: u64,
        index: Span,
        span: Span,
    ) -> Result<(Builtin, Type)> {
        let outside = |count: u64| Box::new(Error::ArgumentIndex { number, count, span: index });
        let ProbeDescKind::Fields(fields) = &probe.kind else {
            return Err(Box::new(Error::ArgumentsUnstable { span, probe: probe.span }));
        };
        let exact = |field: &str| !field.is_empty() && !field.contains(['*', '?', '[', '\\']);
        let own = matches!(fields.name.as_str(), "BEGIN" | "END" | "ERROR");
        if own || exact(&fields.provider) && fields.provider != "fbt" {
            return Err(outside(0));
        }
        if !exact(&fields.provider) || !exact(&fields.function) || !exact(&fields.name) {
            return Err(Box::new(Error::ArgumentsUnstable { span, probe: probe.span }));
        }
        let module = if exact(&fields.module) { fields.module.as_str() } else { "" };
        let Some(Prototype { params, returns }) = self.env.kernel.prototype(module, &fields.function) else {
            let (function, why) = (fields.function.clone(), self.env.kernel.without_types());
            return Err(Box::new(Error::ArgumentWithoutType { function, why, span }));
        };
        let by_value = |ty: Type| {
            let (function, why) = (fields.function.clone(), Some(format!("{ty} is passed by value")));
            Box::new(Error::ArgumentWithoutType { function, why, span })
        };
        if fields.name == "return" {
            return match number {
                0 => Ok((Builtin::Arg0, INT)),
                1 if returns.is_void() => Err(outside(1)),
                1 if returns.is_by_ref() => Err(by_value(returns)),
                1 => Ok((Builtin::Arg1, returns)),
                _ => Err(outside(if returns.is_void() { 1 } else { 2 })),
            };
        }
        let count = params.len() as u64;
        let number = usize::try_from(number).unwrap_or(usize::MAX);
        let Some((_, ty)) = params.get(number) else { return Err(outside(count)) };
        if ty.is_by_ref() {
            return Err(by_value(ty.clone()));
        }
        // A struct before it may take two registers, or none.
        let before: u64 = params[..number].iter().map(|(_, ty)| self.registers_of(ty)).sum();
        match ARGUMENTS.get(usize::try_from(before).unwrap_or(usize::MAX)) {
            Some(raw) => Ok((*raw, ty.clone())),
            None => Err(outside(ARGUMENTS.len() as u64)),
        }
    }

    /// Of a parameter, as the System V ABI of x86-64 passes it.
    fn registers_of(&self, ty: &Type) -> u64 {
        match self.layout.size(ty) {
            Some(size) if ty.is_by_ref() && size > 16 => 0,
            Some(size) if ty.is_by_ref() && size > 8 => 2,
            _ => 1,
        }
    }

    /// The right side of a comparison whose left side is an enum, if it is the name of one of its values.
    pub(super) fn check_enumerator(&mut self, left: &Type, right: &ast::Expr) -> Result<Option<Expr>> {
        let (Type::Enum(tagged), ast::ExprKind::Ident(name)) = (left.resolved(), &right.kind) else {
            return Ok(None);
        };
        let enumerators = self.types().enumerators(tagged);
        let Some((_, value)) = enumerators.into_iter().find(|(candidate, _)| candidate == name) else {
            return Ok(None);
        };
        let wanted = super::names::Name { scope: super::typed::Scope::Global, name, span: right.span };
        let taken = self.names.find(&wanted).is_some()
            || builtin::lookup(name).is_some()
            || constants::lookup(name).is_some();
        if taken {
            let (name, ty, span) = (name.clone(), left.clone(), right.span);
            return Err(Box::new(Error::Ambiguous { name, ty, span }));
        }
        Ok(Some(Expr::new(ExprKind::Int(value as u64), left.clone(), right.span)))
    }

    /// `` &module`function ``
    pub(super) fn is_function_address(value: &Expr) -> bool {
        matches!(value.kind, ExprKind::Int(_)) && value.ty.referent() == Some(&Type::Function)
    }

    /// Bytes of a kernel symbol; of one without a type those that the symbol table tells.
    pub(super) fn symbol_size(&self, name: &str, span: Span) -> Option<Expr> {
        let symbol = self.env.kernel.symbol(name).filter(|symbol| symbol.bytes > 0)?;
        let typed = symbol.ty.as_ref().is_some_and(|ty| self.layout.size(ty).is_some_and(|size| size > 0));
        (!typed).then(|| Expr::new(ExprKind::Int(symbol.bytes), ULONG, span))
    }
}
