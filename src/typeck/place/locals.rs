//! typeck/place/locals.rs: `locals->name` and `args[i]` at an instruction: the variables of the kernel's code.

use super::described::is_of_code;
use crate::parser::ast;
use crate::typeck::env::MissingLocals;
use crate::typeck::error;
use crate::typeck::error::Result;
use crate::typeck::state::Checker;
use crate::typeck::state::names::Name;
use crate::typeck::state::place::Place;
use crate::typeck::typed::{ArithOp, Expr, ExprKind, Memory, Place as Lvalue, Scope};
use crate::vocabulary::constants;
use kinst_base::diag::suggest;
use kinst_base::probe::{Description, Site};
use kinst_base::source::{Span, Spanned};
use kinst_dif::MAX_VALUE;
use kinst_dif::insn::{Builtin, Subr};
use kinst_dwarf::variables::scope::{self, Variable};
use kinst_dwarf::variables::term::{Binary, Location, Part, Register, Term, Unary};
use kinst_sites::InScope;
use kinst_types::Type;
use kinst_types::intrinsic::{INT, LONG, UCHAR, UINT, ULONG, USHORT};

/// The size of a register in bytes.
const REGISTER_BYTES: u64 = 8;

impl Checker<'_> {
    /// Whether `locals` means the variables of the kernel's code, and not a variable of the program.
    pub(in crate::typeck) fn is_locals(&self, base: &ast::Expr) -> bool {
        let ast::ExprKind::Ident(name) = &base.kind else { return false };
        let wanted = Name { scope: Scope::Global, name, span: base.span };
        name == "locals"
            && self.names.find(&wanted).is_none()
            && !self.inlines.contains_key(name)
            && !self.frames.last().is_some_and(|frame| frame.contains_key(name))
    }

    /// Checks `locals->name`.
    pub(in crate::typeck) fn check_local(
        &mut self,
        base: Span,
        arrow: bool,
        member: &Spanned<String>,
        span: Span,
    ) -> Result<Expr> {
        if !arrow {
            return Err(error::Local::Alone { span: base }.into());
        }
        let place = self.require_place("locals", span)?;
        let name = member.node.as_str();
        let what = format!("locals->{name}");
        let found = place.in_scope.as_ref().as_ref().ok().and_then(|scope| Some((scope, scope.find(name)?)));
        if let Some((scope, variable)) = found {
            return self.read_variable(variable, &what, scope, &place, span);
        }
        let elsewhere = self.in_scope_elsewhere(name);
        if let Some((_, ty)) = elsewhere.as_ref().filter(|_| self.env.missing_locals == MissingLocals::Zero) {
            let why = why_missing(&place, "no variable of this name is in scope there");
            return self.absent_at(&what, why, ty.clone(), &place, span);
        }
        let scope = self.require_scope(&place, &format!("`{what}`"), span)?;
        let unknown = error::Unknown {
            name: name.to_owned(),
            similar: suggest::nearest(name, scope.names()).map(str::to_owned),
            known: known(scope),
            place: place.probe.kind.to_string(),
            elsewhere: elsewhere.map(|(place, _)| place),
        };
        Err(error::Local::Undefined { unknown, span: member.span }.into())
    }

    /// Returns the first of the clause's places where the variable is in scope, and its type there.
    fn in_scope_elsewhere(&self, name: &str) -> Option<(String, Type)> {
        self.places.iter().find_map(|place| {
            let scope = place.in_scope.as_ref().as_ref().ok()?;
            let ty = self.type_of_variable(scope.find(name)?, scope);
            self.is_readable(&ty).then(|| (place.probe.kind.to_string(), ty))
        })
    }

    pub(super) fn is_readable(&self, ty: &Type) -> bool {
        let is_float = matches!(ty.resolved(), Type::Float { bytes: 4 | 8, .. });
        ty.is_scalar() || is_float || ty.is_by_ref() && self.layout.size(ty).is_some_and(|bytes| bytes > 0)
    }

    /// Checks `args[number]` at an instruction; `None` if the clause is not at one.
    pub(in crate::typeck) fn check_site_argument(
        &mut self,
        number: u64,
        index: Span,
        span: Span,
    ) -> Option<Result<Expr>> {
        // In fbt, the prototype defines the arguments.
        let place = self.place.clone().filter(|place| is_of_code(&place.probe.kind))?;
        Some(self.site_argument(&place, number, index, span))
    }

    pub(super) fn site_argument(
        &mut self,
        place: &Place,
        number: u64,
        index: Span,
        span: Span,
    ) -> Result<Expr> {
        if self.env.missing_locals == MissingLocals::Zero
            && parameter(place, number).is_none()
            && let Some(ty) = self.parameter_elsewhere(number)
        {
            let why = why_missing(place, "the function has fewer parameters");
            return self.absent_at(&format!("args[{number}]"), why, ty, place, span);
        }
        let scope = self.require_scope(place, &format!("`args[{number}]`"), span)?;
        let parameters = scope.frame().map(|frame| frame.parameters.as_slice()).unwrap_or_default();
        let found = usize::try_from(number).ok().and_then(|number| parameters.get(number));
        let Some(parameter) = found else {
            let count = parameters.len() as u64;
            return Err(error::Args::Index { number, count, span: index }.into());
        };
        let what = match parameter.name.as_str() {
            "" => format!("args[{number}]"),
            name => format!("args[{number}], which is {name},"),
        };
        self.read_variable(parameter, &what, scope, place, span)
    }

    /// Returns the type of a parameter at the first of the clause's places that has it.
    fn parameter_elsewhere(&self, number: u64) -> Option<Type> {
        self.places.iter().find_map(|place| {
            let (scope, parameter) = parameter(place, number)?;
            let ty = self.type_of_variable(parameter, scope);
            self.is_readable(&ty).then_some(ty)
        })
    }

    /// Returns the variables in scope at a description that names one instruction.
    pub(in crate::typeck) fn scope_of(&self, description: &Description) -> Option<InScope> {
        self.env.places.scopes(&[self.site_of(description)?]).pop()
    }

    /// Returns the instruction, if the description names exactly one.
    pub(in crate::typeck) fn site_of(&self, description: &Description) -> Option<Site> {
        let [site] = <[Site; 1]>::try_from(self.sites_of(description)).ok()?;
        Some(site)
    }

    /// Returns the parameter types of the function, or inlined copy, that contains a place, for listings.
    pub(in crate::typeck) fn types_of_parameters(&self, scope: &scope::Scope) -> Vec<Type> {
        let parameters = scope.frame().map(|frame| frame.parameters.as_slice()).unwrap_or_default();
        parameters.iter().map(|parameter| self.type_of_variable(parameter, scope)).collect()
    }

    pub(super) fn require_place(&self, what: &'static str, span: Span) -> Result<Place> {
        self.place.clone().ok_or_else(|| {
            let probe = self.probes.iter().flatten().next().map(|probe| probe.span);
            error::Local::Outside { what, probe, span }.into()
        })
    }

    pub(super) fn require_scope<'p>(
        &self,
        place: &'p Place,
        what: &str,
        span: Span,
    ) -> Result<&'p scope::Scope> {
        place.in_scope.as_ref().as_ref().map_err(|why| {
            let (what, at) = (what.to_owned(), place.probe.kind.to_string());
            let (why, probe, several) = (why.to_string(), place.probe.span, self.places.len() > 1);
            error::Local::NoScope { what, place: at, why, probe, several, span }.into()
        })
    }

    pub(super) fn type_of_variable(&self, variable: &Variable, scope: &scope::Scope) -> Type {
        let ty = variable.ty.map_or(Type::Void, |place| self.env.kernel.type_at(&scope.module, place));
        self.complete(ty)
    }

    pub(super) fn read_variable(
        &mut self,
        variable: &Variable,
        what: &str,
        scope: &scope::Scope,
        place: &Place,
        span: Span,
    ) -> Result<Expr> {
        let ty = self.type_of_variable(variable, scope);
        let bytes = self.layout.size(&ty);
        if !self.is_readable(&ty) {
            return Err(error::Local::Type { what: what.to_owned(), found: ty, span }.into());
        }
        match &variable.location {
            Ok(Location::Memory(address)) => {
                let to = Type::Pointer { to: Box::new(ty.clone()), user: scope.user };
                let address = Expr { ty: to, ..self.term(address, scope.user, span)? };
                let value = self.dereference(address, span)?;
                // Converted, and so not an lvalue: programs may not write to the kernel's data.
                Ok(if ty.is_by_ref() {
                    value
                } else {
                    Expr::new(ExprKind::Convert(Box::new(value)), ty, span)
                })
            }
            Ok(Location::Value(value)) if !ty.is_by_ref() => {
                let value = self.term(value, scope.user, span)?;
                Ok(Expr::new(ExprKind::Convert(Box::new(value)), ty, span))
            }
            Ok(Location::Value(value)) if bytes.is_some_and(|bytes| bytes <= REGISTER_BYTES) => {
                let whole = Part { offset: 0, bytes: REGISTER_BYTES as u8, value: value.clone() };
                self.held(&[whole], ty, scope.user, span)
            }
            Ok(Location::Parts(parts)) if ty.is_by_ref() => self.held(parts, ty, scope.user, span),
            Ok(Location::Parts(_)) => {
                self.absent_at(what, "it is in several places".to_owned(), ty, place, span)
            }
            Ok(Location::Value(_)) => {
                let why = "it is larger than the register that the debug information names".to_owned();
                self.absent_at(what, why, ty, place, span)
            }
            Err(missing) => {
                let live = variable.live_ranges();
                let why =
                    if live.is_empty() { missing.to_string() } else { format!("{missing}; live at {live}") };
                self.absent_at(what, why, ty, place, span)
            }
        }
    }

    /// Records a missing variable and substitutes 0. It is reported once, after all places of the clause
    /// have been checked, with all findings about it.
    pub(super) fn absent_at(
        &mut self,
        what: &str,
        why: String,
        ty: Type,
        place: &Place,
        span: Span,
    ) -> Result<Expr> {
        let entry = (place.probe.kind.to_string(), why);
        match self.absences.iter_mut().find(|absence| absence.what == what) {
            Some(known) if known.places.contains(&entry) => {}
            Some(known) => known.places.push(entry),
            None => self.absences.push(error::Absence { what: what.to_owned(), places: vec![entry], span }),
        }
        let expr = |kind, ty: Type| Expr::new(kind, ty, span);
        if !ty.is_by_ref() {
            return Ok(expr(ExprKind::Convert(Box::new(expr(ExprKind::Int(0), ULONG))), ty));
        }
        let bytes = self.layout.size(&ty).unwrap_or(0);
        let most = u64::from(MAX_VALUE);
        if bytes > most && self.env.missing_locals == MissingLocals::Zero {
            let what = what.to_owned();
            return Err(error::Local::LargeZero {
                what,
                place: place.probe.kind.to_string(),
                bytes,
                most,
                span,
            }
            .into());
        }
        // Newly allocated memory of the probe is zeroed.
        let size = expr(ExprKind::Int(bytes), ULONG);
        let made = ExprKind::Call { subroutine: Subr::Alloca, args: vec![size] };
        self.dereference(expr(made, Type::pointer_to(ty)), span)
    }

    /// Copies a struct from registers into scratch memory, as the value of a struct is its address.
    fn held(&mut self, parts: &[Part], ty: Type, user: bool, span: Span) -> Result<Expr> {
        // One variable for each position in the source; no program can write this name.
        let wanted = Name { scope: Scope::Clause, name: &format!("%local_{}", span.start), span };
        let pointer = Type::pointer_to(ULONG);
        let id = match self.names.find(&wanted) {
            Some(id) => id,
            None => self.names.create(&wanted, None, pointer.clone())?,
        };
        let expr = |kind, ty: &Type| Expr::new(kind, ty.clone(), span);
        let variable = Lvalue::Variable(id);
        let end = parts.iter().map(|part| part.offset + u64::from(part.bytes)).max().unwrap_or_default();
        let size = expr(ExprKind::Int(end.next_multiple_of(REGISTER_BYTES)), &ULONG);
        let made = expr(ExprKind::Call { subroutine: Subr::Alloca, args: vec![size] }, &pointer);
        let kept = ExprKind::Assign { place: variable.clone(), value: Box::new(made) };
        let address = |ty: Type| expr(ExprKind::Place(variable.clone()), &Type::pointer_to(ty));
        let mut stores = vec![expr(kept, &pointer)];
        for part in parts {
            let unit = unsigned(part.bytes);
            let (left, right) = (address(unit.clone()), expr(ExprKind::Int(part.offset), &ULONG));
            let at = ExprKind::Arith { op: ArithOp::Add, left: Box::new(left), right: Box::new(right) };
            let at = expr(at, &Type::pointer_to(unit.clone()));
            let memory = Lvalue::Memory(Memory { address: Box::new(at), user: false });
            let value = Box::new(self.term(&part.value, user, span)?);
            stores.push(expr(ExprKind::Assign { place: memory, value }, &unit));
        }
        let whole = self.dereference(address(ty.clone()), span)?;
        let after = |right: Expr, left: Expr| {
            let ty = right.ty.clone();
            expr(ExprKind::Comma { left: Box::new(left), right: Box::new(right) }, &ty)
        };
        Ok(stores.into_iter().rev().fold(whole, after))
    }

    /// Builds the expression over the saved registers and memory; `user` says whether that of a process.
    pub(super) fn term(&self, term: &Term, user: bool, span: Span) -> Result<Expr> {
        let expr = |kind, ty| Expr::new(kind, ty, span);
        Ok(match term {
            Term::Register(register) => {
                let index = Box::new(expr(ExprKind::Int(index_of(*register)), INT));
                expr(ExprKind::BuiltinElement { array: Builtin::Regs, index }, ULONG)
            }
            Term::Constant(value) | Term::Address(value) => expr(ExprKind::Int(*value), ULONG),
            Term::PerCpu(address) => {
                let own = self.own_place(*address, "a variable of which each processor has one", span)?;
                Expr { ty: ULONG, ..own }
            }
            Term::Load { address, bytes } => {
                let to = Type::Pointer { to: Box::new(unsigned(*bytes)), user };
                let address = Expr { ty: to, ..self.term(address, user, span)? };
                let loaded = self.dereference(address, span)?;
                expr(ExprKind::Convert(Box::new(loaded)), ULONG)
            }
            Term::Unary(op, operand) => {
                let operand = Box::new(self.term(operand, user, span)?);
                match op {
                    Unary::Negate => expr(ExprKind::Negate(operand), ULONG),
                    Unary::Complement => expr(ExprKind::Complement(operand), ULONG),
                }
            }
            Term::Binary(op, left, right) => {
                let (op, ty) = match op {
                    Binary::Add => (ArithOp::Add, ULONG),
                    Binary::Sub => (ArithOp::Sub, ULONG),
                    Binary::Mul => (ArithOp::Mul, ULONG),
                    Binary::And => (ArithOp::And, ULONG),
                    Binary::Or => (ArithOp::Or, ULONG),
                    Binary::Xor => (ArithOp::Xor, ULONG),
                    Binary::Shl => (ArithOp::Shl, ULONG),
                    Binary::Shr => (ArithOp::Shr, ULONG),
                    Binary::Sar => (ArithOp::Shr, LONG),
                };
                let left = Box::new(self.term(left, user, span)?);
                let right = Box::new(self.term(right, user, span)?);
                let value = expr(ExprKind::Arith { op, left, right }, ty);
                Expr { ty: value.ty.clone(), ..value }
            }
        })
    }
}

/// Returns a parameter of the function, or inlined copy, that contains a place.
pub(super) fn parameter(place: &Place, number: u64) -> Option<(&scope::Scope, &Variable)> {
    let scope = place.in_scope.as_ref().as_ref().ok()?;
    Some((scope, scope.frame()?.parameters.get(usize::try_from(number).ok()?)?))
}

/// The unsigned integer of this many bytes.
fn unsigned(bytes: u8) -> Type {
    match bytes {
        1 => UCHAR,
        2 => USHORT,
        4 => UINT,
        _ => ULONG,
    }
}

fn why_missing(place: &Place, there: &str) -> String {
    place.in_scope.as_ref().as_ref().err().map_or_else(|| there.to_owned(), ToString::to_string)
}

/// Returns the index in `regs[]`.
fn index_of(register: Register) -> u64 {
    let name = format!("R_{}", register.name().to_ascii_uppercase());
    constants::register(&name, register.machine()).map_or(u64::MAX, |index| index as u64)
}

/// Returns the names in scope, for a message.
fn known(scope: &scope::Scope) -> Vec<String> {
    const SHOWN: usize = 12;
    let mut names: Vec<String> = Vec::new();
    for name in scope.names() {
        if !names.iter().any(|known| known == name) {
            names.push(name.to_owned());
        }
    }
    let more = names.len().saturating_sub(SHOWN);
    names.truncate(SHOWN);
    if more > 0 {
        names.push(format!("and {more} more"));
    }
    names
}
