//! sugar/aliases.rs: probes under another system's name: their clauses move to the places that this kernel has.

use std::collections::HashSet;
use std::fmt;

use super::stage::Stage;
use super::{plain, synth};
use crate::parser::ast::{
    Alias, AliasPlace, Clause, Expr, ExprKind, Item, ProbeDesc, ProbeDescKind, Program, Provider,
    ProviderProbe,
};
use crate::parser::visit;
use kinst_base::diag::{Diagnostic, suggest, tags};
use kinst_base::glob::{Pattern, is_glob};
use kinst_base::probe::{Description, Fields};
use kinst_base::source::Span;
use kinst_base::space::Space;
use kinst_sites::Places;

/// A description that is not an alias; only this pass makes one from a program's description.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Unaliased(ProbeDesc);

impl Unaliased {
    /// Returns the description in the parser's type.
    pub fn into_written(self) -> ProbeDesc {
        self.0
    }

    /// Returns the description by reference.
    pub fn written(&self) -> &ProbeDesc {
        &self.0
    }
}

impl fmt::Display for Unaliased {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl Stage for Unaliased {
    fn span(&self) -> Span {
        self.0.span
    }

    fn on_error(nowhere: Span) -> Unaliased {
        Unaliased(ProbeDesc::on_error(nowhere))
    }
}

/// The aliases that the libraries of a run define.
#[derive(Clone, Debug, Default)]
pub struct Aliases {
    providers: Vec<Provider>,
}

impl Aliases {
    /// Collects the providers of these libraries that have an alias.
    pub fn new<'a>(libraries: impl Iterator<Item = &'a plain::Program<ProbeDesc>>) -> Aliases {
        let items = libraries.flat_map(|library| &library.items);
        let providers = items.filter_map(|item| match item {
            plain::Item::Provider(provider) => Some(provider),
            _ => None,
        });
        let aliased = |provider: &&Provider| provider.probes.iter().any(|probe| probe.alias.is_some());
        Aliases { providers: providers.filter(aliased).cloned().collect() }
    }

    /// Runs the pass. A clause with an alias is split, in the order of its descriptions. If a description has
    /// several places, the ones missing in this kernel are left out. With `lenient`, descriptions that match
    /// nothing are unchanged.
    pub fn expand(
        &self,
        programs: Vec<Program>,
        places: &dyn Places,
        lenient: bool,
    ) -> Result<Vec<Program<Unaliased>>, Vec<Diagnostic>> {
        // No index of inlined copies exists yet in which to look up sites.
        let exists = |fields: &Fields| {
            let description = Description::Fields(Box::new(fields.clone()));
            let is_of_code = fields.provider == "kinst" || Space::of_program(&fields.provider).is_some();
            is_of_code || !places.probes(&description).is_empty()
        };
        programs.into_iter().map(|program| self.program(program, &exists, lenient)).collect()
    }

    fn program(
        &self,
        program: Program,
        exists: &dyn Fn(&Fields) -> bool,
        lenient: bool,
    ) -> Result<Program<Unaliased>, Vec<Diagnostic>> {
        let raw = inlines_of_arguments(&program);
        let (mut items, mut errors) = (Vec::new(), Vec::new());
        for item in program.items {
            match item {
                Item::Clause(clause) if clause.probes.iter().any(|probe| self.provider(probe).is_some()) => {
                    match self.split(&clause, &raw, exists, lenient) {
                        Ok(clauses) => items.extend(clauses.into_iter().map(Item::Clause)),
                        Err(error) => errors.push(*error),
                    }
                }
                Item::Clause(Clause { probes, predicate, body, span }) => {
                    let probes = probes.into_iter().map(Unaliased).collect();
                    items.push(Item::Clause(Clause { probes, predicate, body, span }));
                }
                Item::Provider(provider) => {
                    errors.extend(provider.probes.iter().find(|p| p.alias.is_some()).map(only_in_libraries));
                    items.push(Item::Provider(provider));
                }
                Item::Pragma(pragma) => items.push(Item::Pragma(pragma)),
                Item::Declaration(declaration) => items.push(Item::Declaration(declaration)),
                Item::Inline(inline) => items.push(Item::Inline(inline)),
                Item::Translator(translator) => items.push(Item::Translator(translator)),
            }
        }
        if errors.is_empty() { Ok(Program { items }) } else { Err(errors) }
    }

    fn provider<'a>(&'a self, probe: &'a ProbeDesc) -> Option<(&'a Provider, &'a Fields)> {
        let ProbeDescKind::Fields(fields) = &probe.kind else { return None };
        let provider = self.providers.iter().find(|provider| provider.name.node == fields.provider)?;
        Some((provider, fields))
    }

    fn split(
        &self,
        clause: &Clause,
        raw: &HashSet<String>,
        exists: &dyn Fn(&Fields) -> bool,
        lenient: bool,
    ) -> Result<Vec<Clause<Unaliased>>, Box<Diagnostic>> {
        let mut clauses: Vec<Clause<Unaliased>> = Vec::new();
        let mut as_written = Vec::new();
        for probe in &clause.probes {
            let found = match self.provider(probe) {
                None => Vec::new(),
                Some((provider, fields)) => match matching(provider, fields, probe.span) {
                    Err(_) if lenient => Vec::new(),
                    found => found?.into_iter().map(|probe| (provider, probe)).collect(),
                },
            };
            if found.is_empty() {
                as_written.push(Unaliased(probe.clone()));
                continue;
            }
            clauses.extend(rest(clause, std::mem::take(&mut as_written)));
            let mut located = Vec::new();
            for (provider, found) in found {
                let Some(Alias::Places(places)) = &found.alias else { continue };
                let span = probe.span;
                located.extend(places.iter().map(|place| {
                    let kinds = place.probes.iter().map(|probe| &probe.kind).collect();
                    Located { provider, probe: found, place, kinds, raw, span }
                }));
            }
            for located in existing(located, exists) {
                clauses.push(located.clause(clause)?);
            }
        }
        clauses.extend(rest(clause, as_written));
        Ok(clauses)
    }
}

/// The clause for those of its descriptions that are not aliases.
fn rest(clause: &Clause, probes: Vec<Unaliased>) -> Option<Clause<Unaliased>> {
    let Clause { predicate, body, span, .. } = clause.clone();
    (!probes.is_empty()).then_some(Clause { probes, predicate, body, span })
}

/// The places that this kernel has, or all places if it has none of them.
fn existing<'a>(located: Vec<Located<'a>>, exists: &dyn Fn(&Fields) -> bool) -> Vec<Located<'a>> {
    let exists = |kind: &ProbeDescKind| match kind {
        ProbeDescKind::Fields(fields) => exists(fields),
        ProbeDescKind::Id(_) => true,
    };
    let mut kept = located.clone();
    for place in &mut kept {
        place.kinds.retain(|kind| exists(kind));
    }
    kept.retain(|place| !place.kinds.is_empty());
    if kept.is_empty() { located } else { kept }
}

/// The probes of a provider that a description matches and that have a place here.
fn matching<'a>(
    provider: &'a Provider,
    fields: &Fields,
    span: Span,
) -> Result<Vec<&'a ProviderProbe>, Box<Diagnostic>> {
    let name = &provider.name.node;
    let error = |title: String| Diagnostic::error(tags::PDESC_ZERO, title).at(span, "requested here");
    if ![&fields.module, &fields.function].iter().all(|field| Pattern::new(field).matches("")) {
        let title = format!("the probes of {name} have no module or function");
        return Err(Box::new(error(title).help(format!("write {name}:::{}", fields.name))));
    }
    let pattern = Pattern::new(&fields.name);
    let matched = provider.probes.iter().filter(|probe| pattern.matches(&probe_name(probe)));
    let (mut placed, mut absent) = (Vec::new(), None);
    for probe in matched {
        match &probe.alias {
            Some(Alias::Absent(nearest)) => absent = Some((probe, nearest)),
            _ => placed.push(probe),
        }
    }
    if !placed.is_empty() {
        return Ok(placed);
    }
    if let Some((probe, nearest)) = absent {
        let title = match is_glob(&fields.name) || fields.name.is_empty() {
            true => format!("Linux has no counterpart of {fields}"),
            false => format!("Linux has no counterpart of {name}:::{}", probe_name(probe)),
        };
        return Err(Box::new(error(title).help(format!("nearest: {}", nearest.node))));
    }
    let names: Vec<String> = provider.probes.iter().map(probe_name).collect();
    let help = match suggest::nearest(&fields.name, names.iter().map(String::as_str)) {
        Some(near) => format!("did you mean `{near}`?"),
        None => {
            let placed = provider.probes.iter().filter(|p| matches!(p.alias, Some(Alias::Places(_))));
            format!("it has {}", placed.map(probe_name).collect::<Vec<_>>().join(", "))
        }
    };
    Err(Box::new(error(format!("{name} has no probe `{}`", fields.name)).help(help)))
}

fn probe_name(probe: &ProviderProbe) -> String {
    probe.name.node.replace("__", "-")
}

fn only_in_libraries(probe: &ProviderProbe) -> Diagnostic {
    let title = format!("`{}` is an alias, which only a library can define", probe.name.node);
    Diagnostic::error(tags::SYNTAX, title)
        .at(probe.name.span, "declares its own places")
        .help("put the provider into a file in a library directory, and use -L DIRECTORY")
}

/// The inlines of a program that use a name replaced by an alias, directly or through other inlines.
fn inlines_of_arguments(program: &Program) -> HashSet<String> {
    let mut raw: HashSet<String> = HashSet::new();
    for item in &program.items {
        if let Item::Inline(inline) = item
            && names_any(&inline.value, &|name| raw.contains(name) || is_replaced(name))
        {
            raw.insert(inline.declarator.name.node.clone());
        }
    }
    raw
}

fn names_any(expr: &Expr, named: &dyn Fn(&str) -> bool) -> bool {
    let mut found = matches!(&expr.kind, ExprKind::Ident(name) if named(name));
    visit::each_operand(expr, &mut |operand| found |= names_any(operand, named));
    found
}

fn is_replaced(name: &str) -> bool {
    argument(name).is_some() || matches!(name, "args" | "probeprov" | "probename")
}

/// The index of `arg0` to `arg9`.
fn argument(name: &str) -> Option<usize> {
    let number = name.strip_prefix("arg")?;
    (number.len() == 1).then(|| number.parse().ok())?
}

/// A clause's description, and one of the groups of places that it stands for.
#[derive(Clone)]
struct Located<'a> {
    provider: &'a Provider,
    probe: &'a ProviderProbe,
    place: &'a AliasPlace,
    /// The place's descriptions that apply here.
    kinds: Vec<&'a ProbeDescKind>,
    raw: &'a HashSet<String>,
    /// The description as written.
    span: Span,
}

impl Located<'_> {
    /// The clause at these places, with the condition of the alias before its predicate.
    fn clause(&self, clause: &Clause) -> Result<Clause<Unaliased>, Box<Diagnostic>> {
        let described =
            |kind: &&ProbeDescKind| Unaliased(ProbeDesc { kind: (*kind).clone(), span: self.span });
        let probes = self.kinds.iter().map(described).collect();
        let (mut predicate, mut body) = (clause.predicate.clone(), clause.body.clone());
        let mut error = None;
        let mut replace = |expr: &mut Expr| self.replace(expr, &mut error);
        predicate.iter_mut().for_each(&mut replace);
        visit::each_expression(body.as_deref_mut().unwrap_or_default(), &mut replace);
        if let Some(error) = error {
            return Err(Box::new(error));
        }
        if let Some(condition) = &self.place.condition {
            let condition = respanned(condition, self.span);
            predicate = Some(match predicate {
                None => condition,
                Some(predicate) => synth::and(condition, predicate, self.span),
            });
            // A predicate needs braces after it.
            body.get_or_insert_default();
        }
        Ok(Clause { probes, predicate, body, span: clause.span })
    }

    /// Replaces the arguments of the probe by the values of the alias.
    fn replace(&self, expr: &mut Expr, error: &mut Option<Diagnostic>) {
        let span = expr.span;
        let replaced = match &expr.kind {
            ExprKind::Ident(name) => match name.as_str() {
                "probeprov" => Ok(text(&self.provider.name.node, span)),
                "probename" => Ok(text(&probe_name(self.probe), span)),
                "args" => Err(self.refusal("args[] is not available as a whole", span)),
                name if self.raw.contains(name) => Err(self
                    .refusal(&format!("`{name}` is an inline that uses probe arguments"), span)
                    .help("write its value in the clause")),
                name => match argument(name) {
                    Some(number) => self.value(number, None, span),
                    None => return,
                },
            },
            ExprKind::Index { base, indices } if is_args(base) => match &indices[..] {
                [Expr { kind: ExprKind::Int { value, .. }, .. }] => {
                    let number = usize::try_from(*value).unwrap_or(usize::MAX);
                    self.value(number, self.probe.native.list.get(number), span)
                }
                _ => Err(self.refusal("args[] needs a constant index", span)),
            },
            _ => return visit::each_operand_mut(expr, &mut |operand| self.replace(operand, error)),
        };
        match replaced {
            Ok(replacement) => *expr = replacement,
            Err(refusal) => *error = error.take().or(Some(refusal)),
        }
    }

    /// An argument of the alias: `args[number]` of this type, or `argN`, an int64_t.
    fn value(
        &self,
        number: usize,
        param: Option<&crate::parser::ast::Param>,
        span: Span,
    ) -> Result<Expr, Diagnostic> {
        let Some(value) = self.place.values.get(number) else {
            let count = self.place.values.len();
            let title = format!("no argument {number}");
            return Err(self.refusal(&title, span).note(match count {
                0 => "it has none".to_owned(),
                1 => "it has only arg0".to_owned(),
                count => format!("it has arg0 to arg{}", count - 1),
            }));
        };
        let ty = match param {
            Some(param) => param.ty.clone(),
            None => synth::named_type("int64_t", span),
        };
        let operand = Box::new(respanned(value, span));
        Ok(Expr { kind: ExprKind::Cast { ty: Box::new(ty), operand }, span })
    }

    fn refusal(&self, what: &str, span: Span) -> Diagnostic {
        let (provider, name) = (&self.provider.name.node, probe_name(self.probe));
        Diagnostic::error(tags::ARGS_IDX, format!("{what} at {provider}:::{name}")).at(span, "used here")
    }
}

fn is_args(expr: &Expr) -> bool {
    matches!(&expr.kind, ExprKind::Ident(name) if name == "args")
}

fn text(value: &str, span: Span) -> Expr {
    let kind = ExprKind::Str { value: value.as_bytes().to_vec(), text: format!("\"{value}\"") };
    Expr { kind, span }
}

/// The expression, with the span of its use in the program.
fn respanned(expr: &Expr, span: Span) -> Expr {
    fn set(expr: &mut Expr, span: Span) {
        expr.span = span;
        visit::each_operand_mut(expr, &mut |operand| set(operand, span));
    }
    let mut expr = expr.clone();
    set(&mut expr, span);
    expr
}
