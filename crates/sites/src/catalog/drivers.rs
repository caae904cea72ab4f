//! sites/catalog/drivers.rs: the static probes of drivers (kinst/sdt.h), whose providers the drivers name.

use std::collections::HashMap;

use super::fields::meaning;
use super::store::{Catalog, DriverProbe};
use crate::code::notes::{Kind, What};
use crate::model::{Driven, DrivenArgument, DrivenType};
use crate::target::drivers::Notes;
use kinst_base::attributes;
use kinst_base::probe::{Description, Fields, Place, Probe};
use kinst_base::space::Space;

/// One of the ranges of ids in [`super::unplaced`].
pub(super) const FIRST_DRIVER_ID: u32 = 470_000;
const MOST: usize = 10_000;

/// Facts from one module's notes that apply to all places of a probe, by provider and name.
type Said<'a, T> = HashMap<(&'a str, &'a str), T>;

impl Catalog {
    /// Returns all static probes of drivers, by module and in the order of their notes.
    pub(crate) fn driver_probes(&self) -> &[DriverProbe] {
        self.drivers.get_or_init(|| {
            let mut found = Vec::new();
            for module in self.kernel.driver_notes() {
                self.of_module(&module, &mut found);
            }
            found.truncate(MOST);
            (FIRST_DRIVER_ID..).zip(&mut found).for_each(|(id, found)| found.probe.id = id);
            found
        })
    }

    fn of_module(&self, from: &Notes, found: &mut Vec<DriverProbe>) {
        let (mut types, mut gates): (Said<'_, &[String]>, Said<'_, Vec<u64>>) = Default::default();
        for note in &from.notes {
            let of = (&*note.provider, &*note.name);
            match &note.what {
                What::Types(written) => _ = types.insert(of, written),
                What::Gate { at } => gates.entry(of).or_default().push(*at),
                What::Probe { .. } => {}
            }
        }
        let module = &self.kernel.modules()[from.module].name;
        for note in from.notes.iter().filter(|note| !is_ours(&note.provider)) {
            let What::Probe { at, arguments } = &note.what else { continue };
            let (function, func) = match self.kernel.function_at(from.module, *at) {
                Some(function) => function,
                // The module's initialization code has been freed.
                None if from.placed => continue,
                None => ("", 0),
            };
            let offset = if from.placed { at.wrapping_sub(func) } else { 0 };
            let Ok(offset) = u32::try_from(offset) else { continue };
            let name = Fields::new(&note.provider, module, function, &note.name);
            let place = Place::Driver { func, offset };
            let of = (&*note.provider, &*note.name);
            found.push(DriverProbe {
                probe: Probe { id: 0, name, place },
                arguments: arguments.clone(),
                types: types.get(&of).copied().unwrap_or_default().to_vec(),
                gates: gates.get(&of).cloned().unwrap_or_default(),
            });
        }
    }

    fn driver_probes_matching(&self, fields: &Fields) -> impl Iterator<Item = &DriverProbe> {
        // Known providers need no file.
        let known = if is_ours(&fields.provider) { &[] } else { self.driver_probes() };
        let is_meant = meaning(fields);
        known.iter().filter(move |found| is_meant(&found.probe.name))
    }

    pub(super) fn drivers(&self, fields: &Fields) -> Vec<Probe> {
        self.driver_probes_matching(fields).map(|found| found.probe.clone()).collect()
    }

    pub(super) fn driver_by_id(&self, id: u32) -> Option<&DriverProbe> {
        self.driver_probes().get(id.checked_sub(FIRST_DRIVER_ID)? as usize)
    }

    /// Returns the gates of the drivers' static probes among `probes`, each once.
    pub(super) fn gates_of(&self, probes: &[Probe]) -> Vec<Probe> {
        let mut gates: Vec<(u64, Probe)> = Vec::new();
        for probe in probes {
            let Place::Driver { func, .. } = probe.place else { continue };
            let Some(driver) = self.driver_by_id(probe.id) else { continue };
            for at in &driver.gates {
                // No module is that large.
                let Ok(to) = i32::try_from(at.wrapping_sub(func).cast_signed()) else { continue };
                if gates.iter().all(|(known, _)| known != at) {
                    let place = Place::Gate { func, to: to.cast_unsigned() };
                    gates.push((*at, Probe { place, ..probe.clone() }));
                }
            }
        }
        gates.into_iter().map(|(_, gate)| gate).collect()
    }

    /// Returns the static probes that match a description, each with the locations of its arguments.
    pub fn driven(&self, description: &Description) -> Vec<Driven> {
        match description {
            Description::Id(id) => {
                let of_program = self.usdt_by_id(*id);
                of_program.or_else(|| self.driver_by_id(*id).map(DriverProbe::driven)).into_iter().collect()
            }
            Description::Fields(fields) if self.is_usdt(fields) => self.usdt_driven(fields),
            Description::Fields(fields) => {
                self.driver_probes_matching(fields).map(DriverProbe::driven).collect()
            }
            Description::Site(_) => Vec::new(),
        }
    }
}

impl DriverProbe {
    pub(super) fn probe(&self) -> Probe {
        self.probe.clone()
    }

    fn driven(&self) -> Driven {
        let arguments = self.arguments.iter().enumerate().map(|(number, argument)| DrivenArgument {
            ty: match argument.kind {
                Kind::Signed => DrivenType::Number { bytes: argument.bytes, signed: true },
                Kind::Unsigned => DrivenType::Number { bytes: argument.bytes, signed: false },
                Kind::Pointer => DrivenType::Pointer,
                Kind::Text => DrivenType::Text,
            },
            written: self.types.get(number).cloned(),
            value: argument.value.clone().ok_or_else(|| "a program cannot read its location".to_owned()),
        });
        let name = self.probe.name.clone();
        Driven {
            id: self.probe.id,
            provider: name.provider.clone(),
            space: Space::Kernel,
            arguments: arguments.collect(),
            name,
        }
    }
}

/// Whether the provider is built in: a driver cannot add probes to it.
fn is_ours(provider: &str) -> bool {
    attributes::PROVIDERS.iter().any(|(ours, _)| *ours == provider) || attributes::ALIASES.contains(&provider)
}
