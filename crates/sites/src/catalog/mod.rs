//! sites/catalog/: the probes of all providers, by description and by id.

pub(super) mod drivers;
pub(super) mod edges;
pub(super) mod elsewhere;
pub(super) mod fbt;
pub(super) mod foreign;
pub(super) mod kinst;
pub(super) mod profile;
pub(super) mod refusals;
pub(super) mod short;
pub(super) mod syscalls;
pub(super) mod tracepoints;
pub(super) mod unplaced;

use kinst_base::image::ModuleId;
use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock};

use super::memory::{LiveError, LiveText};
use super::model::ProbeCatalog;
use super::target::Kernel;
use crate::model::LiveInsn;
use drivers::DriverProbe;
use fbt::Function;
use kinst::Wanted;
use kinst_base::diag::Diagnostic;
use kinst_base::glob::{self, Pattern};
use kinst_base::probe::{Description, Fields, Place, Probe};
use syscalls::Call;
use tracepoints::Tracepoint;
use unplaced::FIRST_UNPLACED_ID;

/// The reach of the back end: which functions can have probes.
pub trait Reach: Send + Sync {
    /// For each function, why no probe can be there; `None` for one that can be traced.
    fn refusals(&self, functions: &[Begun<'_>]) -> Vec<Option<String>>;
}

/// The beginning of a function.
#[derive(Clone, Copy, Debug)]
pub struct Begun<'a> {
    pub address: u64,
    pub module: &'a str,
    /// Empty if it is not known.
    pub name: &'a str,
}

/// [`ProbeCatalog`] over a kernel. Nothing is read until a provider that needs it is looked up.
pub struct Catalog {
    pub(super) kernel: Arc<Kernel>,
    pub(super) live: Option<Box<dyn LiveText>>,
    /// `None`: what cannot be traced is only known when it is armed.
    pub(super) reach: Option<Box<dyn Reach>>,
    /// The functions of each module.
    functions: OnceLock<Vec<OnceLock<Vec<Function>>>>,
    pub(super) calls: OnceLock<Vec<Call>>,
    pub(super) tracepoints: OnceLock<Vec<Tracepoint>>,
    drivers: OnceLock<Vec<DriverProbe>>,
    made: Mutex<Made>,
}

/// Module, function, offset; for an edge, what it leads over, and its end.
type At = (ModuleId, u64, u32, Option<([u32; 2], u32)>);

/// The probes that exist once they have been named: those of kinst, and those of profile with unusual rates.
#[derive(Default)]
pub(super) struct Made {
    pub(super) timers: Vec<Probe>,
    probes: Vec<Probe>,
    by_place: HashMap<At, usize>,
    text: HashMap<(ModuleId, u64), Arc<Text>>,
    /// By module, function, and offset, unless it is the whole function.
    left_out: BTreeMap<(ModuleId, u64, Option<u32>), String>,
}

/// The instructions of one function, if they are known.
enum Text {
    Known { insns: Vec<LiveInsn>, live: bool },
    Unknown { reason: Option<LiveError> },
}

/// The probes of the provider dtrace.
pub const DTRACE: [(&str, Place); 3] =
    [("BEGIN", Place::Begin), ("END", Place::End), ("ERROR", Place::Error)];
/// Above all ids of fbt: a kernel with all its modules has some 100,000 functions. The number is fixed, so that only
/// the modules that are named have to be read.
const FIRST_KINST_ID: u32 = 500_000;

/// Whether the fields match a probe that is in no module and no function.
pub(super) fn are_nameless(fields: &Fields) -> bool {
    Pattern::new(&fields.module).matches("") && Pattern::new(&fields.function).matches("")
}

/// Whether a probe's fields match those of a description.
pub(super) fn meaning(description: &Fields) -> impl Fn(&Fields) -> bool {
    let Fields { provider, module, function, name } = description;
    let [provider, module, function, name] =
        [provider, module, function, name].map(|field| Pattern::new(field));
    move |probe| {
        provider.matches(&probe.provider)
            && module.matches(&probe.module)
            && function.matches(&probe.function)
            && name.matches(&probe.name)
    }
}

impl Catalog {
    pub fn new(kernel: Arc<Kernel>, live: Option<Box<dyn LiveText>>) -> Catalog {
        Catalog {
            kernel,
            live,
            reach: None,
            functions: OnceLock::new(),
            calls: OnceLock::new(),
            tracepoints: OnceLock::new(),
            drivers: OnceLock::new(),
            made: Mutex::default(),
        }
    }

    /// Leaves out what the back end cannot trace.
    pub fn with_reach(self, reach: Option<Box<dyn Reach>>) -> Catalog {
        Catalog { reach, ..self }
    }

    fn dtrace(&self, fields: &Fields) -> Vec<Probe> {
        let name = Pattern::new(&fields.name);
        let nameless = are_nameless(fields);
        let ids = (1..).zip(DTRACE);
        ids.filter(|(_, (probe, _))| nameless && name.matches(probe))
            .map(|(id, (name, place))| dtrace_probe(id, name, place))
            .collect()
    }

    pub fn kernel(&self) -> &Kernel {
        &self.kernel
    }

    pub(super) fn made(&self) -> MutexGuard<'_, Made> {
        // The data under the lock is only ever added to.
        self.made.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }
}

impl ProbeCatalog for Catalog {
    fn matches(&self, description: &Description) -> Result<Vec<Probe>, Box<Diagnostic>> {
        match description {
            Description::Id(id) => Ok(self.by_id(*id).into_iter().collect()),
            Description::Fields(fields) => self.matching(fields),
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
        // BEGIN or a tick alone does not need the kernel's symbols.
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

    /// Returns the reason why nothing matches, if there is one to give.
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

    /// The probe of this id.
    fn by_id(&self, id: u32) -> Option<Probe> {
        let index = id.checked_sub(1)? as usize;
        if let Some((name, place)) = DTRACE.get(index) {
            return Some(dtrace_probe(id, name, place.clone()));
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

fn dtrace_probe(id: u32, name: &str, place: Place) -> Probe {
    Probe { id, name: Fields::new("dtrace", "", "", name), place }
}
