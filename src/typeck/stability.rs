//! typeck/stability.rs: what a clause depends on, measured against option amin.

use super::builtin::{self, What};
use super::{Checker, Error, Result};
use crate::attributes::{self, Attributes, EVOLVING, KERNEL, STABLE};
use crate::parser::ast::{self, Expr, ExprKind, Pragma, PragmaSubject, ProbeDesc, ProbeDescKind, TypeSpec};
use crate::parser::visit;
use crate::sugar::plain;
use crate::types::TypeSource as _;

/// Of fbt and kinst: the fields of their descriptions are names of the kernel.
const PLACES: Attributes = Attributes { class: 4, ..EVOLVING };

impl Checker<'_> {
    /// The attributes that a text gives to a name of its own.
    pub(super) fn note_attributes(&mut self, pragma: &Pragma) {
        if let Pragma::Attributes { attributes, of: PragmaSubject::Identifier(name), .. } = pragma
            && let Ok(given) = attributes::parse(&attributes.node)
        {
            self.attributes.insert(name.node.clone(), given);
        }
    }

    /// Nothing in the clause is less stable than was asked for.
    pub(super) fn check_stability(&self, clause: &plain::Clause) -> Result<()> {
        let Some(least) = self.env.amin else { return Ok(()) };
        for probe in &clause.probes {
            let found = attributes_of_probe(probe);
            if !found.reaches(least) {
                let what = format!("the probe description {probe}");
                return Err(Box::new(Error::Unstable { what, found, least, span: probe.span }));
            }
        }
        let mut open: Vec<&Expr> = clause.predicate.iter().chain(clause.body.iter().flatten()).collect();
        open.reverse();
        while let Some(expr) = open.pop() {
            let found = self.attributes_of(expr);
            if !found.reaches(least) {
                let (what, span) = (format!("`{expr}`"), expr.span);
                return Err(Box::new(Error::Unstable { what, found, least, span }));
            }
            visit::each_operand(expr, &mut |operand| open.push(operand));
        }
        Ok(())
    }

    /// Of the node itself; its operands have their own.
    fn attributes_of(&self, expr: &Expr) -> Attributes {
        match &expr.kind {
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
        match builtin::lookup(name).map(|entry| (entry.name, entry.what)) {
            Some(("curthread", _)) => Attributes { data: 1, ..STABLE },
            Some((name, What::Subroutine(_))) if is_of_kernel(name) => EVOLVING,
            _ => STABLE,
        }
    }

    /// A type that only the kernel defines is the kernel's.
    fn attributes_of_type(&self, ty: &ast::TypeName) -> Attributes {
        let own = |spec: &TypeSpec| match spec {
            TypeSpec::Name(name) => {
                self.declared.named(name).is_some()
                    || crate::types::intrinsic::Intrinsic.named(name).is_some()
            }
            TypeSpec::Tag { kind, name } => self.declared.tagged(*kind, name).is_some(),
            _ => true,
        };
        if ty.specs.iter().all(|spec| own(&spec.node)) { STABLE } else { KERNEL }
    }
}

/// Subroutines whose meaning is that of the kernel's locks, devices and messages.
fn is_of_kernel(name: &str) -> bool {
    ["mutex_", "rw_", "sx_", "msg", "ddi_", "get"].iter().any(|start| name.starts_with(start))
}

/// The fields that are written count.
fn attributes_of_probe(probe: &ProbeDesc) -> Attributes {
    let ProbeDescKind::Fields(fields) = &probe.kind else { return STABLE };
    let own = matches!(fields.provider.as_str(), "" | "dtrace");
    let base = if own { STABLE } else { PLACES };
    let place = !fields.module.is_empty() || !fields.function.is_empty();
    if place { base.min(KERNEL) } else { base }
}
