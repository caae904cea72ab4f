//! backend/bpf/functions.rs: how function probes fire: with trampolines, a kprobe.multi, or kprobes.
//!
//! A trampoline (fentry, fexit) has the lowest cost per hit, but each function needs a separate program and
//! trampoline, which the kernel takes up to a hundredth of a second to attach and longer to detach. A
//! kprobe.multi attaches to all its functions at once. Kprobes work at any instruction, and so at each
//! return of a function, and have all registers there.

use super::events::Tracefs;
use super::kernel::{TrampolineError, Types};
use super::means::{self, Means, MeansError};
use kinst_base::image::KERNEL_PROPER;
use kinst_base::probe::{Place, Probe};
use kinst_bpf::By;
use kinst_bpf::needs::{reads_first_argument, reads_registers};
use kinst_dif::Program;
use kinst_dif::enabled::Enabled;
use kinst_os::bpf::{Function, ModuleTypes, ProgramKind};
use kinst_os::{Errno, errno_text};
use kinst_sites::{SpotError, Spots, Symbols};
use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::OnceLock;

/// The most functions with trampolines: first if kprobe.multi or kprobes are available for the rest, then
/// if nothing else is.
const BESIDE_OTHERS: usize = 8;
const ALONE: usize = 2000;

/// The most bytes that precede ftrace's call in a function.
const MARK: u64 = 8;

/// The reason why the probe of a function cannot fire.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum FunctionError {
    /// A feature that requires kprobes.
    #[error("{feature} requires a kprobe: {why}")]
    OnlyKprobe { feature: &'static str, why: MeansError },
    #[error("ftrace does not trace it")]
    NotTraced,
    #[error("{fentry}, and {kprobes}")]
    Nothing { fentry: MeansError, kprobes: MeansError },
    #[error(transparent)]
    Spot(#[from] SpotError),
    #[error("several functions have its name")]
    Namesakes,
    #[error(transparent)]
    Type(#[from] TrampolineError),
    #[error("the kernel permits no trampolines: {}", errno_text(*.0))]
    Forbidden(Errno),
    #[error("the kernel cannot make a trampoline for it: {}", errno_text(*.0))]
    Refused(Errno),
    #[error(transparent)]
    Means(#[from] MeansError),
    #[error("a program can have trampolines at no more than {ALONE} functions")]
    Many,
}

impl FunctionError {
    /// Returns the reason if no function can be traced.
    pub(super) fn of_all(means: &Means) -> Option<FunctionError> {
        means.nothing().map(|(fentry, kprobes)| FunctionError::Nothing { fentry, kprobes })
    }
}

/// The choices for all probes.
#[derive(Debug, Default)]
pub(super) struct Chosen {
    /// By probe.
    pub by: Vec<By>,
    /// By probe, the function of its trampoline.
    pub functions: HashMap<u32, Function>,
    /// The probes without any means to fire, each with the reason.
    pub unable: Vec<(u32, FunctionError)>,
    /// The types of the modules that define these functions.
    modules: HashMap<String, Option<(Types, ModuleTypes)>>,
}

/// A function probe.
struct Wanted<'p> {
    index: u32,
    probe: &'p Probe,
    function: u64,
    returns: bool,
    /// The feature that requires kprobes, if a clause uses one.
    only_kprobes: Option<&'static str>,
    /// Whether a stack recorded at another probe can include it.
    on_stacks: bool,
}

impl Wanted<'_> {
    fn kind(&self) -> fn(Function) -> ProgramKind {
        if self.returns { ProgramKind::Fexit } else { ProgramKind::Fentry }
    }
}

/// Chooses the means for all function probes. `walking`: the probes whose clauses record the kernel's stack.
pub(super) fn choose(
    program: &Program,
    (enabled, walking): (&Enabled, &HashSet<u32>),
    spots: &dyn Spots,
) -> Chosen {
    let mut chosen = Chosen::kprobes(enabled);
    let wanted = wanted(program, enabled, walking);
    // Functions use kprobes if trampolines on a stack cannot be recognized.
    if wanted.is_empty() || !spots.machine().facts().has_known_trampolines {
        return chosen;
    }
    let means = Means::get();
    let (kprobes, free): (Vec<Wanted<'_>>, _) =
        wanted.into_iter().partition(|wanted| wanted.only_kprobes.is_some());
    for Wanted { index, only_kprobes, .. } in kprobes {
        if let (Some(feature), Err(why)) = (only_kprobes, means.kprobes.clone()) {
            chosen.unable.push((index, FunctionError::OnlyKprobe { feature, why }));
        }
    }
    let functions: Vec<u64> = free.iter().map(|wanted| wanted.function).collect();
    let trampolines = free.len() <= most_trampolines(means) && means.fentry().is_ok();
    let types = trampolines.then(|| Types::get().ok()).flatten();
    let is_only_kprobes = !trampolines && means.multi.is_err() && means.kprobes.is_ok();
    let ftraced = if is_only_kprobes { Vec::new() } else { ftraced(spots, &functions) };
    for (at, wanted) in free.iter().enumerate() {
        let ftraced = ftraced.get(at).copied().unwrap_or_default();
        match chosen.choose_one(wanted, (ftraced, types), means, spots) {
            Ok(by) => chosen.by[wanted.index as usize] = by,
            Err(why) => chosen.unable.push((wanted.index, why)),
        }
    }
    chosen
}

/// Whether ftrace traces each function: for many functions, from the kernel's list where available;
/// otherwise from the first bytes of the functions. These bytes are occasionally mistaken for ftrace's
/// where the kernel has patched them for another purpose.
pub(super) fn ftraced<S: Symbols + ?Sized>(symbols: &S, functions: &[u64]) -> Vec<bool> {
    /// The kernel takes up to half a second to write its list.
    const MANY: usize = 1000;
    static LISTED: OnceLock<Option<Vec<u64>>> = OnceLock::new();
    let list = || LISTED.get_or_init(|| Tracefs::find().ok()?.ftraced().ok()).as_ref();
    let Some(listed) = (functions.len() >= MANY).then(list).flatten() else {
        return symbols.ftraced(functions).into_iter().map(|ftraced| ftraced.is_some()).collect();
    };
    let is_listed = |function: u64| {
        let next = listed.get(listed.partition_point(|place| *place < function));
        next.is_some_and(|place| place - function <= MARK)
    };
    functions.iter().map(|function| is_listed(*function)).collect()
}

fn most_trampolines(means: &Means) -> usize {
    if means.is_more_than_fentry() { BESIDE_OTHERS } else { ALONE }
}

/// The function probes, with the requirements of their clauses.
fn wanted<'p>(program: &Program, enabled: &'p Enabled, walking: &HashSet<u32>) -> Vec<Wanted<'p>> {
    let mut only: HashMap<u32, [bool; 2]> = HashMap::new();
    let asks: Vec<[bool; 2]> = (0..program.clauses.len())
        .map(|clause| [reads_registers(program, clause), reads_first_argument(program, clause)])
        .collect();
    for ecb in &enabled.ecbs {
        let [registers, argument] = asks.get(ecb.clause as usize).copied().unwrap_or_default();
        let only = only.entry(ecb.probe).or_default();
        *only = [only[0] || registers, only[1] || argument];
    }
    let wanted = (0..).zip(&enabled.probes).filter_map(|(index, probe)| {
        let (function, returns) = match probe.place {
            Place::FbtEntry { func } => (func, false),
            Place::FbtReturn { func } => (func, true),
            Place::Begin
            | Place::End
            | Place::Error
            | Place::Insn { .. }
            | Place::Edge { .. }
            | Place::Driver { .. }
            | Place::Profile { .. }
            | Place::Tick { .. }
            | Place::SyscallEntry { .. }
            | Place::SyscallReturn { .. }
            | Place::Sdt { .. }
            | Place::Event { .. }
            | Place::Gate { .. }
            | Place::Program(_) => return None,
        };
        let [registers, argument] = only.get(&index).copied().unwrap_or_default();
        let only_kprobes = match () {
            () if registers => Some("regs[]"),
            () if returns && argument => Some("arg0, the offset of the return,"),
            () => None,
        };
        let is_other = |index: &u32| {
            enabled.probes.get(*index as usize).is_some_and(|other| !is_end(&other.place, function))
        };
        let on_stacks = walking.iter().any(is_other);
        Some(Wanted { index, probe, function, returns, only_kprobes, on_stacks })
    });
    wanted.collect()
}

/// Whether a place is the entry or return of the function.
fn is_end(place: &Place, function: u64) -> bool {
    matches!(place, Place::FbtEntry { func } | Place::FbtReturn { func } if *func == function)
}

/// Whether a function's code shows that it does not return.
fn never_returns(wanted: &Wanted<'_>, spots: &dyn Spots) -> bool {
    spots.spots(&wanted.probe.place).is_err_and(|why| why == SpotError::NoExit)
}

impl Chosen {
    /// Chooses kprobes for all.
    pub(super) fn kprobes(enabled: &Enabled) -> Chosen {
        Chosen { by: vec![By::Kprobe; enabled.probes.len()], ..Chosen::default() }
    }

    /// The number of function probes by means: `2 by fentry, 76 by kprobe.multi`.
    pub(super) fn in_words(&self, enabled: &Enabled) -> Option<String> {
        let unable: HashSet<u32> = self.unable.iter().map(|(index, _)| *index).collect();
        let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
        for (index, (probe, by)) in (0..).zip(enabled.probes.iter().zip(&self.by)) {
            if unable.contains(&index) {
                continue;
            }
            let way = match (&probe.place, by) {
                (Place::FbtEntry { .. }, By::Trampoline) => "fentry",
                (Place::FbtReturn { .. }, By::Trampoline) => "fexit",
                (Place::FbtEntry { .. } | Place::FbtReturn { .. }, By::Multi) => "kprobe.multi",
                (Place::FbtEntry { .. } | Place::FbtReturn { .. }, By::Kprobe) => "kprobes",
                _ => continue,
            };
            *counts.entry(way).or_default() += 1;
        }
        let words: Vec<String> = counts.iter().map(|(way, count)| format!("{count} by {way}")).collect();
        (!words.is_empty()).then(|| words.join(", "))
    }

    fn choose_one(
        &mut self,
        wanted: &Wanted<'_>,
        (ftraced, types): (bool, Option<&Types>),
        means: &Means,
        spots: &dyn Spots,
    ) -> Result<By, FunctionError> {
        if !ftraced {
            return match means.kprobes {
                Ok(()) => Ok(By::Kprobe),
                Err(_) => Err(FunctionError::of_all(means).unwrap_or(FunctionError::NotTraced)),
            };
        }
        // The kernel would accept a trampoline, and leak its memory permanently.
        if types.is_some() && wanted.returns && never_returns(wanted, spots) {
            return Err(SpotError::NoExit.into());
        }
        // A return trampoline calls the function, and so would show up on other probes' stacks.
        let is_seen = wanted.returns && wanted.on_stacks && means.is_more_than_fentry();
        let why = match types.filter(|_| !is_seen).map(|types| self.trampoline(wanted, types, spots)) {
            Some(Ok(function)) => {
                self.functions.insert(wanted.index, function);
                return Ok(By::Trampoline);
            }
            Some(Err(why)) => Some(why),
            None => None,
        };
        match () {
            () if means.multi.is_ok() => Ok(By::Multi),
            () if means.kprobes.is_ok() => Ok(By::Kprobe),
            () => Err(why
                .or_else(|| means.fentry().clone().err().map(FunctionError::Means))
                .unwrap_or(FunctionError::Many)),
        }
    }

    /// Returns the function for a trampoline, after a test with an empty program.
    fn trampoline(
        &mut self,
        wanted: &Wanted<'_>,
        types: &Types,
        spots: &dyn Spots,
    ) -> Result<Function, FunctionError> {
        let own = &wanted.probe.name;
        let name = match own.function.is_empty() {
            true => spots.function_at(wanted.function).ok_or(SpotError::NoFunction)?,
            false => own.function.clone(),
        };
        if !spots.is_sole(&own.module, &name) {
            return Err(FunctionError::Namesakes);
        }
        let unknown = TrampolineError::NoTypes;
        let function = if own.module == KERNEL_PROPER {
            Function { number: types.function(&name).ok_or(unknown)?, types: 0 }
        } else {
            let module = self.module(&own.module, types).ok_or(unknown)?;
            Function { number: module.0.function(&name).ok_or(unknown)?, types: module.1.number() }
        };
        means::try_load(wanted.kind()(function)).map_err(|errno| match errno {
            Errno::PERM | Errno::ACCESS => FunctionError::Forbidden(errno),
            errno => FunctionError::Refused(errno),
        })?;
        Ok(function)
    }

    fn module(&mut self, module: &str, types: &Types) -> Option<&(Types, ModuleTypes)> {
        let found = || Some((types.of_module(module)?, ModuleTypes::find(module).ok()?));
        self.modules.entry(module.to_owned()).or_insert_with(found).as_ref()
    }
}
