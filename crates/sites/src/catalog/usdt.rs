//! sites/catalog/usdt.rs: static probes of programs: `python1234:::line` and `usdt:/usr/bin/x:python:line`.

use super::program_function::{At, Known};
use super::program_refusals as refusals;
use super::store::Catalog;
use crate::code::stapsdt::{Argument, Kind, StaticProbe, name_in_d};
use crate::model::{Driven, DrivenArgument, DrivenType};
use crate::programs::Meant;
use kinst_base::diag::Diagnostic;
use kinst_base::glob::{Pattern, is_glob};
use kinst_base::probe::{Fields, InProgram, Passing, Probe, Spot, When};
use kinst_base::space::{Space, USDT};
use kinst_dwarf::source_name;

/// A description of static probes.
struct Wanted<'a> {
    space: Space,
    module: &'a str,
    provider: &'a str,
    function: &'a str,
    name: &'a str,
}

impl Catalog {
    /// Whether a description means static probes of programs: its provider is `usdt`, or ends with a number and is none
    /// of a driver.
    pub(super) fn is_usdt(&self, fields: &Fields) -> bool {
        let provider = &fields.provider;
        provider == USDT
            || !Space::of_static_probes(provider).is_empty()
                && Space::of_program(provider).is_none()
                && !self.driver_probes().iter().any(|found| found.probe.name.provider == *provider)
    }

    /// Returns the static probes that a description matches, by file and in the order of their notes.
    pub(super) fn usdt(&self, fields: &Fields) -> Result<Vec<Probe>, Box<Diagnostic>> {
        let Fields { provider, module, function, name } = fields;
        if provider == USDT {
            if !module.starts_with('/') || is_glob(module) {
                return Err(Box::new(refusals::static_path_needed(module)));
            }
            let (provider, function) = (function.as_str(), "");
            return self.static_probes(&Wanted { space: Space::File, module, provider, function, name });
        }
        let mut refusal = None;
        for (provider, pid) in Space::of_static_probes(provider) {
            match self.static_probes(&Wanted { space: Space::Process(pid), module, provider, function, name })
            {
                Ok(found) => return Ok(found),
                // The first reading is the usual one.
                Err(error) => refusal = refusal.or(Some(error)),
            }
        }
        refusal.map_or(Ok(Vec::new()), Err)
    }

    /// Returns the static probes that a description matches, with their arguments.
    pub(super) fn usdt_driven(&self, fields: &Fields) -> Vec<Driven> {
        let probes = self.usdt(fields).unwrap_or_default();
        probes.iter().filter_map(|probe| self.usdt_by_id(probe.id)).collect()
    }

    pub(super) fn usdt_by_id(&self, id: u32) -> Option<Driven> {
        self.made().in_programs.driven.get(&id).cloned()
    }

    fn static_probes(&self, wanted: &Wanted<'_>) -> Result<Vec<Probe>, Box<Diagnostic>> {
        let meant = self.programs()?.meant(wanted.space, wanted.module)?;
        let (provider, function) = (Pattern::new(wanted.provider), Pattern::new(wanted.function));
        // Programs define names with two underscores, where D has a dash.
        let written = name_in_d(wanted.name);
        let name = Pattern::new(&written);
        let mut probes = Vec::new();
        for file in &meant {
            for (number, probe) in file.file.static_probes().iter().enumerate() {
                if !provider.matches(&probe.provider) || !name.matches(&probe.name) {
                    continue;
                }
                let of_function = function_at(file, probe.at);
                if function.matches(&of_function) {
                    probes.push(self.make_static(wanted.space, file, (number, probe), &of_function));
                }
            }
        }
        if !probes.is_empty() {
            return Ok(probes);
        }
        let known: Vec<&StaticProbe> = meant.iter().flat_map(|meant| meant.file.static_probes()).collect();
        let place = match (&meant[..], wanted.space) {
            ([one], _) => one.file.path().display().to_string(),
            (_, Space::Process(pid)) => format!("process {pid}"),
            (files, _) => format!("{} files", files.len()),
        };
        let named = (wanted.provider, written.as_str());
        Err(Box::new(refusals::no_static_probe(&place, named, &known)))
    }

    fn make_static(
        &self,
        space: Space,
        meant: &Meant,
        (number, probe): (usize, &StaticProbe),
        function: &str,
    ) -> Probe {
        let file = meant.file.id();
        let at: At = (space, file, probe.at, Known::Static(number));
        let spot = Spot { address: probe.at, exit: 0, when: When::Always, keys: Vec::new() };
        let (process, semaphore) = (space.process(), probe.semaphore);
        let place = InProgram { file, process, end: None, passing: Passing::C, spots: vec![spot], semaphore };
        let name = match process {
            Some(pid) => {
                Fields::new(&format!("{}{pid}", probe.provider), &meant.module, function, &probe.name)
            }
            None => Fields::new(USDT, &meant.module, &probe.provider, &probe.name),
        };
        let made = self.make_at(at, place, name);
        self.made().in_programs.driven.entry(made.id).or_insert_with(|| Driven {
            id: made.id,
            name: made.name.clone(),
            provider: probe.provider.clone(),
            space,
            arguments: probe.arguments.iter().map(driven).collect(),
        });
        made
    }
}

fn driven(argument: &Argument) -> DrivenArgument {
    let signed = argument.kind == Kind::Signed;
    let value = argument.value.clone().map_err(|why| why.to_string());
    DrivenArgument { ty: DrivenType::Number { bytes: argument.bytes, signed }, written: None, value }
}

/// Returns the function that contains an address; nothing if the file has no symbols.
fn function_at(meant: &Meant, address: u64) -> String {
    let symbols = meant.file.functions();
    let symbol = symbols.containing(address);
    let name = symbol.map(|symbol| symbols.name(symbol)).unwrap_or_default();
    source_name(name).unwrap_or_else(|| name.to_owned())
}
