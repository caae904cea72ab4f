//! sites/catalog/unplaced.rs: probes that are not at a place in the code: timers, system calls, tracepoints.

use super::drivers::FIRST_DRIVER_ID;
use super::fields::are_nameless;
use super::store::{Catalog, DriverProbe};
use super::syscalls::{self, Call};
use super::tracepoints::{self, Tracepoint};
use super::{profile, refusals};
use kinst_base::diag::Diagnostic;
use kinst_base::glob::Pattern;
use kinst_base::image::ModuleId;
use kinst_base::probe::{Fields, Probe};

/// Above all ids of fbt, and below those of kinst.
pub(crate) const FIRST_UNPLACED_ID: u32 = FIRST_SYSCALL_ID;
const FIRST_SYSCALL_ID: u32 = 450_000;
const FIRST_SDT_ID: u32 = 460_000;
const FIRST_EVENT_ID: u32 = 480_000;
const FIRST_PROFILE_ID: u32 = 490_000;

/// The maximum number of timers in one program, equal to the module's limit.
const MAX_TIMERS: usize = 1000;

impl Catalog {
    pub(crate) fn calls(&self) -> &[Call] {
        self.calls.get_or_init(|| syscalls::table(&self.kernel))
    }

    pub(crate) fn syscall(&self, fields: &Fields) -> Vec<Probe> {
        let (function, name) = (Pattern::new(&fields.function), Pattern::new(&fields.name));
        let sides = (0..).zip(syscalls::SIDES).filter(|(_, (side, _))| name.matches(side));
        let sides: Vec<(u32, (&str, syscalls::Side))> = sides.collect();
        if sides.is_empty() || !self.kernel.modules_matching(&fields.module).contains(&ModuleId::PROPER) {
            return Vec::new();
        }
        let wanted = self.calls().iter().filter(|call| {
            function.matches(&call.name) || function.exact().is_some_and(|exact| exact == call.own_name)
        });
        let probes = wanted.flat_map(|call| {
            let id = FIRST_SYSCALL_ID + syscalls::SIDES.len() as u32 * call.number;
            sides.iter().map(move |(at, (name, side))| call.probe(id + at, name, *side))
        });
        probes.collect()
    }

    pub(crate) fn tracepoints(&self) -> &[Tracepoint] {
        self.tracepoints.get_or_init(|| tracepoints::table(&self.kernel))
    }

    pub(crate) fn sdt(&self, fields: &Fields) -> Vec<Probe> {
        let name = Pattern::new(&fields.name);
        if !self.is_proper(fields)
            || name.exact().is_some_and(|exact| !tracepoints::exists(&self.kernel, exact))
        {
            return Vec::new();
        }
        let all = (FIRST_SDT_ID..FIRST_DRIVER_ID).zip(self.tracepoints());
        all.filter(|(_, tracepoint)| name.matches(&tracepoint.name))
            .map(|(id, tracepoint)| tracepoint.probe(id))
            .collect()
    }

    pub(crate) fn events(&self, fields: &Fields) -> Vec<Probe> {
        let (provider, name) = (Pattern::new(&fields.provider), Pattern::new(&fields.name));
        if !self.is_proper(fields) {
            return Vec::new();
        }
        let wanted = |probe: &Probe| provider.matches(&probe.name.provider) && name.matches(&probe.name.name);
        let events = (0..tracepoints::EVENTS.len() as u32).filter_map(|number| self.event(number));
        // A function is looked up only if its event matches.
        let meant = (0..).zip(tracepoints::ENTRIES).filter(|(_, (_, entry, _))| name.matches(entry));
        let entries = meant.filter_map(|(number, _)| self.event(tracepoints::EVENTS.len() as u32 + number));
        // An explicitly named one is refused when it is armed, with the reason.
        let is_left_out = |probe: &Probe| name.exact().is_none() && self.leaves_out(probe);
        events.chain(entries).filter(wanted).filter(|probe| !is_left_out(probe)).collect()
    }

    /// Whether an event at a function's entry cannot be traced; if so, notes that it is left out.
    fn leaves_out(&self, probe: &Probe) -> bool {
        let Some(why) = self.refusal(probe) else { return false };
        let Fields { provider, name, .. } = &probe.name;
        let place = (ModuleId::PROPER, probe.place.func().unwrap_or_default(), None);
        self.made().left_out.insert(place, format!("{provider}:::{name} cannot be traced: {why}"));
        true
    }

    fn event(&self, number: u32) -> Option<Probe> {
        let id = FIRST_EVENT_ID + number;
        match (number as usize).checked_sub(tracepoints::EVENTS.len()) {
            Some(number) => tracepoints::entry(&self.kernel, id, number),
            None => tracepoints::event(id, number),
        }
    }

    /// Whether the fields match a probe of the kernel proper without function.
    pub(crate) fn is_proper(&self, fields: &Fields) -> bool {
        Pattern::new(&fields.function).matches("")
            && self.kernel.modules_matching(&fields.module).contains(&ModuleId::PROPER)
    }

    pub(crate) fn profile(&self, fields: &Fields) -> Result<Vec<Probe>, Box<Diagnostic>> {
        let name = Pattern::new(&fields.name);
        if !are_nameless(fields) {
            return Ok(Vec::new());
        }
        let mut made = self.made();
        let mut timers = usual_timers().chain(made.timers.iter().cloned());
        let Some(exact) = name.exact() else {
            return Ok(timers.filter(|probe| name.matches(&probe.name.name)).collect());
        };
        if let Some(known) = timers.find(|probe| probe.name.name == exact) {
            return Ok(vec![known]);
        }
        drop(timers);
        let Some(place) = profile::place(exact) else { return Ok(Vec::new()) };
        let place = place.map_err(|problem| Box::new(profile::refusal(exact, problem)))?;
        if made.timers.len() >= MAX_TIMERS {
            return Err(Box::new(refusals::too_many_timers(MAX_TIMERS)));
        }
        let id = FIRST_PROFILE_ID + (profile::RATES.len() + made.timers.len()) as u32;
        let probe = profile::probe(id, exact, place);
        made.timers.push(probe.clone());
        Ok(vec![probe])
    }

    /// Returns the probe with an id from [`FIRST_UNPLACED_ID`] on.
    pub(crate) fn unplaced_by_id(&self, id: u32) -> Option<Probe> {
        if let Some(index) = id.checked_sub(FIRST_PROFILE_ID) {
            let usual = usual_timers().nth(index as usize);
            let index = (index as usize).checked_sub(profile::RATES.len());
            return usual.or_else(|| self.made().timers.get(index?).cloned());
        }
        if let Some(number) = id.checked_sub(FIRST_EVENT_ID) {
            return self.event(number);
        }
        if id >= FIRST_DRIVER_ID {
            return self.driver_by_id(id).map(DriverProbe::probe);
        }
        if let Some(index) = id.checked_sub(FIRST_SDT_ID) {
            return self.tracepoints().get(index as usize).map(|tracepoint| tracepoint.probe(id));
        }
        let index = id.checked_sub(FIRST_SYSCALL_ID)?;
        let sides = syscalls::SIDES.len() as u32;
        let call = self.calls().iter().find(|call| call.number == index / sides)?;
        let (name, side) = syscalls::SIDES[(index % sides) as usize];
        Some(call.probe(id, name, side))
    }
}

fn usual_timers() -> impl Iterator<Item = Probe> {
    let usual = (FIRST_PROFILE_ID..).zip(profile::RATES);
    usual.filter_map(|(id, name)| Some(profile::probe(id, name, profile::place(name)?.ok()?)))
}
