//! typeck/report/stability.rs: the dependencies of a clause: the report of -v, and the check of option amin.

use crate::parser::ast::{self, Expr, ExprKind, Pragma, PragmaSubject, TypeSpec};
use crate::parser::visit;
use crate::sugar::plain;
use crate::typeck::error;
use crate::typeck::error::Result;
use crate::typeck::state::Checker;
use crate::typeck::typed::{ProbeStability, Stability};
use crate::vocabulary::builtin::{self, What};
use kinst_base::attributes::{self, Attributes, EVOLVING, KERNEL, Provider, STABLE};
use kinst_base::glob::is_glob;
use kinst_base::probe::{Description, Fields, Site};
use kinst_types::TypeSource as _;

impl Checker<'_> {
    /// Records the attributes that a program or library gives its names.
    pub(in crate::typeck) fn note_attributes(&mut self, pragma: &Pragma) {
        let Pragma::Attributes { attributes, of, .. } = pragma else { return };
        let Ok(given) = attributes::parse(&attributes.node) else { return };
        match of {
            PragmaSubject::Identifier(name) => {
                self.attributes.insert(name.node.clone(), given);
            }
            PragmaSubject::Provider { name, part } => {
                let known = Provider::known(&name.node).unwrap_or(Provider::UNKNOWN);
                let provider = self.provider_attributes.entry(name.node.clone()).or_insert(known);
                if let Some(part) = provider.part(&part.node.to_ascii_lowercase()) {
                    *part = given;
                }
            }
        }
    }

    /// Returns the report for -v.
    pub(in crate::typeck) fn stability_of(&self, clause: &plain::Clause) -> Stability {
        // Debug information is opened once for all of them; their types are known then.
        let sites: Vec<Site> = clause.probes.iter().filter_map(|probe| self.site_of(&probe.kind)).collect();
        self.env.places.scopes(&sites);
        let probes: Vec<ProbeStability> =
            clause.probes.iter().map(|probe| self.stability_of_probe(&probe.kind)).collect();
        let arguments = probes.iter().fold(STABLE, |least, probe| least.min(probe.arguments));
        let mut statements = STABLE;
        for expr in clause.predicate.iter().chain(clause.body.iter().flatten()) {
            statements = statements.min(self.least_of(expr, arguments));
        }
        Stability { probes, statements }
    }

    pub(in crate::typeck) fn stability_of_probe(&self, probe: &Description) -> ProbeStability {
        let found = match probe {
            Description::Fields(_) | Description::Site(_) => None,
            // An id names one probe.
            Description::Id(_) => self.env.places.probes(probe).pop(),
        };
        let probe = found.map_or_else(|| probe.clone(), |fields| Description::Fields(Box::new(fields)));
        let (description, arguments) = match probe.fields() {
            Some(fields) => {
                (self.attributes_of_description(&fields), self.provider_of(&fields.provider).args)
            }
            None => (Provider::UNKNOWN.provider, Provider::UNKNOWN.args),
        };
        let types = self.argument_types(&probe);
        ProbeStability { probe, description, arguments, types }
    }

    /// Checks that nothing in the clause is less stable than option amin requires.
    pub(in crate::typeck) fn check_stability(&self, clause: &plain::Clause) -> Result<()> {
        let Some(least) = self.env.amin else { return Ok(()) };
        let mut arguments = STABLE;
        for probe in &clause.probes {
            let Some(fields) = probe.kind.fields() else { continue };
            let own = fields.provider.is_empty() && matches!(fields.name.as_str(), "BEGIN" | "END" | "ERROR");
            let provider = if own { "dtrace".to_owned() } else { fields.provider };
            arguments = arguments.min(self.provider_of(&provider).args);
            let fields = Fields { provider, ..fields };
            let found = self.attributes_of_description(&fields);
            if !found.reaches(least) {
                let what = format!("the probe description {}", probe.kind);
                return Err(error::Unavailable::Unstable { what, found, least, span: probe.span }.into());
            }
        }
        let mut open: Vec<&Expr> = clause.predicate.iter().chain(clause.body.iter().flatten()).collect();
        open.reverse();
        while let Some(expr) = open.pop() {
            let found = self.attributes_of(expr, arguments);
            if !found.reaches(least) {
                let (what, span) = (format!("`{expr}`"), expr.span);
                return Err(error::Unavailable::Unstable { what, found, least, span }.into());
            }
            visit::each_operand(expr, &mut |operand| open.push(operand));
        }
        Ok(())
    }

    /// Returns the least attributes of an expression and all its operands; `arguments` are the attributes
    /// of `args[]`.
    pub(in crate::typeck) fn least_of(&self, expr: &Expr, arguments: Attributes) -> Attributes {
        let (mut open, mut least) = (vec![expr], STABLE);
        while let Some(expr) = open.pop() {
            least = least.min(self.attributes_of(expr, arguments));
            visit::each_operand(expr, &mut |operand| open.push(operand));
        }
        least
    }

    /// Returns the attributes of the node itself, without its operands.
    fn attributes_of(&self, expr: &Expr, arguments: Attributes) -> Attributes {
        match &expr.kind {
            ExprKind::Ident(name) if name == "args" => arguments,
            ExprKind::Ident(name) if name == "locals" && self.is_locals(expr) => KERNEL,
            ExprKind::Ident(name) => self.attributes_of_name(name),
            ExprKind::Call { callee, .. } => self.attributes_of_name(&callee.node),
            ExprKind::Cast { ty, .. }
            | ExprKind::SizeofType { ty }
            | ExprKind::Offsetof { ty, .. }
            | ExprKind::Xlate { ty, .. } => self.attributes_of_type(ty),
            _ => STABLE,
        }
    }

    fn attributes_of_name(&self, name: &str) -> Attributes {
        if name.contains('`') {
            return KERNEL;
        }
        if let Some(given) = self.attributes.get(name) {
            return *given;
        }
        if let Some(inline) = self.inlines.get(name) {
            return inline.attributes;
        }
        match builtin::lookup(name).map(|entry| (entry.name, entry.what)) {
            Some(("curthread", _)) => Attributes { data: 1, ..STABLE },
            Some((name, What::Subroutine(_))) if is_of_kernel(name) => EVOLVING,
            _ => STABLE,
        }
    }

    /// Returns the attributes of a provider; a description without a provider guarantees nothing.
    fn provider_of(&self, provider: &str) -> Provider {
        if provider.is_empty() || is_glob(provider) {
            return Provider::UNKNOWN;
        }
        let given = self.provider_attributes.get(provider).copied();
        given.or_else(|| Provider::known(provider)).unwrap_or(Provider::UNKNOWN)
    }

    fn attributes_of_description(&self, fields: &Fields) -> Attributes {
        let written = |field: &str| !field.is_empty() && !is_glob(field);
        let (module, function) = (written(&fields.module), written(&fields.function));
        self.provider_of(&fields.provider).of_description(module, function, written(&fields.name))
    }

    /// Returns the attributes of a type: the kernel's if only the kernel defines it.
    fn attributes_of_type(&self, ty: &ast::TypeName) -> Attributes {
        let own = |spec: &TypeSpec| match spec {
            TypeSpec::Name(name) => {
                self.declared.named(name).is_some() || kinst_types::intrinsic::Intrinsic.named(name).is_some()
            }
            TypeSpec::Tag { kind, name } => self.declared.tagged(*kind, name).is_some(),
            _ => true,
        };
        if ty.specs.iter().all(|spec| own(&spec.node)) { STABLE } else { KERNEL }
    }
}

/// Whether a subroutine depends on the kernel's locks, devices or messages.
fn is_of_kernel(name: &str) -> bool {
    ["mutex_", "rw_", "sx_", "msg", "ddi_", "get"].iter().any(|start| name.starts_with(start))
}
