//! sites/catalog/: the probes of all providers, by description and by id.

pub(super) mod edges;
pub(super) mod profile;
pub(super) mod refusals;
pub(super) mod syscalls;
pub(super) mod tracepoints;
pub(super) mod unplaced;

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock};

use super::ProbeCatalog;
use super::code::decode;
use super::symtab::Symbol;
use super::target::Kernel;
use super::target::naming::split_ordinal;
use crate::diag::Diagnostic;
use crate::glob::{self, Pattern};
use crate::probe::{Description, Fields, Place, Probe, Site, Target};
use crate::sites::target::ModuleId;
use edges::{Asked, EdgeTo};
use syscalls::Call;
use tracepoints::Tracepoint;
use unplaced::FIRST_UNPLACED_ID;

/// The present contents of memory: the instructions of a function, and the table of system calls; the kernel layer gets
/// them from the module.
pub trait LiveText: Send + Sync {
    /// `function` is the run-time address of its symbol. An error is the reason why its instructions are not available.
    fn instructions(&self, function: u64) -> Result<Vec<LiveInsn>, String>;

    /// The run-time addresses of the functions of system calls, by number; 0 where there is none.
    fn syscalls(&self) -> Vec<u64>;
}

/// One instruction of a [`LiveText`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LiveInsn {
    pub offset: u32,
    pub bytes: Vec<u8>,
    /// Why it cannot be traced.
    pub refused: Option<String>,
}

/// [`ProbeCatalog`] over a kernel. Nothing is read until a provider that needs it is looked up.
pub struct Catalog {
    pub(super) kernel: Arc<Kernel>,
    pub(super) live: Option<Box<dyn LiveText>>,
    /// The functions of each module.
    functions: Vec<OnceLock<Vec<Function>>>,
    pub(super) calls: OnceLock<Vec<Call>>,
    pub(super) tracepoints: OnceLock<Vec<Tracepoint>>,
    made: Mutex<Made>,
}

/// An address where a function starts; its index among all functions determines the ids of its fbt probes.
#[derive(Clone, Copy)]
struct Function {
    /// The index of the first of its names in the module's symbols, and how many there are.
    first: usize,
    names: usize,
}

/// A function as fbt has it: its index among all functions, and the name by which it was looked up.
struct FbtPlace<'a> {
    index: usize,
    module: ModuleId,
    symbol: &'a Symbol,
    function: &'a str,
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
    Unknown { reason: Option<String> },
}

const DTRACE: [(&str, Place); 3] = [("BEGIN", Place::Begin), ("END", Place::End), ("ERROR", Place::Error)];
/// Makes a place from a function's address.
type Side = fn(u64) -> Place;
const FBT: [(&str, Side); 2] =
    [("entry", |func| Place::FbtEntry { func }), ("return", |func| Place::FbtReturn { func })];
const FIRST_FBT_ID: u32 = DTRACE.len() as u32 + 1;
/// Above all ids of fbt: a kernel with all its modules has some 100,000 functions. The number is fixed, so that only
/// the modules that are named have to be read.
const FIRST_KINST_ID: u32 = 500_000;

/// The most instructions that one description may match.
const MAX_MATCHES: usize = 100_000;

/// Which instructions or edges of a function a description means.
enum Wanted {
    /// One.
    Site { offset: u32, over: Vec<u32>, to: Option<Destination> },
    /// All whose names match.
    Matching { pattern: Pattern, edges: bool },
    /// No instruction can have such a name.
    Nothing { name: String },
}

/// The end of an edge in a description.
pub(super) struct Destination {
    pub(super) target: Target,
    /// The end as it was written.
    pub(super) text: String,
}

impl Wanted {
    fn of_site(site: &Site) -> Wanted {
        let number = |offset: &u64| u32::try_from(*offset).ok();
        let over: Option<Vec<u32>> = site.over.iter().map(number).collect();
        let to = site.to.clone().map(|target| Destination { text: target.to_string(), target });
        match (number(&site.offset), over) {
            (Some(offset), Some(over)) => Wanted::Site { offset, over, to },
            _ => Wanted::Nothing { name: site.name() },
        }
    }

    /// Parses a name: `53`, `53-61`, `53-61-80`, `53-f.cold+4`, `5*`, `*-*`.
    fn of_name(name: &str) -> Wanted {
        let edges = edges::is_edge(name);
        if !matches!(Pattern::new(name), Pattern::Exact(_)) {
            return Wanted::Matching { pattern: Pattern::new(name), edges };
        }
        let nothing = || Wanted::Nothing { name: name.to_owned() };
        let (path, to) = match name.rsplit_once('-').filter(|_| edges) {
            Some((_, "")) => return nothing(),
            Some((path, to)) => (path, Some(Destination::of_text(to))),
            None => (name, None),
        };
        let path: Option<Vec<u32>> = path.split('-').map(refusals::decimal).collect();
        match path.as_deref() {
            Some([offset, over @ ..]) => Wanted::Site { offset: *offset, over: over.to_vec(), to },
            _ => nothing(),
        }
    }
}

impl Destination {
    fn of_text(text: &str) -> Destination {
        let own = text.bytes().all(|byte| byte.is_ascii_digit()).then(|| text.parse().ok()).flatten();
        let target = match (own, text.split_once('+')) {
            (Some(offset), _) => Target { function: None, offset },
            (None, Some((function, offset))) if offset.parse::<u64>().is_ok() => {
                Target { function: Some(function.to_owned()), offset: offset.parse().unwrap_or_default() }
            }
            (None, _) => Target { function: Some(text.to_owned()), offset: 0 },
        };
        Destination { target, text: text.to_owned() }
    }
}

/// Whether the fields match a probe that is in no module and no function.
pub(super) fn are_nameless(fields: &Fields) -> bool {
    Pattern::new(&fields.module).matches("") && Pattern::new(&fields.function).matches("")
}

impl Catalog {
    pub fn new(kernel: Arc<Kernel>, live: Option<Box<dyn LiveText>>) -> Catalog {
        let functions = kernel.modules().iter().map(|_| OnceLock::new()).collect();
        Catalog {
            kernel,
            live,
            functions,
            calls: OnceLock::new(),
            tracepoints: OnceLock::new(),
            made: Mutex::default(),
        }
    }

    fn dtrace(&self, fields: &Fields) -> Vec<Probe> {
        let name = Pattern::new(&fields.name);
        let nameless = are_nameless(fields);
        let ids = (1..).zip(DTRACE);
        ids.filter(|(_, (probe, _))| nameless && name.matches(probe))
            .map(|(id, (name, place))| dtrace_probe(id, name, place))
            .collect()
    }

    fn fbt(&self, fields: &Fields) -> Vec<Probe> {
        let name = Pattern::new(&fields.name);
        let sides: Vec<usize> = (0..FBT.len()).filter(|side| name.matches(FBT[*side].0)).collect();
        if sides.is_empty() {
            return Vec::new();
        }
        let modules = self.kernel.modules_matching(&fields.module);
        let function = Pattern::new(&fields.function);
        let mut probes = Vec::new();
        let mut add = |place: FbtPlace<'_>| {
            probes.extend(sides.iter().map(|side| self.fbt_probe(&place, *side)));
        };
        if function.exact().is_some() {
            // The kernel proper has 60,000 functions: a name is looked up, not searched for.
            for (module, symbol) in self.kernel.functions_named(&modules, &fields.function) {
                let (name, _) = split_ordinal(&fields.function);
                if let Some(index) = self.function_index(module, &symbol, name) {
                    let index = self.base(module) + index;
                    add(FbtPlace { index, module, symbol: &symbol, function: &fields.function });
                }
            }
            return probes;
        }
        for module in modules {
            let Some(symbols) = self.kernel.symbols(module) else { continue };
            let base = self.base(module);
            for (index, start) in (base..).zip(self.functions(module)) {
                let mut names = start.names().map(|at| symbols.at(at));
                if let Some((name, symbol)) = names.find(|(name, _)| function.matches(name)) {
                    add(FbtPlace { index, module, symbol, function: name });
                }
            }
        }
        probes
    }

    pub fn kernel(&self) -> &Kernel {
        &self.kernel
    }

    /// The probes of kinst that the fields match, each with its module and its function.
    pub(super) fn kinst_probes(
        &self,
        fields: &Fields,
    ) -> Result<Vec<(ModuleId, Symbol, Probe)>, Box<Diagnostic>> {
        self.kinst(&fields.module, &fields.function, &Wanted::of_name(&fields.name))
    }

    fn kinst(
        &self,
        module: &str,
        function: &str,
        wanted: &Wanted,
    ) -> Result<Vec<(ModuleId, Symbol, Probe)>, Box<Diagnostic>> {
        let modules = self.kernel.modules_matching(module);
        let one = Pattern::new(function).exact().is_some();
        let functions: Vec<(ModuleId, Symbol, String)> = match one {
            true => {
                let named = self.kernel.functions_named(&modules, function);
                named.into_iter().map(|(module, symbol)| (module, symbol, function.to_owned())).collect()
            }
            false => self.functions_matching(&modules, function),
        };
        let mut probes = Vec::new();
        let mut refusal = None;
        for (module, symbol, name) in &functions {
            match self.instructions(*module, symbol, name, wanted) {
                Ok(found) => probes.extend(found.into_iter().map(|probe| (*module, *symbol, probe))),
                Err(error) => refusal = refusal.or(Some(error)),
            }
            if probes.len() > MAX_MATCHES {
                return Err(Box::new(refusals::too_many(function, MAX_MATCHES)));
            }
        }
        match refusal {
            // Among several functions of one name, only those that have such an instruction count.
            Some(refusal) if probes.is_empty() && one => Err(refusal),
            _ => Ok(probes),
        }
    }

    fn instructions(
        &self,
        module: ModuleId,
        symbol: &Symbol,
        function: &str,
        wanted: &Wanted,
    ) -> Result<Vec<Probe>, Box<Diagnostic>> {
        let text = self.text(module, symbol);
        let asked = |insns| Asked {
            module,
            symbol,
            function,
            insns,
            live: matches!(&*text, Text::Known { live: true, .. }),
        };
        match (wanted, &*text) {
            (Wanted::Nothing { name }, _) => Err(Box::new(refusals::no_such_name(function, name))),
            (Wanted::Site { offset, over, to: None }, _) if over.is_empty() => {
                if let Text::Known { insns, live } = &*text
                    && insns.iter().all(|insn| insn.offset != *offset)
                    && !(*live && self.is_boundary_in_file(module, symbol, *offset))
                {
                    return Err(Box::new(refusals::no_boundary(function, symbol, *offset, insns)));
                }
                Ok(vec![self.make(module, symbol, function, *offset, None)])
            }
            (Wanted::Site { offset, over, to: Some(to) }, Text::Known { insns, .. }) => {
                let path: Vec<u32> = std::iter::once(*offset).chain(over.iter().copied()).collect();
                self.edge(&asked(insns), &path, to).map(|probe| vec![probe])
            }
            (Wanted::Site { offset, to, .. }, _) => {
                let name = to.iter().fold(offset.to_string(), |name, to| format!("{name}-{}", to.text));
                Err(Box::new(refusals::no_such_name(function, &name)))
            }
            (Wanted::Matching { pattern, edges: true }, Text::Known { insns, .. }) => {
                Ok(self.edges_matching(&asked(insns), pattern))
            }
            (Wanted::Matching { pattern, .. }, Text::Known { insns, .. }) => {
                self.instructions_matching(&asked(insns), pattern)
            }
            (Wanted::Matching { .. }, Text::Unknown { reason }) => {
                if let Some(reason) = reason {
                    let text = format!("kinst::{function}: cannot be traced: {reason}");
                    self.made().left_out.insert((module, symbol.address, None), text);
                }
                Err(Box::new(refusals::no_text(&self.kernel, function, reason.as_deref())))
            }
        }
    }

    fn instructions_matching(
        &self,
        asked: &Asked<'_>,
        pattern: &Pattern,
    ) -> Result<Vec<Probe>, Box<Diagnostic>> {
        let Asked { module, symbol, function, insns, .. } = *asked;
        let mut probes = Vec::new();
        for insn in insns.iter().filter(|insn| pattern.matches(&insn.offset.to_string())) {
            match &insn.refused {
                None => probes.push(self.make(module, symbol, function, insn.offset, None)),
                Some(reason) => {
                    let place = (module, symbol.address, Some(insn.offset));
                    let text = format!("kinst::{function}:{} cannot be traced: {reason}", insn.offset);
                    self.made().left_out.insert(place, text);
                }
            }
        }
        let mut reasons = insns.iter().filter_map(|insn| insn.refused.as_deref());
        match reasons.next() {
            Some(reason) if probes.is_empty() && insns.iter().all(|insn| insn.refused.is_some()) => {
                Err(Box::new(refusals::all_refused(function, reason)))
            }
            _ => Ok(probes),
        }
    }

    /// The places that descriptions of many instructions left out because they cannot be traced, one line for each.
    pub fn left_out(&self) -> Vec<String> {
        self.made().left_out.values().cloned().collect()
    }

    /// The instructions of a function, from memory; from the file only where no kernel can be asked.
    fn text(&self, module: ModuleId, symbol: &Symbol) -> Arc<Text> {
        let place = (module, symbol.address);
        if let Some(text) = self.made().text.get(&place) {
            return text.clone();
        }
        let run_time = self.kernel.run_time(module, symbol.address);
        let text = match (&self.live, run_time) {
            (Some(live), Some(address)) => match live.instructions(address) {
                Ok(insns) => Text::Known { insns, live: true },
                Err(reason) => Text::Unknown { reason: Some(reason) },
            },
            _ => match self.file_text(module, symbol) {
                Some(insns) => Text::Known { insns, live: false },
                None => Text::Unknown { reason: None },
            },
        };
        let text = Arc::new(text);
        self.made().text.insert(place, text.clone());
        text
    }

    fn file_text(&self, module: ModuleId, symbol: &Symbol) -> Option<Vec<LiveInsn>> {
        let insns = self.kernel.instructions(module, symbol)?;
        Some(
            insns
                .into_iter()
                .map(|insn| LiveInsn { offset: insn.offset, bytes: insn.bytes, refused: None })
                .collect(),
        )
    }

    /// Whether an instruction of the file begins there. The kernel patches its text (alternatives), so an instruction
    /// of the file may be gone in memory; the kernel refuses that one site, and the description is not wrong.
    fn is_boundary_in_file(&self, module: ModuleId, symbol: &Symbol, offset: u32) -> bool {
        let insns = self.file_text(module, symbol).unwrap_or_default();
        insns.iter().any(|insn| insn.offset == offset)
    }

    /// The probe at an offset; with `edge`, it fires only when control takes that edge.
    pub(super) fn make(
        &self,
        module: ModuleId,
        symbol: &Symbol,
        function: &str,
        offset: u32,
        edge: Option<EdgeTo>,
    ) -> Probe {
        let at = (module, symbol.address, offset, edge.as_ref().map(|edge| (edge.over, edge.to)));
        let mut made = self.made();
        if let Some(index) = made.by_place.get(&at) {
            let mut probe = made.probes[*index].clone();
            function.clone_into(&mut probe.name.function);
            return probe;
        }
        let index = made.probes.len();
        let func = self.kernel.run_time(module, symbol.address).unwrap_or(0);
        let bytes = Vec::new();
        let (place, name) = match edge {
            Some(EdgeTo { over, to, name }) => (Place::Edge { func, offset, over, to, bytes }, name),
            None => (Place::Insn { func, offset, bytes }, offset.to_string()),
        };
        let name = Fields::new("kinst", &self.kernel.modules()[module].name, function, &name);
        let probe = Probe { id: FIRST_KINST_ID + index as u32, name, place };
        made.probes.push(probe.clone());
        made.by_place.insert(at, index);
        probe
    }

    /// The functions of a module in the order of addresses. Names of one address are one function.
    fn functions(&self, module: ModuleId) -> &[Function] {
        self.functions[module.index()].get_or_init(|| {
            let Some(symbols) = self.kernel.symbols(module) else { return Vec::new() };
            let mut functions: Vec<Function> = Vec::new();
            let mut last = None;
            for (index, (_, symbol)) in symbols.iter().enumerate().filter(|(_, (_, symbol))| !symbol.gone()) {
                match functions.last_mut() {
                    Some(function) if last == Some(symbol.address) && symbol.address != 0 => {
                        function.names += 1
                    }
                    _ => functions.push(Function { first: index, names: 1 }),
                }
                last = Some(symbol.address);
            }
            functions
        })
    }

    /// The number of functions before those of a module.
    fn base(&self, module: ModuleId) -> usize {
        let before: Vec<ModuleId> = self.kernel.modules().ids().take(module.index()).collect();
        self.kernel.load_symbols(&before);
        before.into_iter().map(|before| self.functions(before).len()).sum()
    }

    fn functions_matching(&self, modules: &[ModuleId], field: &str) -> Vec<(ModuleId, Symbol, String)> {
        let pattern = Pattern::new(field);
        let mut named = Vec::new();
        for module in modules {
            let Some(symbols) = self.kernel.symbols(*module) else { continue };
            named.extend(self.functions(*module).iter().filter_map(|function| {
                let (name, symbol) =
                    function.names().map(|at| symbols.at(at)).find(|(name, _)| pattern.matches(name))?;
                Some((*module, *symbol, name.to_owned()))
            }));
        }
        named
    }

    /// The index of a function in [`Catalog::functions`].
    fn function_index(&self, module: ModuleId, symbol: &Symbol, name: &str) -> Option<usize> {
        let functions = self.functions(module);
        let symbols = self.kernel.symbols(module)?;
        let address = |function: &Function| symbols.at(function.first).1.address;
        let at = functions.partition_point(|function| address(function) < symbol.address);
        // Where addresses are hidden, all are equal and the name decides.
        let mut same = functions[at..].iter().take_while(|function| address(function) == symbol.address);
        Some(at + same.position(|function| function.names().any(|index| symbols.at(index).0 == name))?)
    }

    fn fbt_probe(&self, place: &FbtPlace<'_>, side: usize) -> Probe {
        let FbtPlace { index, module, symbol, function } = *place;
        let (name, of) = FBT[side];
        Probe {
            id: FIRST_FBT_ID + (FBT.len() * index + side) as u32,
            name: Fields::new("fbt", &self.kernel.modules()[module].name, function, name),
            place: of(self.kernel.run_time(module, symbol.address).unwrap_or(0)),
        }
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
        probes.extend(timers);
        match pattern.exact() {
            Some("kinst") if !fields.function.is_empty() => {
                probes.extend(self.kinst_probes(fields)?.into_iter().map(|(_, _, probe)| probe));
            }
            _ if pattern.matches("kinst") => {
                let [module, function, name] =
                    [&fields.module, &fields.function, &fields.name].map(|field| Pattern::new(field));
                let made = self.made();
                let named = made.probes.iter().filter(|probe| {
                    module.matches(&probe.name.module)
                        && function.matches(&probe.name.function)
                        && name.matches(&probe.name.name)
                });
                probes.extend(named.cloned());
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
        let provider = provider.as_str();
        if provider == "kinst" && function.is_empty() {
            return Err(Box::new(refusals::function_needed(&self.kernel, module)));
        }
        if provider == "syscall" && !glob::is_glob(function) && !glob::is_glob(name) {
            return Err(Box::new(syscalls::refusal(self.calls(), function, name)));
        }
        let is_event = provider == "sdt" || tracepoints::event_providers().any(|known| known == provider);
        if is_event && !glob::is_glob(name) && self.is_proper(fields) {
            return Err(Box::new(tracepoints::refusal(provider, self.tracepoints(), name)));
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
        let index = (id - FIRST_FBT_ID) as usize;
        let (mut place, side) = (index / FBT.len(), index % FBT.len());
        for module in self.kernel.modules().ids() {
            let functions = self.functions(module);
            if let Some(start) = functions.get(place) {
                let (function, symbol) = self.kernel.symbols(module)?.at(start.first);
                let place = FbtPlace { index: index / FBT.len(), module, symbol, function };
                return Some(self.fbt_probe(&place, side));
            }
            place -= functions.len();
        }
        None
    }
}

impl Function {
    /// Indices into the module's symbols.
    fn names(&self) -> std::ops::Range<usize> {
        self.first..self.first + self.names
    }
}

fn dtrace_probe(id: u32, name: &str, place: Place) -> Probe {
    Probe { id, name: Fields::new("dtrace", "", "", name), place }
}

/// The text of an instruction, for messages.
pub(super) fn insn_text(symbol: &Symbol, insn: &LiveInsn) -> String {
    format!("{} `{}`", insn.offset, decode::text(&insn.bytes, symbol.address + u64::from(insn.offset)))
}
