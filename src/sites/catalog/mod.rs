//! sites/catalog/: the probes of all providers, by description and by id.

pub(super) mod edges;
pub(super) mod profile;
pub(super) mod refusals;
pub(super) mod syscalls;
pub(super) mod tracepoints;
pub(super) mod unplaced;

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock};

use super::code::decode;
use super::target::Kernel;
use super::target::naming::split_ordinal;
use super::target::symtab::Symbol;
use super::{Probe, ProbeCatalog, ProbeKind};
use crate::diag::Diagnostic;
use crate::glob::{self, Pattern};
use edges::EdgeTo;
use syscalls::Call;
use tracepoints::Tracepoint;
use unplaced::FIRST_UNPLACED_ID;

/// What is in memory now: the instructions of a function, the table of system calls; the kernel layer asks the module for them.
pub trait LiveText {
    /// `function` is the run-time address of its symbol. An error is the reason why nothing can be told.
    fn instructions(&self, function: u64) -> Result<Vec<LiveInsn>, String>;

    /// By number, the run-time address of a system call's function; 0 where there is none.
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

/// [`ProbeCatalog`] over a kernel. Nothing is read before a provider is asked that needs it.
pub struct Catalog {
    pub(super) kernel: Arc<Kernel>,
    pub(super) live: Option<Box<dyn LiveText>>,
    /// By module.
    functions: Vec<OnceLock<Vec<Function>>>,
    pub(super) calls: OnceLock<Vec<Call>>,
    pub(super) tracepoints: OnceLock<Vec<Tracepoint>>,
    made: Mutex<Made>,
}

/// An address that is the start of a function; its place among all functions makes the ids of its fbt probes.
#[derive(Clone, Copy)]
struct Function {
    /// The first of its names in the module's symbols, and how many there are.
    first: usize,
    names: usize,
}

/// Module, function, offset; of an edge, what it leads over, and where.
type Place = (usize, u64, u32, Option<([u32; 2], u32)>);

/// kinst probes exist when somebody has named them, and those of profile with unusual rates.
#[derive(Default)]
pub(super) struct Made {
    pub(super) timers: Vec<Probe>,
    probes: Vec<Probe>,
    by_place: HashMap<Place, usize>,
    text: HashMap<(usize, u64), Arc<Text>>,
    /// By module, function, and offset if it is not all of the function.
    left_out: BTreeMap<(usize, u64, Option<u32>), String>,
}

/// The instructions of one function, as far as they can be told.
enum Text {
    Known { insns: Vec<LiveInsn>, live: bool },
    Unknown { reason: Option<String> },
}

const DTRACE: [(&str, ProbeKind); 3] =
    [("BEGIN", ProbeKind::Begin), ("END", ProbeKind::End), ("ERROR", ProbeKind::Error)];
const FBT: [(&str, ProbeKind); 2] = [("entry", ProbeKind::FbtEntry), ("return", ProbeKind::FbtReturn)];
const FIRST_FBT_ID: u32 = DTRACE.len() as u32 + 1;
/// Above all ids of fbt: a kernel with all its modules has some 100,000 functions. A fixed number, so that no module
/// but those that are asked for needs to be read.
const FIRST_KINST_ID: u32 = 500_000;

/// More instructions than this are never meant.
const MAX_MATCHES: usize = 100_000;

pub(super) struct Fields<'a> {
    pub(super) provider: &'a str,
    pub(super) module: &'a str,
    pub(super) function: &'a str,
    pub(super) name: &'a str,
}

impl Fields<'_> {
    /// Do they match a probe that is in no module and no function?
    pub(super) fn are_nameless(&self) -> bool {
        Pattern::new(self.module).matches("") && Pattern::new(self.function).matches("")
    }
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

    fn dtrace(&self, fields: &Fields<'_>) -> Vec<Probe> {
        let name = Pattern::new(fields.name);
        let nameless = fields.are_nameless();
        let ids = (1..).zip(DTRACE);
        ids.filter(|(_, (probe, _))| nameless && name.matches(probe))
            .map(|(id, (name, kind))| dtrace_probe(id, name, kind))
            .collect()
    }

    fn fbt(&self, fields: &Fields<'_>) -> Vec<Probe> {
        let name = Pattern::new(fields.name);
        let kinds: Vec<(u32, &str, ProbeKind)> = (0..)
            .zip(FBT)
            .filter(|(_, (probe, _))| name.matches(probe))
            .map(|(at, (name, kind))| (at, name, kind))
            .collect();
        if kinds.is_empty() {
            return Vec::new();
        }
        let modules = self.kernel.modules_matching(fields.module);
        let function = Pattern::new(fields.function);
        let mut probes = Vec::new();
        let mut add = |index: usize, module: usize, symbol: &Symbol, function: &str| {
            for (at, name, kind) in &kinds {
                probes.push(self.fbt_probe(index, *at, module, symbol, function, name, *kind));
            }
        };
        if function.exact().is_some() {
            // The kernel proper has 60,000 functions: a name is looked up, not searched for.
            for (module, symbol) in self.kernel.functions_named(&modules, fields.function) {
                let (name, _) = split_ordinal(fields.function);
                if let Some(index) = self.function_index(module, &symbol, name) {
                    add(self.base(module) + index, module, &symbol, fields.function);
                }
            }
            return probes;
        }
        for module in modules {
            let Some(symbols) = self.kernel.symbols(module) else { continue };
            for (index, start) in (self.base(module)..).zip(self.functions(module)) {
                let mut names = start.names().map(|at| symbols.at(at));
                if let Some((name, symbol)) = names.find(|(name, _)| function.matches(name)) {
                    add(index, module, symbol, name);
                }
            }
        }
        probes
    }

    fn kinst(&self, fields: &Fields<'_>) -> Result<Vec<Probe>, Box<Diagnostic>> {
        Ok(self.kinst_at(fields)?.into_iter().map(|(_, _, probe)| probe).collect())
    }

    pub(super) fn kernel(&self) -> &Kernel {
        &self.kernel
    }

    /// Each with its module and its function.
    pub(super) fn kinst_probes(
        &self,
        module: &str,
        function: &str,
        name: &str,
    ) -> Result<Vec<(usize, Symbol, Probe)>, Box<Diagnostic>> {
        self.kinst_at(&Fields { provider: "kinst", module, function, name })
    }

    fn kinst_at(&self, fields: &Fields<'_>) -> Result<Vec<(usize, Symbol, Probe)>, Box<Diagnostic>> {
        let modules = self.kernel.modules_matching(fields.module);
        let functions: Vec<(usize, Symbol, String)> = match Pattern::new(fields.function).exact() {
            Some(function) => {
                let named = self.kernel.functions_named(&modules, function);
                named.into_iter().map(|(module, symbol)| (module, symbol, function.to_owned())).collect()
            }
            None => self.functions_matching(&modules, fields.function),
        };
        let mut probes = Vec::new();
        let mut refusal = None;
        let one = Pattern::new(fields.function).exact().is_some();
        for (module, symbol, function) in &functions {
            match self.instructions(*module, symbol, function, fields.name) {
                Ok(found) => probes.extend(found.into_iter().map(|probe| (*module, *symbol, probe))),
                Err(error) => refusal = refusal.or(Some(error)),
            }
            if probes.len() > MAX_MATCHES {
                return Err(Box::new(refusals::too_many(fields.function, MAX_MATCHES)));
            }
        }
        match refusal {
            // Of several functions of one name only those count that have such an instruction.
            Some(refusal) if probes.is_empty() && one => Err(refusal),
            _ => Ok(probes),
        }
    }

    fn instructions(
        &self,
        module: usize,
        symbol: &Symbol,
        function: &str,
        name: &str,
    ) -> Result<Vec<Probe>, Box<Diagnostic>> {
        let text = self.text(module, symbol);
        if let Some(offset) = refusals::decimal(name) {
            if let Text::Known { insns, live } = &*text
                && insns.iter().all(|insn| insn.offset != offset)
                && !(*live && self.is_boundary_in_file(module, symbol, offset))
            {
                return Err(Box::new(refusals::no_boundary(function, symbol, offset, insns)));
            }
            return Ok(vec![self.make(module, symbol, function, offset, None)]);
        }
        if edges::is_edge(name)
            && let Text::Known { insns, live } = &*text
        {
            return self.edges(module, symbol, function, name, insns, *live);
        }
        match (&*text, Pattern::new(name)) {
            (_, Pattern::Exact(_)) => Err(Box::new(refusals::no_such_name(function, name))),
            (Text::Known { insns, .. }, pattern) => {
                let mut probes = Vec::new();
                for insn in insns.iter().filter(|insn| pattern.matches(&insn.offset.to_string())) {
                    match &insn.refused {
                        None => probes.push(self.make(module, symbol, function, insn.offset, None)),
                        Some(reason) => {
                            let place = (module, symbol.address, Some(insn.offset));
                            let text =
                                format!("kinst::{function}:{} cannot be traced: {reason}", insn.offset);
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
            (Text::Unknown { reason }, _) => {
                if let Some(reason) = reason {
                    let text = format!("kinst::{function}: cannot be traced: {reason}");
                    self.made().left_out.insert((module, symbol.address, None), text);
                }
                Err(Box::new(refusals::no_text(&self.kernel, function, reason.as_deref())))
            }
        }
    }

    /// What descriptions of many instructions did not match, as it cannot be traced: a line for each place.
    pub fn left_out(&self) -> Vec<String> {
        self.made().left_out.values().cloned().collect()
    }

    /// What is in memory counts; the file is asked where the kernel cannot be.
    fn text(&self, module: usize, symbol: &Symbol) -> Arc<Text> {
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

    fn file_text(&self, module: usize, symbol: &Symbol) -> Option<Vec<LiveInsn>> {
        let insns = self.kernel.instructions(module, symbol)?;
        Some(
            insns
                .into_iter()
                .map(|insn| LiveInsn { offset: insn.offset, bytes: insn.bytes, refused: None })
                .collect(),
        )
    }

    /// The kernel patches its text (alternatives): an instruction of the file may be gone. That is for the kernel to
    /// say of one site; it does not make the description wrong.
    fn is_boundary_in_file(&self, module: usize, symbol: &Symbol, offset: u32) -> bool {
        let insns = self.file_text(module, symbol).unwrap_or_default();
        insns.iter().any(|insn| insn.offset == offset)
    }

    /// The probe at an offset. `edge`: only when control goes there.
    pub(super) fn make(
        &self,
        module: usize,
        symbol: &Symbol,
        function: &str,
        offset: u32,
        edge: Option<EdgeTo>,
    ) -> Probe {
        let place = (module, symbol.address, offset, edge.as_ref().map(|edge| (edge.over, edge.to)));
        let mut made = self.made();
        if let Some(index) = made.by_place.get(&place) {
            return Probe { function: function.to_owned(), ..made.probes[*index].clone() };
        }
        let index = made.probes.len();
        let (kind, over, to, name) = match edge {
            Some(EdgeTo { over, to, name }) => (ProbeKind::Edge, over, to, name),
            None => (ProbeKind::Insn, [0; 2], 0, offset.to_string()),
        };
        let probe = Probe {
            id: FIRST_KINST_ID + index as u32,
            kind,
            provider: "kinst".to_owned(),
            module: self.kernel.modules()[module].name.clone(),
            function: function.to_owned(),
            name,
            address: self.kernel.run_time(module, symbol.address).unwrap_or(0),
            offset,
            over,
            to,
            bytes: Vec::new(),
        };
        made.probes.push(probe.clone());
        made.by_place.insert(place, index);
        probe
    }

    /// The functions of a module in the order of addresses. Names of one address are one function.
    fn functions(&self, module: usize) -> &[Function] {
        self.functions[module].get_or_init(|| {
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

    /// How many functions stand before those of a module.
    fn base(&self, module: usize) -> usize {
        self.kernel.load_symbols(0..module);
        (0..module).map(|before| self.functions(before).len()).sum()
    }

    fn functions_matching(&self, modules: &[usize], field: &str) -> Vec<(usize, Symbol, String)> {
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

    /// Where a function stands in [`Catalog::functions`].
    fn function_index(&self, module: usize, symbol: &Symbol, name: &str) -> Option<usize> {
        let functions = self.functions(module);
        let symbols = self.kernel.symbols(module)?;
        let address = |function: &Function| symbols.at(function.first).1.address;
        let at = functions.partition_point(|function| address(function) < symbol.address);
        // Where addresses are hidden all are equal, and the name decides.
        let mut same = functions[at..].iter().take_while(|function| address(function) == symbol.address);
        Some(at + same.position(|function| function.names().any(|index| symbols.at(index).0 == name))?)
    }

    #[allow(clippy::too_many_arguments)]
    fn fbt_probe(
        &self,
        index: usize,
        at: u32,
        module: usize,
        symbol: &Symbol,
        function: &str,
        name: &str,
        kind: ProbeKind,
    ) -> Probe {
        Probe {
            id: FIRST_FBT_ID + FBT.len() as u32 * index as u32 + at,
            kind,
            provider: "fbt".to_owned(),
            module: self.kernel.modules()[module].name.clone(),
            function: function.to_owned(),
            name: name.to_owned(),
            address: self.kernel.run_time(module, symbol.address).unwrap_or(0),
            offset: 0,
            over: [0; 2],
            to: 0,
            bytes: Vec::new(),
        }
    }

    pub(super) fn made(&self) -> MutexGuard<'_, Made> {
        // What is behind the lock is only ever added to.
        self.made.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }
}

impl ProbeCatalog for Catalog {
    fn matches(
        &self,
        provider: &str,
        module: &str,
        function: &str,
        name: &str,
    ) -> Result<Vec<Probe>, Box<Diagnostic>> {
        let fields = Fields { provider, module, function, name };
        let pattern = Pattern::new(fields.provider);
        let mut probes = Vec::new();
        if pattern.matches("dtrace") {
            probes.extend(self.dtrace(&fields));
        }
        if pattern.matches("fbt") {
            probes.extend(self.fbt(&fields));
        }
        if pattern.matches("syscall") {
            probes.extend(self.syscall(&fields));
        }
        let timers = if pattern.matches("profile") { self.profile(&fields)? } else { Vec::new() };
        // The kernel's symbols are not read for the sake of BEGIN or a tick.
        let found = !probes.is_empty() || !timers.is_empty();
        if pattern.matches("sdt") && !(found && Pattern::new(name).exact().is_some()) {
            probes.extend(self.sdt(&fields));
        }
        if ["io", "proc", "sched"].iter().any(|provider| pattern.matches(provider)) {
            probes.extend(self.events(&fields));
        }
        probes.extend(timers);
        match pattern.exact() {
            Some("kinst") if !function.is_empty() => probes.extend(self.kinst(&fields)?),
            _ if pattern.matches("kinst") => {
                let (module, function, name) =
                    (Pattern::new(module), Pattern::new(function), Pattern::new(name));
                let made = self.made();
                let named = made.probes.iter().filter(|probe| {
                    module.matches(&probe.module)
                        && function.matches(&probe.function)
                        && name.matches(&probe.name)
                });
                probes.extend(named.cloned());
            }
            _ => {}
        }
        if probes.is_empty() {
            if provider == "kinst" && function.is_empty() {
                return Err(Box::new(refusals::function_needed(&self.kernel, module)));
            }
            if provider == "syscall" && !glob::is_glob(function) && !glob::is_glob(name) {
                return Err(Box::new(syscalls::refusal(self.calls(), function, name)));
            }
            if matches!(provider, "sdt" | "io" | "proc" | "sched")
                && !glob::is_glob(name)
                && self.is_proper(&fields)
            {
                return Err(Box::new(tracepoints::refusal(provider, self.tracepoints(), name)));
            }
            let modules = self.kernel.modules_matching(module);
            refusals::nothing_matches(&self.kernel, &modules, provider, module, function, name)?;
        }
        Ok(probes)
    }

    fn by_id(&self, id: u32) -> Option<Probe> {
        let index = id.checked_sub(1)? as usize;
        if let Some((name, kind)) = DTRACE.get(index) {
            return Some(dtrace_probe(id, name, *kind));
        }
        if let Some(index) = id.checked_sub(FIRST_KINST_ID) {
            return self.made().probes.get(index as usize).cloned();
        }
        if id >= FIRST_UNPLACED_ID {
            return self.unplaced_by_id(id);
        }
        let index = (id - FIRST_FBT_ID) as usize;
        let (mut function, at) = (index / FBT.len(), index % FBT.len());
        let (name, kind) = FBT[at];
        for module in 0..self.kernel.modules().len() {
            let functions = self.functions(module);
            if let Some(start) = functions.get(function) {
                let (function, symbol) = self.kernel.symbols(module)?.at(start.first);
                return Some(self.fbt_probe(
                    index / FBT.len(),
                    at as u32,
                    module,
                    symbol,
                    function,
                    name,
                    kind,
                ));
            }
            function -= functions.len();
        }
        None
    }
}

impl Function {
    /// Places in the module's symbols.
    fn names(&self) -> std::ops::Range<usize> {
        self.first..self.first + self.names
    }
}

fn dtrace_probe(id: u32, name: &str, kind: ProbeKind) -> Probe {
    Probe {
        id,
        kind,
        provider: "dtrace".to_owned(),
        module: String::new(),
        function: String::new(),
        name: name.to_owned(),
        address: 0,
        offset: 0,
        over: [0; 2],
        to: 0,
        bytes: Vec::new(),
    }
}

/// The text of an instruction, for messages.
pub(super) fn insn_text(symbol: &Symbol, insn: &LiveInsn) -> String {
    format!("{} `{}`", insn.offset, decode::text(&insn.bytes, symbol.address + u64::from(insn.offset)))
}
