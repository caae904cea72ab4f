//! sites/catalog/store.rs: what the catalogue keeps of what it has looked up.

use super::reach::Reach;
use super::syscalls::Call;
use super::tracepoints::Tracepoint;
use crate::code::notes::Argument;
use crate::memory::{LiveError, LiveText};
use crate::model::LiveInsn;
use crate::target::Kernel;
use kinst_base::image::ModuleId;
use kinst_base::probe::Probe;
use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock};

/// [`ProbeCatalog`](crate::model::ProbeCatalog) over a kernel. Nothing is read until a provider that needs it is looked up.
pub struct Catalog {
    pub(crate) kernel: Arc<Kernel>,
    pub(crate) live: Option<Box<dyn LiveText>>,
    /// `None`: what cannot be traced is only known when it is armed.
    pub(crate) reach: Option<Box<dyn Reach>>,
    /// The functions of each module.
    pub(super) functions: OnceLock<Vec<OnceLock<Vec<Function>>>>,
    pub(crate) calls: OnceLock<Vec<Call>>,
    pub(crate) tracepoints: OnceLock<Vec<Tracepoint>>,
    pub(super) drivers: OnceLock<Vec<DriverProbe>>,
    made: Mutex<Made>,
}

/// An address where a function starts; its index among all functions determines the ids of its fbt probes.
#[derive(Clone, Copy)]
pub(super) struct Function {
    /// The index of the first of its names in the module's symbols, and how many there are.
    pub(super) first: u32,
    pub(super) names: u32,
}

/// One place of a probe.
pub(crate) struct DriverProbe {
    pub(super) probe: Probe,
    pub(super) arguments: Vec<Argument>,
    /// As the driver writes them.
    pub(super) types: Vec<String>,
    /// The run-time addresses of its gates.
    pub(super) gates: Vec<u64>,
}

/// Module, function, offset; for an edge, what it leads over, and its end.
type At = (ModuleId, u64, u32, Option<([u32; 2], u32)>);

/// The probes that exist once they have been named: those of kinst, and those of profile with unusual rates.
#[derive(Default)]
pub(super) struct Made {
    pub(crate) timers: Vec<Probe>,
    pub(super) probes: Vec<Probe>,
    pub(super) by_place: HashMap<At, usize>,
    pub(super) text: HashMap<(ModuleId, u64), Arc<Text>>,
    /// By module, function, and offset, unless it is the whole function.
    pub(super) left_out: BTreeMap<(ModuleId, u64, Option<u32>), String>,
}

/// The instructions of one function, if they are known.
pub(super) enum Text {
    Known { insns: Vec<LiveInsn>, live: bool },
    Unknown { reason: Option<LiveError> },
}

impl Catalog {
    /// A catalogue without the limits of a back end. `live`: the text in memory; `None` leaves only the files.
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

    /// The kernel that the probes are of.
    pub fn kernel(&self) -> &Kernel {
        &self.kernel
    }

    pub(super) fn made(&self) -> MutexGuard<'_, Made> {
        // The data under the lock is only ever added to.
        self.made.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }
}
