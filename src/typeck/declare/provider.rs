//! typeck/declare/provider.rs: definitions of providers: the types of their probes' arguments.

use std::collections::{HashMap, HashSet};

use super::specs::Allowed;
use crate::parser::ast;
use crate::typeck::error;
use crate::typeck::error::Result;
use crate::typeck::state::Checker;
use crate::typeck::state::declared::{Probe, Provider};
use kinst_base::glob::Pattern;
use kinst_base::probe::Fields;
use kinst_types::{Type, TypeSource};

/// The limit on a provider's name in bytes, including the terminating NUL.
const NAME_BYTES: usize = 64;
const MOST_ARGUMENTS: usize = 255;

/// The arguments that a probe passes, and those that programs see.
type Arguments = (Vec<Type>, Vec<(Type, usize)>);

/// `args[i]` of a probe: the native argument's index and type, and the type that programs see.
pub(in crate::typeck) type Argument = (usize, Type, Type);

impl Checker<'_> {
    pub(in crate::typeck) fn has_provider(&self, name: &str) -> bool {
        self.providers.contains_key(name)
    }

    pub(in crate::typeck) fn define_provider(&mut self, definition: &ast::Provider) -> Result<()> {
        let (name, span) = (&definition.name.node, definition.name.span);
        let fits = name.len() < NAME_BYTES && !name.contains('`');
        if !fits || name.ends_with(|c: char| c.is_ascii_digit()) {
            return Err(error::Provider::Name { name: name.clone(), span }.into());
        }
        let mut probes: Vec<Probe> = Vec::new();
        let mut seen = HashSet::new();
        for probe in &definition.probes {
            let name = probe.name.node.replace("__", "-");
            if !seen.insert(name.clone()) {
                return Err(error::Provider::ProbeTwice { name, span: probe.name.span }.into());
            }
            let (native, translated) = self.check_probe(probe)?;
            probes.push(Probe { name, native, translated });
        }
        if let Some(known) = self.providers.get(name) {
            if !same(&known.probes, &probes) {
                return Err(error::Provider::Redefined { name: name.clone(), span }.into());
            }
            return Ok(());
        }
        self.providers.insert(name.clone(), Provider { probes });
        Ok(())
    }

    /// Returns the types of the probe's arguments as it passes them and as programs see them.
    fn check_probe(&mut self, probe: &ast::ProviderProbe) -> Result<Arguments> {
        let longest = [Some(&probe.native), probe.translated.as_ref()].into_iter().flatten();
        if longest.map(|params| params.list.len()).max() > Some(MOST_ARGUMENTS) {
            return Err(
                error::Provider::ProbeArguments { most: MOST_ARGUMENTS, span: probe.name.span }.into()
            );
        }
        let native = self.parameters(&probe.native, "probe input", Allowed::PROBE, probe.name.span)?;
        let Some(output) = &probe.translated else {
            let same = native.iter().cloned().zip(0..).collect();
            return Ok((native, same));
        };
        let translated = self.parameters(output, "probe output", Allowed::TRANSLATED, probe.name.span)?;
        let mut arguments = Vec::new();
        for (param, ty) in output.list.iter().zip(translated) {
            let Some(name) = &param.name else { continue };
            let named = |input: &ast::Param| input.name.as_ref().is_some_and(|n| n.node == name.node);
            let Some(index) = probe.native.list.iter().position(named) else {
                return Err(error::Provider::TranslatedParameter {
                    name: name.node.clone(),
                    span: name.span,
                }
                .into());
            };
            let input = &native[index];
            if !self.is_translatable(input, &ty) {
                let (input, output) = (input.clone(), ty);
                return Err(error::Provider::ProbeTranslator { input, output, span: param.ty.span }.into());
            }
            arguments.push((ty, index));
        }
        Ok((native, arguments))
    }

    /// Returns the names of the probes that a description matches, if its provider was defined.
    pub(in crate::typeck) fn declared_probes(&self, fields: &Fields) -> Vec<String> {
        let Some(provider) = self.providers.get(&fields.provider) else { return Vec::new() };
        let pattern = Pattern::new(&fields.name);
        let names = provider.probes.iter().map(|probe| &probe.name);
        names.filter(|name| pattern.matches(name)).cloned().collect()
    }

    /// Returns the `args[]` of one probe, if its provider was defined.
    pub(in crate::typeck) fn declared_arguments(&self, fields: &Fields) -> Option<Vec<Argument>> {
        let provider = self.providers.get(&fields.provider)?;
        let probe = provider.probes.iter().find(|probe| probe.name == fields.name)?;
        let seen = probe.translated.iter();
        Some(seen.map(|(ty, index)| (*index, probe.native[*index].clone(), ty.clone())).collect())
    }

    /// Whether `output` is the same type as `input`, or one that a translator makes from it.
    fn is_translatable(&self, input: &Type, output: &Type) -> bool {
        let scalars = input.is_integer() && output.is_integer();
        let strings = input.is_string_compatible() && output.is_string_compatible();
        if scalars || strings || input.same(output) {
            return true;
        }
        let record = match output.resolved() {
            Type::Pointer { to, .. } => (**to).clone(),
            _ => output.clone(),
        };
        match self.complete(record).resolved() {
            Type::Record(tagged) => self.has_translator(&self.types().complete(tagged), input),
            _ => false,
        }
    }
}

fn same(known: &[Probe], probes: &[Probe]) -> bool {
    let equal = |a: &[Type], b: &[Type]| a.len() == b.len() && a.iter().zip(b).all(|(a, b)| a.same(b));
    let seen = |probe: &Probe| probe.translated.iter().map(|(ty, _)| ty.clone()).collect::<Vec<_>>();
    let known: HashMap<&str, &Probe> = known.iter().map(|probe| (probe.name.as_str(), probe)).collect();
    probes.iter().all(|probe| {
        known
            .get(probe.name.as_str())
            .is_some_and(|other| equal(&other.native, &probe.native) && equal(&seen(other), &seen(probe)))
    })
}
