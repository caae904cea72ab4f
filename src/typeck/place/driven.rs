//! typeck/place/driven.rs: args[] and arg0 at a driver's static probes, from the driver's notes.

use std::sync::Arc;

use super::arguments::number_of;
use crate::sugar::plain::ProbeDesc;
use crate::typeck::error::Result;
use crate::typeck::state::Checker;
use crate::typeck::state::place::Place;
use crate::typeck::typed::{Expr, ExprKind};
use crate::typeck::{error, words};
use kinst_base::probe::Description;
use kinst_base::source::Span;
use kinst_dwarf::variables::scope::NoScope;
use kinst_sites::{Driven, DrivenArgument, DrivenType};
use kinst_types::{TagKind, Type};

impl Checker<'_> {
    /// Takes the descriptions of drivers' static probes out of the list and makes a place for each probe,
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
            let why = || NoScope::Function("a driver's static probe has only arguments".to_owned());
            places.extend(driven.into_iter().map(|driven| Place {
                probe: ProbeDesc { kind: Description::Id(driven.id), span: probe.span },
                in_scope: Arc::new(Err(why())),
                driven: Some(Arc::new(driven)),
            }));
        }
        Ok((places, others))
    }

    /// Checks `args[number]` at a driver's static probe; `None` if the clause is not at one.
    pub(super) fn check_driver_argument(
        &mut self,
        number: u64,
        index: Span,
        span: Span,
    ) -> Option<Result<Expr>> {
        let driven = self.place.as_ref()?.driven.clone()?;
        let argument = usize::try_from(number).ok().and_then(|number| driven.arguments.get(number));
        let Some(argument) = argument else {
            let count = driven.arguments.len() as u64;
            return Some(Err(error::Args::Index { number, count, span: index }.into()));
        };
        let ty = self.type_of_driven(argument, &driven.name.module);
        Some(self.driver_argument(argument, ty, &format!("args[{number}]"), span))
    }

    /// Checks arg0 to arg9 at a driver's static probe; `None` if the clause is not at one, or for any other
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
        let value = self.driver_argument(argument, native, name, span);
        Some(value.map(|value| Expr::new(ExprKind::Convert(Box::new(value)), raw, span)))
    }

    fn driver_argument(
        &mut self,
        argument: &DrivenArgument,
        ty: Type,
        what: &str,
        span: Span,
    ) -> Result<Expr> {
        let Some(value) = &argument.value else {
            let place = self.require_place("args", span)?;
            return self.absent_at(what, "a program cannot read its location".to_owned(), ty, &place, span);
        };
        let value = self.term(value, false, span)?;
        // The load is as large as the argument, but the upper bits of a register are undefined.
        let value = Expr::new(ExprKind::Convert(Box::new(value)), native(argument.ty), span);
        Ok(Expr::new(ExprKind::Convert(Box::new(value)), ty, span))
    }

    /// Returns the types of all arguments.
    pub(super) fn types_of_driven(&self, driven: &Driven) -> Vec<Type> {
        let arguments = driven.arguments.iter();
        arguments.map(|argument| self.type_of_driven(argument, &driven.name.module)).collect()
    }

    /// The type that the driver wrote, if it is known and of the right size; otherwise the type that the
    /// macro recorded.
    fn type_of_driven(&self, argument: &DrivenArgument, module: &str) -> Type {
        let native = native(argument.ty);
        let written = argument.written.as_deref().and_then(|text| self.written_type(text, module));
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
