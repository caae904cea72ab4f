//! sites/catalog/lookup.rs: looks up the probes of a description, or explains why none match.

use super::dtrace::{DTRACE, dtrace_probe};
use super::fields::meaning;
use super::kinst::{FIRST_KINST_ID, Wanted};
use super::program_function::FIRST_PROGRAM_ID;
use super::store::Catalog;
use super::unplaced::FIRST_UNPLACED_ID;
use super::{foreign, refusals, short, syscalls, tracepoints};
use crate::model::ProbeCatalog;
use crate::programs::many_processes;
use kinst_base::diag::Diagnostic;
use kinst_base::glob::{self, Pattern};
use kinst_base::probe::{Description, Fields, Probe};
use kinst_base::space::Space;

impl ProbeCatalog for Catalog {
    fn matches(&self, description: &Description) -> Result<Vec<Probe>, Box<Diagnostic>> {
        match description {
            Description::Id(id) => Ok(self.by_id(*id).into_iter().collect()),
            Description::Fields(fields) => self.matching(fields),
            Description::Site(site) if site.space != Space::Kernel => self.at_program_site(site),
            Description::Site(site) => {
                let found = self.kinst(&site.module, &site.function, &Wanted::of_site(site))?;
                if found.is_empty() {
                    self.nothing(&site.fields())?;
                }
                Ok(found.into_iter().map(|(_, _, probe)| probe).collect())
            }
        }
    }

    fn gates(&self, probes: &[Probe]) -> Vec<Probe> {
        self.gates_of(probes)
    }
}

impl Catalog {
    fn matching(&self, fields: &Fields) -> Result<Vec<Probe>, Box<Diagnostic>> {
        if let Some(space) = Space::of_program(&fields.provider) {
            return self.in_programs(space, fields);
        }
        if Space::is_of_many(&fields.provider) {
            return Err(Box::new(many_processes(&fields.provider)));
        }
        if self.is_usdt(fields) {
            return self.usdt(fields);
        }
        let pattern = Pattern::new(&fields.provider);
        let mut probes = Vec::new();
        if pattern.matches("dtrace") {
            probes.extend(self.dtrace(fields));
        }
        if pattern.matches("fbt") {
            probes.extend(self.fbt(fields));
        }
        if pattern.matches("syscall") {
            probes.extend(self.syscall(fields));
        }
        let timers = if pattern.matches("profile") { self.profile(fields)? } else { Vec::new() };
        // A program with only BEGIN or a tick does not need the kernel's symbols.
        let found = !probes.is_empty() || !timers.is_empty();
        if pattern.matches("sdt") && !(found && Pattern::new(&fields.name).exact().is_some()) {
            probes.extend(self.sdt(fields));
        }
        if tracepoints::event_providers().any(|provider| pattern.matches(provider)) {
            probes.extend(self.events(fields));
        }
        probes.extend(self.drivers(fields));
        probes.extend(timers);
        match pattern.exact() {
            Some("kinst") if !fields.function.is_empty() => {
                probes.extend(self.kinst_probes(fields)?.into_iter().map(|(_, _, probe)| probe));
            }
            _ if pattern.matches("kinst") => {
                let (made, is_meant) = (self.made(), meaning(fields));
                probes.extend(made.probes.iter().filter(|probe| is_meant(&probe.name)).cloned());
            }
            _ => {}
        }
        if probes.is_empty() {
            self.nothing(fields)?;
        }
        Ok(probes)
    }

    /// Fails with the reason why nothing matches, if one is known.
    fn nothing(&self, fields: &Fields) -> Result<(), Box<Diagnostic>> {
        let Fields { provider, module, function, name } = fields;
        if let Some(refusal) = foreign::refusal(fields) {
            return Err(Box::new(refusal));
        }
        let is_tracepoint = || self.tracepoints().iter().any(|tracepoint| tracepoint.name == *name);
        if provider.is_empty() && !matches!(function.as_str(), "" | "sdt") && is_tracepoint() {
            return Err(Box::new(foreign::tracepoint_of_perf(function, name)));
        }
        if let Some(refusal) = short::refusal(fields) {
            return Err(Box::new(refusal));
        }
        let provider = provider.as_str();
        if provider == "kinst" && function.is_empty() {
            return Err(Box::new(refusals::function_needed(&self.kernel, module)));
        }
        if provider == "syscall" && !glob::is_glob(function) && !glob::is_glob(name) {
            return Err(Box::new(syscalls::refusal(self.calls(), function, name)));
        }
        let is_event = provider == "sdt" || tracepoints::event_providers().any(|known| known == provider);
        if is_event && !glob::is_glob(name) && !name.is_empty() {
            return Err(Box::new(tracepoints::refusal(fields, self.is_proper(fields), self.tracepoints())));
        }
        let modules = self.kernel.modules_matching(module);
        refusals::nothing_matches(&self.kernel, &modules, provider, module, function, name)
    }

    /// Returns the probe with this id.
    fn by_id(&self, id: u32) -> Option<Probe> {
        let index = id.checked_sub(1)? as usize;
        if let Some((name, place)) = DTRACE.get(index) {
            return Some(dtrace_probe(id, name, place.clone()));
        }
        if let Some(index) = id.checked_sub(FIRST_PROGRAM_ID) {
            return self.made().in_programs.probes.get(index as usize).cloned();
        }
        if let Some(index) = id.checked_sub(FIRST_KINST_ID) {
            return self.made().probes.get(index as usize).cloned();
        }
        if id >= FIRST_UNPLACED_ID {
            return self.unplaced_by_id(id);
        }
        self.fbt_by_id(id)
    }
}
