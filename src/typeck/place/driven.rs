//! typeck/place/driven.rs: args[] and arg0 at the static probes of drivers and programs, from their notes.

use std::sync::Arc;

use super::arguments::number_of;
use crate::sugar::plain::ProbeDesc;
use crate::typeck::declare::provider::Argument;
use crate::typeck::error::Result;
use crate::typeck::operand::Operand;
use crate::typeck::state::Checker;
use crate::typeck::state::place::Place;
use crate::typeck::typed::{Expr, ExprKind};
use crate::typeck::{error, words};
use kinst_base::probe::{Description, Fields};
use kinst_base::source::Span;
use kinst_base::space::Space;
use kinst_dwarf::variables::scope::NoScope;
use kinst_sites::{Driven, DrivenArgument, DrivenType};
use kinst_types::{TagKind, Type};

impl Checker<'_> {
    /// Takes the descriptions of static probes out of the list and makes a place for each probe,
    /// identified by its id, as one description may have several probes whose arguments are in different
    /// locations.
    pub(super) fn driven_places(&self, probes: Vec<ProbeDesc>) -> Result<(Vec<Place>, Vec<ProbeDesc>)> {
        let mut places = Vec::new();
        let mut others = Vec::new();
        for probe in probes {
            let driven = self.env.places.driven(&probe.kind);
            if driven.is_empty() {
                others.push(probe);
                continue;
            }
            if self.env.places.probes(&probe.kind).len() > driven.len() {
                let driver = driven[0].name.to_string();
                return Err(error::Args::Driver { driver, span: probe.span }.into());
            }
            let why = || NoScope::Function("a static probe has only arguments".to_owned());
            places.extend(driven.into_iter().map(|driven| Place {
                probe: ProbeDesc { kind: Description::Id(driven.id), span: probe.span },
                in_scope: Arc::new(Err(why())),
                driven: Some(Arc::new(driven)),
            }));
        }
        Ok((places, others))
    }

    /// Checks `args[number]` at a static probe; `None` if the clause is not at one.
    pub(super) fn check_driver_argument(
        &mut self,
        number: u64,
        index: Span,
        span: Span,
    ) -> Option<Result<Operand>> {
        let driven = self.place.as_ref()?.driven.clone()?;
        let outside = |count: usize| error::Args::Index { number, count: count as u64, span: index }.into();
        let at = usize::try_from(number).unwrap_or(usize::MAX);
        let what = format!("args[{number}]");
        let declared = self.declared_of(&driven);
        let (at, types) = match declared.as_ref().map(|declared| declared.get(at)) {
            None => (at, None),
            Some(Some((at, native, ty))) => (*at, Some((of_process(native), of_process(ty)))),
            Some(None) => return Some(Err(outside(declared.iter().flatten().count()))),
        };
        let Some(argument) = driven.arguments.get(at) else {
            return Some(Err(outside(driven.arguments.len())));
        };
        let Some((native, ty)) = types else {
            let ty = self.type_of_driven(argument, &driven);
            return Some(self.driver_argument(&driven, argument, ty, &what, span).map(Operand::from));
        };
        // A string is passed as the address of its characters.
        let passed = if native.is_string() { of_process(&words::type_of("char *")) } else { native };
        let value = match self.driver_argument(&driven, argument, passed, &what, span) {
            Ok(value) => value,
            Err(error) => return Some(Err(error)),
        };
        Some(match ty.is_string() || self.is_compatible(&value, &ty) {
            true => Ok(self.cast(value, ty, Some(span)).into()),
            false => self.translated(ty, value, span).map(Operand::from),
        })
    }

    /// Returns the types that the program's own definition of the provider has for the arguments of a probe.
    fn declared_of(&self, driven: &Driven) -> Option<Vec<Argument>> {
        let is_of_program = driven.space != Space::Kernel;
        let fields = Fields { provider: driven.provider.clone(), ..driven.name.clone() };
        is_of_program.then(|| self.declared_arguments(&fields))?
    }

    /// Checks arg0 to arg9 at a static probe; `None` if the clause is not at one, or for any other
    /// name.
    pub(in crate::typeck) fn check_raw_driver_argument(
        &mut self,
        name: &str,
        span: Span,
    ) -> Option<Result<Expr>> {
        let driven = self.place.as_ref()?.driven.clone()?;
        let number = number_of(name)?;
        let raw = words::type_of("int64_t");
        // As everywhere, arguments beyond the last are 0.
        let Some(argument) = driven.arguments.get(number) else {
            let zero = Expr::new(ExprKind::Int(0), words::type_of("uint64_t"), span);
            return Some(Ok(Expr::new(ExprKind::Convert(Box::new(zero)), raw, span)));
        };
        let native = native(argument.ty);
        let value = self.driver_argument(&driven, argument, native, name, span);
        Some(value.map(|value| Expr::new(ExprKind::Convert(Box::new(value)), raw, span)))
    }

    fn driver_argument(
        &mut self,
        driven: &Driven,
        argument: &DrivenArgument,
        ty: Type,
        what: &str,
        span: Span,
    ) -> Result<Expr> {
        let value = match &argument.value {
            Ok(value) => value,
            Err(why) => {
                let place = self.require_place("args", span)?;
                return self.absent_at(what, why.clone(), ty, &place, span);
            }
        };
        let value = self.term(value, driven.space != Space::Kernel, span)?;
        // The load is as large as the argument, but the upper bits of a register are undefined.
        let value = Expr::new(ExprKind::Convert(Box::new(value)), native(argument.ty), span);
        Ok(Expr::new(ExprKind::Convert(Box::new(value)), ty, span))
    }

    /// Returns the types of all arguments.
    pub(super) fn types_of_driven(&self, driven: &Driven) -> Vec<Type> {
        if let Some(declared) = self.declared_of(driven) {
            return declared.into_iter().map(|(_, _, ty)| ty).collect();
        }
        driven.arguments.iter().map(|argument| self.type_of_driven(argument, driven)).collect()
    }

    /// The type that the driver wrote, if it is known and of the right size; otherwise the type that the
    /// macro recorded.
    fn type_of_driven(&self, argument: &DrivenArgument, driven: &Driven) -> Type {
        let native = native(argument.ty);
        let written = argument.written.as_deref();
        let written = written.and_then(|text| self.written_type(text, &driven.name.module));
        written
            .filter(|ty| ty.is_scalar() && self.layout.size(ty) == self.layout.size(&native))
            .unwrap_or(native)
    }

    /// Parses a type as a driver writes it: a name or tag, and stars. The driver or the kernel defines it.
    fn written_type(&self, text: &str, module: &str) -> Option<Type> {
        let base = text.trim_end_matches([' ', '*']);
        let stars = text.chars().filter(|c| *c == '*').count();
        let base = base.trim_start_matches("const ").trim();
        let known = |scope: &str| match base.split_once(' ') {
            Some(("struct", tag)) => self.env.kernel.tagged(TagKind::Struct, &format!("{scope}{tag}")),
            Some(("union", tag)) => self.env.kernel.tagged(TagKind::Union, &format!("{scope}{tag}")),
            Some(("enum", tag)) => self.env.kernel.tagged(TagKind::Enum, &format!("{scope}{tag}")),
            _ => self.env.kernel.named(&format!("{scope}{base}")),
        };
        let ty = known(&format!("{module}`")).or_else(|| known("")).or_else(|| {
            let word = words::type_of(base);
            (!word.is_void() || base == "void").then_some(word)
        })?;
        Some((0..stars).fold(ty, |ty, _| Type::pointer_to(ty)))
    }
}

/// Returns the type with its pointers into the memory of the process.
fn of_process(ty: &Type) -> Type {
    match ty.resolved() {
        Type::Pointer { to, .. } => Type::Pointer { to: Box::new(of_process(to)), user: true },
        _ => ty.clone(),
    }
}

fn native(ty: DrivenType) -> Type {
    match ty {
        DrivenType::Number { bytes, signed } => {
            let sign = if signed { "" } else { "u" };
            words::type_of(&format!("{sign}int{}_t", 8 * u32::from(bytes)))
        }
        DrivenType::Pointer => words::type_of("void *"),
        DrivenType::Text => words::type_of("char *"),
    }
}
