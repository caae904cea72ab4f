//! typeck/expr/symbols.rs: names that the kernel defines: symbols, curthread, enumerators.

use crate::parser::ast;
use crate::typeck::error::Result;
use crate::typeck::state::Checker;
use crate::typeck::typed::{ArithOp, Expr, ExprKind};
use crate::typeck::{error, words};
use crate::vocabulary::constants;
use kinst_base::source::Span;
use kinst_dif::insn::Builtin;
use kinst_types::intrinsic::{INT, ULONG};
use kinst_types::{Symbol, TagKind, Type, TypeSource as _};

impl Checker<'_> {
    /// Checks `` module`name ``: a variable is loaded from its address, a function is its address.
    pub(in crate::typeck) fn check_symbol_read(&self, name: &str, span: Span) -> Result<Expr> {
        let Some(symbol) = self.env.kernel.symbol(name) else {
            if name.contains("``") && self.env.kernel.symbol(&name.replace("``", "`")).is_some() {
                return Err(error::Kernel::UserSymbol { name: name.to_string(), span }.into());
            }
            return Err(error::Kernel::SymbolUndefined { name: name.to_string(), span }.into());
        };
        let Some(ty) = symbol.ty.clone() else {
            let why = self.env.kernel.without_types();
            return Err(error::Kernel::SymbolWithoutType { name: name.to_string(), why, span }.into());
        };
        let ty = self.with_length(ty, symbol.bytes);
        let function = ty == Type::Function;
        let pointer = Type::pointer_to(ty);
        let address = match symbol.per_cpu {
            true => self.own_address(&symbol, pointer, span)?,
            false => Expr::new(ExprKind::Int(symbol.address), pointer, span),
        };
        if function {
            return Ok(address);
        }
        let value = self.dereference(address, span)?;
        // A declaration `char name[]` does not give the length of the string: it ends at its NUL.
        let endless = matches!(value.ty.resolved(), Type::Array { len: 0, .. });
        match endless && value.ty.is_string_compatible() {
            true => Ok(self.cast(value, Type::String, Some(span))),
            false => Ok(value),
        }
    }

    /// Completes an array type without a length from the size of the symbol.
    fn with_length(&self, ty: Type, bytes: u64) -> Type {
        match ty.resolved() {
            Type::Array { of, len: 0 } => match self.layout.size(&self.complete(Type::clone(of))) {
                Some(size @ 1..) => Type::Array { of: of.clone(), len: bytes / size },
                _ => ty,
            },
            _ => ty,
        }
    }

    /// Returns the address of a per-CPU variable on the CPU where the probe fires.
    fn own_address(&self, symbol: &Symbol, pointer: Type, span: Span) -> Result<Expr> {
        Ok(Expr { ty: pointer, ..self.own_place(symbol.address, &symbol.name, span)? })
    }

    /// Returns the address of the current CPU's instance of the per-CPU variable at `address`.
    pub(in crate::typeck) fn own_place(&self, address: u64, name: &str, span: Span) -> Result<Expr> {
        let Some(offsets) = self.env.kernel.symbol("vmlinux`__per_cpu_offset") else {
            let (name, why) =
                (name.to_string(), "the location of each processor's copy is not known".to_string());
            return Err(error::Kernel::SymbolWithoutType { name, why: Some(why), span }.into());
        };
        let value = |kind| Expr::new(kind, ULONG, span);
        let arith =
            |op, left, right| value(ExprKind::Arith { op, left: Box::new(left), right: Box::new(right) });
        let cpu = Expr::new(ExprKind::Builtin(Builtin::Cpu), INT, span);
        let index = arith(ArithOp::Shl, cpu, value(ExprKind::Int(3)));
        let place = arith(ArithOp::Add, value(ExprKind::Int(offsets.address)), index);
        let place = Expr { ty: Type::pointer_to(ULONG), ..place };
        let offset = self.dereference(place, span)?;
        Ok(arith(ArithOp::Add, value(ExprKind::Int(address)), offset))
    }

    /// Returns the type of a built-in variable, which may be a type of the kernel.
    pub(in crate::typeck) fn builtin_type(&self, id: Builtin, ty: &'static str) -> Type {
        match id {
            Builtin::Curthread => match self.env.kernel.tagged(TagKind::Struct, "task_struct") {
                Some(task) => Type::pointer_to(task),
                None => words::type_of(ty),
            },
            _ => words::type_of(ty),
        }
    }

    /// Checks the right side of a comparison whose left side is an enum, if it names one of its values.
    pub(in crate::typeck) fn check_enumerator(
        &mut self,
        left: &Type,
        right: &ast::Expr,
    ) -> Result<Option<Expr>> {
        let (Type::Enum(tagged), ast::ExprKind::Ident(name)) = (left.resolved(), &right.kind) else {
            return Ok(None);
        };
        let enumerators = self.types().enumerators(tagged);
        let Some((_, value)) = enumerators.into_iter().find(|(candidate, _)| candidate == name) else {
            return Ok(None);
        };
        let wanted = crate::typeck::state::names::Name {
            scope: crate::typeck::typed::Scope::Global,
            name,
            span: right.span,
        };
        let taken = self.names.find(&wanted).is_some()
            || self.builtin(name).is_some()
            || constants::lookup(name).is_some();
        if taken {
            let (name, ty, span) = (name.clone(), left.clone(), right.span);
            return Err(error::Kernel::Ambiguous { name, ty, span }.into());
        }
        Ok(Some(Expr::new(ExprKind::Int(value as u64), left.clone(), right.span)))
    }

    /// Whether this is `` &module`function ``.
    pub(in crate::typeck) fn is_function_address(value: &Expr) -> bool {
        matches!(value.kind, ExprKind::Int(_)) && value.ty.referent() == Some(&Type::Function)
    }

    /// Returns the size of a kernel symbol without a type, in bytes, as the symbol table gives it.
    pub(in crate::typeck) fn symbol_size(&self, name: &str, span: Span) -> Option<Expr> {
        let symbol = self.env.kernel.symbol(name).filter(|symbol| symbol.bytes > 0)?;
        let typed = symbol.ty.as_ref().is_some_and(|ty| self.layout.size(ty).is_some_and(|size| size > 0));
        (!typed).then(|| Expr::new(ExprKind::Int(symbol.bytes), ULONG, span))
    }
}
