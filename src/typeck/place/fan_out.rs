//! typeck/place/fan_out.rs: clauses that name arguments or variables of the kernel's code, split by place.

use std::collections::HashSet;

use super::arguments::number_of;
use super::described::{first_instruction, is_of_code};
use crate::parser::{ast, visit};
use crate::sugar::plain::{self, ProbeDesc};
use crate::typeck::env::MissingLocals;
use crate::typeck::error::{Error, Result};
use crate::typeck::state::Checker;
use crate::typeck::state::place::{LeftOut, Place};
use crate::typeck::{error, typed};
use kinst_base::glob::is_glob;
use kinst_base::probe::{Description, Fields, Site};
use kinst_base::source::Span;
use kinst_base::space::Space;
use kinst_dwarf::variables::scope::NoScope;

impl Checker<'_> {
    /// Queries the scopes of all places of a program at once: each separate query would open the debug
    /// information.
    pub(in crate::typeck) fn ask_ahead(&self, program: &plain::Program) {
        let mut asked: Vec<Site> = Vec::new();
        for item in &program.items {
            let plain::Item::Clause(clause) = item else { continue };
            let named = self.variables_named(clause).any();
            for probe in clause.probes.iter().filter(|probe| is_of_code(&probe.kind)) {
                if !named && !self.env.stability {
                    continue;
                }
                let sites = self.sites_of(&probe.kind);
                // For a single instruction, the report lists the types of the arguments.
                if named || sites.len() == 1 {
                    asked.extend(sites);
                }
            }
        }
        if asked.len() > 1 {
            self.env.places.scopes(&asked);
        }
    }

    /// Splits a clause by its places, as variables are in different locations at each; the probes of other
    /// providers stay together. `None`: the clause needs no split.
    pub(in crate::typeck) fn fan_out(
        &mut self,
        clause: &plain::Clause,
    ) -> Result<Option<Vec<typed::Clause>>> {
        let named = self.variables_named(clause);
        let partly = !self.left_out.is_empty();
        let is_place = |probe: &ProbeDesc| {
            (named.any() || partly) && is_of_code(&probe.kind)
                || (named.locals || partly) && is_entry(probe)
                || named.args && is_entry(probe) && is_of_program(probe)
        };
        let (sites, others): (Vec<ProbeDesc>, Vec<ProbeDesc>) =
            clause.probes.iter().cloned().partition(is_place);
        let named_driven = named.any() || named.raw || partly;
        let (driven, others) = if named_driven { self.driven_places(others)? } else { (Vec::new(), others) };
        if sites.is_empty() && driven.is_empty() {
            return Ok(None);
        }
        let mut places = Vec::new();
        for site in &sites {
            places.extend(self.places_of(site)?);
        }
        let (probes, asked): (Vec<ProbeDesc>, Vec<Site>) = places.into_iter().unzip();
        let scopes = self.env.places.scopes(&asked);
        let place = |(probe, in_scope)| Place { probe, in_scope, driven: None };
        let places = probes.into_iter().zip(scopes).map(place).chain(driven);
        let mut clauses: Vec<typed::Clause> = Vec::new();
        self.absences.clear();
        self.places = without_padding(places.collect());
        for place in self.places.clone() {
            if let Some(checked) = self.check_at(place, clause)? {
                share(&mut clauses, checked);
            }
        }
        let total = std::mem::take(&mut self.places).len();
        self.left_out.iter_mut().for_each(|left_out| left_out.total = total);
        if let ([], Some(first)) = (&clauses[..], self.left_out.first()) {
            return Err(first.why.clone());
        }
        self.judge_absences()?;
        if !others.is_empty() {
            let rest = plain::Clause { probes: others, ..clause.clone() };
            clauses.extend(self.check_together(&rest)?);
        }
        Ok(Some(clauses))
    }

    /// Checks a clause at one of its places; `None` if the clause is left out there.
    fn check_at(&mut self, place: Place, clause: &plain::Clause) -> Result<Option<typed::Clause>> {
        let probe = place.probe.clone();
        if self.left_out.iter().any(|left_out| left_out.probe == probe) {
            return Ok(None);
        }
        let before = self.names.mark();
        self.place = Some(place);
        let checked = self.check_clause(&plain::Clause { probes: vec![probe.clone()], ..clause.clone() });
        self.place = None;
        if self.env.missing_locals != MissingLocals::Skip {
            return checked.map(Some);
        }
        let absence = std::mem::take(&mut self.absences).into_iter().next();
        let why = match (checked, absence) {
            (Ok(checked), None) => return Ok(Some(checked)),
            (Ok(_), Some(absence)) => error::Local::Absent { absence, zero: false }.into(),
            (Err(error), _) if error.is_of_place() => error,
            (Err(error), _) => return Err(error),
        };
        self.names.reset(&before);
        self.left_out.push(LeftOut { probe, why, total: 0 });
        Ok(None)
    }

    /// Returns the clauses that the sugar pass made from one, starting at `first`: they share their
    /// descriptions. If one of them lacks a variable at a place, all of them are left out there.
    pub(in crate::typeck) fn parts<'p>(
        first: &'p plain::Item,
        rest: &'p [plain::Item],
    ) -> Vec<&'p plain::Clause> {
        let clause = |item: &'p plain::Item| match item {
            plain::Item::Clause(clause) => Some(clause),
            _ => None,
        };
        let Some(first) = clause(first) else { return Vec::new() };
        let more = rest.iter().map_while(clause).take_while(|more| more.probes == first.probes);
        std::iter::once(first).chain(more).collect()
    }

    /// Checks the parts of one clause, again whenever another place leaves them out. A condition may need a
    /// variable that only a later part assigns, as with a predicate.
    pub(in crate::typeck) fn check_parts(&mut self, parts: &[&plain::Clause]) -> Result<Vec<typed::Clause>> {
        self.left_out.clear();
        let (before, warned) = (self.names.mark(), self.warnings.len());
        let mut assigned_later = false;
        loop {
            let known = self.left_out.len();
            let checked: Result<Vec<_>> = parts.iter().map(|part| self.check_descriptions(part)).collect();
            match checked {
                Err(error) if error.is_undefined() && parts.len() > 1 && !assigned_later => {
                    for part in parts {
                        // The error of the next pass counts.
                        let _ = self.check_descriptions(part);
                    }
                    assigned_later = true;
                }
                Ok(_) if parts.len() > 1 && self.left_out.len() > known => self.names.reset(&before),
                checked => {
                    self.remark_left_out();
                    return Ok(checked?.into_iter().flatten().collect());
                }
            }
            self.warnings.truncate(warned);
        }
    }

    fn remark_left_out(&mut self) {
        let left_out = std::mem::take(&mut self.left_out);
        let Some(first) = left_out.first() else { return };
        let label = first.why.diagnostic().labels.first().map(|label| label.span);
        let (span, total) = (label.unwrap_or(first.probe.span), first.total);
        let places = left_out.iter().map(|left_out| {
            let diagnostic = left_out.why.diagnostic();
            match (&*left_out.why, diagnostic.notes.first()) {
                (Error::Local(error::Local::Absent { .. } | error::Local::NoScope { .. }), Some(why)) => {
                    format!("{}: {why}", diagnostic.title)
                }
                (Error::Local(_), _) => diagnostic.title,
                _ => format!("{}: {}", left_out.probe.kind, diagnostic.title),
            }
        });
        let remark = error::Local::LeftOut { total, places: places.collect(), span };
        self.remarks.push(Box::<Error>::from(remark).diagnostic());
    }

    /// Returns which of the variables that differ between places the clause names.
    fn variables_named(&self, clause: &plain::Clause) -> Named {
        let mut named = Named::default();
        let mut open: Vec<&ast::Expr> = clause.predicate.iter().chain(clause.body.iter().flatten()).collect();
        while let Some(expr) = open.pop() {
            named.locals |= self.is_locals(expr);
            named.args |= matches!(&expr.kind, ast::ExprKind::Ident(name) if name == "args");
            named.raw |= matches!(&expr.kind, ast::ExprKind::Ident(name) if number_of(name).is_some());
            visit::each_operand(expr, &mut |operand| open.push(operand));
        }
        named
    }

    /// Returns the places that a description names, each with a separate description and its instruction.
    fn places_of(&self, probe: &ProbeDesc) -> Result<Vec<(ProbeDesc, Site)>> {
        let nothing = || error::Local::NoPlace { probe: probe.kind.to_string(), span: probe.span }.into();
        let fields = match &probe.kind {
            Description::Site(site) => return Ok(vec![(probe.clone(), Site::clone(site))]),
            Description::Fields(fields) => fields,
            Description::Id(_) => return Err(nothing()),
        };
        let described = |kind| ProbeDesc { kind, span: probe.span };
        let places: Vec<(ProbeDesc, Site)> = match is_of_code(&probe.kind) {
            true => {
                let sites = self.env.places.instructions(fields);
                let error = |diagnostic| error::Local::Description { diagnostic, span: probe.span };
                let place = |site: Site| (described(Description::Site(Box::new(site.clone()))), site);
                sites.map_err(error)?.into_iter().map(place).collect()
            }
            false => {
                let named = match is_glob(&fields.function) {
                    true => self.env.places.probes(&probe.kind),
                    false => vec![Fields::clone(fields)],
                };
                let place = |fields: Fields| {
                    let site = first_instruction(&fields);
                    (described(Description::Fields(Box::new(fields))), site)
                };
                named.into_iter().map(place).collect()
            }
        };
        if places.is_empty() { Err(nothing()) } else { Ok(places) }
    }

    /// Returns the instructions that a kinst description names; none if the lookup fails, which is reported
    /// later.
    pub(in crate::typeck) fn sites_of(&self, description: &Description) -> Vec<Site> {
        match description {
            Description::Site(site) => vec![Site::clone(site)],
            Description::Fields(fields) if is_of_code(description) => {
                self.env.places.instructions(fields).unwrap_or_default()
            }
            Description::Fields(_) | Description::Id(_) => Vec::new(),
        }
    }

    /// Reports missing variables as an error, or as warnings if option missinglocals says so.
    fn judge_absences(&mut self) -> Result<()> {
        for absence in std::mem::take(&mut self.absences) {
            let zero = self.env.missing_locals == MissingLocals::Zero;
            let error: Box<Error> = error::Local::Absent { absence, zero }.into();
            if !zero {
                return Err(error);
            }
            self.warnings.push(error.diagnostic());
        }
        Ok(())
    }
}

/// Removes places in the padding between the end of a function's code and the next function: padding is
/// never executed, and no debug information describes it.
fn without_padding(places: Vec<Place>) -> Vec<Place> {
    let described: HashSet<Span> =
        places.iter().filter(|place| place.in_scope.is_ok()).map(|place| place.probe.span).collect();
    let is_padding = |place: &Place| {
        matches!(&*place.in_scope, Err(NoScope::Function(_))) && described.contains(&place.probe.span)
    };
    places.into_iter().filter(|place| !is_padding(place)).collect()
}

/// Adds a clause, or adds its probes to a clause with the same expressions.
fn share(clauses: &mut Vec<typed::Clause>, clause: typed::Clause) {
    let same = |known: &&mut typed::Clause| known.predicate == clause.predicate && known.body == clause.body;
    match clauses.iter_mut().find(same) {
        Some(known) => {
            known.probes.extend(clause.probes);
            if let (Some(known), Some(more)) = (&mut known.stability, clause.stability) {
                known.probes.extend(more.probes);
            }
        }
        None => clauses.push(clause),
    }
}

/// The variables of the kernel's code that a clause names.
#[derive(Clone, Copy, Default)]
struct Named {
    args: bool,
    locals: bool,
    /// arg0 to arg9.
    raw: bool,
}

impl Named {
    fn any(self) -> bool {
        self.args || self.locals
    }
}

/// Whether this is a probe of functions in a program. Some of their arguments may be in no argument register.
fn is_of_program(probe: &ProbeDesc) -> bool {
    probe.kind.fields().is_some_and(|fields| Space::of_program(&fields.provider).is_some())
}

/// Whether this is the first instruction of a function, where its parameters still have their initial
/// locations.
fn is_entry(probe: &ProbeDesc) -> bool {
    match &probe.kind {
        Description::Fields(fields) => {
            let has_code = fields.provider == "fbt" || Space::of_program(&fields.provider).is_some();
            has_code && fields.name == "entry" && !fields.function.is_empty()
        }
        Description::Id(_) | Description::Site(_) => false,
    }
}
