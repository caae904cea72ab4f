//! sites/catalog/store.rs: the catalogue and the results that it retains.

use super::program_function::At as AtProgram;
use super::reach::Reach;
use super::syscalls::Call;
use super::tracepoints::Tracepoint;
use crate::code::notes::Argument;
use crate::memory::{LiveError, LiveText};
use crate::model::{Driven, LiveInsn};
use crate::programs::Programs;
use crate::target::Kernel;
use kinst_base::image::ModuleId;
use kinst_base::probe::Probe;
use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock};

/// [`ProbeCatalog`](crate::model::ProbeCatalog) of a kernel. Data is read only when a provider that needs it
/// is looked up.
pub struct Catalog {
    pub(crate) kernel: Arc<Kernel>,
    /// `None` in a catalogue of the kernel's probes alone.
    pub(super) programs: Option<Arc<Programs>>,
    pub(crate) live: Option<Box<dyn LiveText>>,
    /// `None` if refusals are known only when a probe is armed.
    pub(crate) reach: Option<Box<dyn Reach>>,
    /// Functions of each module.
    pub(super) functions: OnceLock<Vec<OnceLock<Vec<Function>>>>,
    pub(crate) calls: OnceLock<Vec<Call>>,
    pub(crate) tracepoints: OnceLock<Vec<Tracepoint>>,
    pub(super) drivers: OnceLock<Vec<DriverProbe>>,
    made: Mutex<Made>,
}

/// An address where a function starts; its index among all functions determines the ids of its fbt probes.
#[derive(Clone, Copy)]
pub(super) struct Function {
    /// Index of its first name in the module's symbols, and the number of its names.
    pub(super) first: u32,
    pub(super) names: u32,
}

/// One place of a driver's static probe.
pub(crate) struct DriverProbe {
    pub(super) probe: Probe,
    pub(super) arguments: Vec<Argument>,
    /// Argument types as written by the driver.
    pub(super) types: Vec<String>,
    /// Run-time addresses of its gates.
    pub(super) gates: Vec<u64>,
}

/// Module, function, offset; for an edge, its static keys and its end.
type At = (ModuleId, u64, u32, Option<([u32; 2], u32)>);

/// Probes that exist only once they are named: those of kinst, and those of profile with unusual rates.
#[derive(Default)]
pub(super) struct Made {
    pub(crate) timers: Vec<Probe>,
    pub(super) probes: Vec<Probe>,
    pub(super) by_place: HashMap<At, usize>,
    pub(super) text: HashMap<(ModuleId, u64), Arc<Text>>,
    pub(super) in_programs: InPrograms,
    /// Skipped places by module, function, and offset; without offset for a whole function.
    pub(super) left_out: BTreeMap<(ModuleId, u64, Option<u32>), String>,
}

/// The probes of programs, which exist once they are named.
#[derive(Default)]
pub(super) struct InPrograms {
    pub(super) probes: Vec<Probe>,
    pub(super) by_place: HashMap<AtProgram, usize>,
    /// Static probes, by id.
    pub(super) driven: HashMap<u32, Driven>,
    /// Skipped places by description, with the reasons.
    pub(super) left_out: BTreeMap<String, String>,
}

/// The instructions of one function, if available.
pub(super) enum Text {
    Known { insns: Vec<LiveInsn>, live: bool },
    Unknown { reason: Option<LiveError> },
}

impl Catalog {
    /// Makes a catalogue without the limits of a back end. `live` reads the text in memory; with `None`, only
    /// files are used.
    pub fn new(kernel: Arc<Kernel>, live: Option<Box<dyn LiveText>>) -> Catalog {
        Catalog {
            kernel,
            programs: None,
            live,
            reach: None,
            functions: OnceLock::new(),
            calls: OnceLock::new(),
            tracepoints: OnceLock::new(),
            drivers: OnceLock::new(),
            made: Mutex::default(),
        }
    }

    /// Restricts the catalogue to probes that the back end can trace.
    pub fn with_reach(self, reach: Option<Box<dyn Reach>>) -> Catalog {
        Catalog { reach, ..self }
    }

    /// Adds the probes of the programs that descriptions name.
    pub fn with_programs(self, programs: Arc<Programs>) -> Catalog {
        Catalog { programs: Some(programs), ..self }
    }

    /// Returns the kernel of the probes.
    pub fn kernel(&self) -> &Kernel {
        &self.kernel
    }

    pub(super) fn made(&self) -> MutexGuard<'_, Made> {
        // The data under the lock is only ever added to.
        self.made.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }
}
