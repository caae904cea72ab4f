//! sites/index/: the sites of all inlined functions: from the index on disk, or from one walk over the debug information.

mod build;
mod line_sites;
pub(super) mod refusals;

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard};

use rayon::prelude::*;

use super::copies::resolve::resolve;
use super::kept::known::Known;
use super::target::Kernel;
use super::target::refusals::{no_debug_information, no_module};
use super::{Boundary, FoundSite, FunctionSites, SiteIndex, SourceLine};
use crate::diag::Diagnostic;
use crate::dwarf::{self, Function};
use crate::glob::{Pattern, is_glob};
use crate::sites::target::ModuleId;
pub use build::Built;

/// A function whose boundaries a script names: the fields of `kinst:module:function:entry`.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct InlineProbe {
    /// A glob, or empty.
    pub module: String,
    /// A glob, or a name.
    pub function: String,
}

/// [`SiteIndex`] over the debug information of a kernel. Nothing is read before the first query; then all wanted
/// functions are looked up at once.
pub struct DwarfIndex {
    kernel: Arc<Kernel>,
    wanted: Vec<InlineProbe>,
    /// The most probes that a glob over functions may become.
    max_probes: usize,
    known: Mutex<HashMap<(ModuleId, String), Arc<InModule>>>,
    walked: Mutex<HashSet<InlineProbe>>,
}

/// The sites of one function in one module.
#[derive(Debug, Default)]
pub(super) struct InModule {
    pub known: Known,
    pub out_of_line: Vec<String>,
}

/// The default of option `maxprobes`.
pub const MAX_PROBES: usize = 1024;

impl DwarfIndex {
    pub fn new(kernel: Arc<Kernel>, wanted: impl IntoIterator<Item = InlineProbe>) -> DwarfIndex {
        let named = wanted.into_iter().filter(|probe| !is_glob(&probe.function));
        DwarfIndex::of_names(kernel, named.collect())
    }

    /// An index of names that are taken as they are, even if they look like globs.
    fn of_names(kernel: Arc<Kernel>, wanted: Vec<InlineProbe>) -> DwarfIndex {
        DwarfIndex {
            kernel,
            wanted,
            max_probes: MAX_PROBES,
            known: Mutex::default(),
            walked: Mutex::default(),
        }
    }

    /// Sets the limit for globs over functions.
    pub fn with_max_probes(self, max_probes: usize) -> DwarfIndex {
        DwarfIndex { max_probes, ..self }
    }

    /// Looks for the given function, and for all wanted ones with it, unless that has been done.
    fn look_for(&self, asked: InlineProbe) {
        let mut walked = lock(&self.walked);
        if walked.contains(&asked) {
            return;
        }
        let mut by_module: BTreeMap<ModuleId, BTreeSet<String>> = BTreeMap::new();
        let mut all = BTreeSet::new();
        for probe in self.wanted.iter().chain([&asked]) {
            if walked.insert(probe.clone()) {
                let modules = self.kernel.modules_matching(&probe.module);
                all.extend(modules.iter().copied());
                for module in modules {
                    by_module.entry(module).or_default().insert(probe.function.clone());
                }
            }
        }
        let all: Vec<ModuleId> = all.into_iter().collect();
        let names: BTreeSet<&String> = by_module.values().flatten().collect();
        let names: Vec<&str> = names.into_iter().map(String::as_str).collect();
        let knowing = self.kernel.ensure_indexed(&all, &names);
        let by_module: Vec<(ModuleId, Vec<String>)> = knowing
            .into_iter()
            .filter_map(|module| Some((module, by_module.get(&module)?.iter().cloned().collect())))
            .collect();
        let found: Vec<_> = by_module
            .into_par_iter()
            .flat_map(|(module, names)| match self.kernel.index(module) {
                Some(index) => {
                    let known = names.iter().map(|name| index.function(name).unwrap_or_default()).collect();
                    self.with_instances(module, names, known)
                }
                None => self.explore(module, names),
            })
            .collect();
        let mut known = lock(&self.known);
        for (module, name, what) in found {
            for remark in what.known.dropped.remarks() {
                self.kernel.remark(format!("{}: {name}: {remark}", self.kernel.modules()[module].name));
            }
            known.insert((module, name), Arc::new(what));
        }
    }

    /// Looks for functions in the debug information.
    fn explore(&self, module: ModuleId, names: Vec<String>) -> Vec<(ModuleId, String, InModule)> {
        let kernel = &self.kernel;
        let functions = match kernel.debug(module) {
            // Most modules do not have a given name; a search for its bytes is much quicker than a walk.
            Some(image) if module != ModuleId::PROPER && !dwarf::may_know(image, &names) => Vec::new(),
            // The names of the sites take as long to read as the sites themselves: both at once.
            Some(image) => {
                match rayon::join(|| dwarf::find(image, &names, false), || kernel.symbols(module).map(|_| ()))
                    .0
                {
                    Ok(findings) => {
                        findings
                            .damaged
                            .iter()
                            .for_each(|line| kernel.remark(format!("{}: {line}", image.path().display())));
                        findings.functions
                    }
                    Err(error) => {
                        kernel.warn(error.warning());
                        return Vec::new();
                    }
                }
            }
            None => vec![Function::default(); names.len()],
        };
        if functions.is_empty() {
            return Vec::new();
        }
        let known = resolve(kernel, module, &functions);
        self.with_instances(module, names, known)
    }

    fn with_instances(
        &self,
        module: ModuleId,
        names: Vec<String>,
        known: Vec<Known>,
    ) -> Vec<(ModuleId, String, InModule)> {
        let symbols = self.kernel.symbols(module);
        let found = names.into_iter().zip(known).map(|(name, known)| {
            let out_of_line = symbols.map(|symbols| symbols.instances(&name)).unwrap_or_default();
            (module, name, InModule { known, out_of_line })
        });
        found.filter(|(_, _, found)| found.known.inline || !found.out_of_line.is_empty()).collect()
    }

    fn answer(&self, modules: &[ModuleId], function: &str, boundary: Boundary) -> Vec<FunctionSites> {
        let found = self.found(modules, function);
        found
            .iter()
            .map(|(module, found)| FunctionSites {
                module: self.kernel.modules()[*module].name.clone(),
                function: function.to_owned(),
                sites: self.sites(*module, &found.known, boundary),
                out_of_line: found.out_of_line.clone(),
            })
            .filter(|function| !function.sites.is_empty() || !function.out_of_line.is_empty())
            .collect()
    }

    fn found(&self, modules: &[ModuleId], function: &str) -> Vec<(ModuleId, Arc<InModule>)> {
        let known = lock(&self.known);
        let found = modules
            .iter()
            .filter_map(|module| Some((*module, known.get(&(*module, function.to_owned()))?.clone())));
        found.collect()
    }

    /// Converts addresses to names.
    fn sites(&self, module: ModuleId, known: &Known, boundary: Boundary) -> Vec<FoundSite> {
        let points = match boundary {
            Boundary::Entry => &known.entries,
            Boundary::Return => &known.exits,
        };
        points.iter().filter_map(|point| self.kernel.point(module, *point).ok()).collect()
    }

    /// All functions that a glob matches: inlined ones, and those that fbt can serve.
    fn names_matching(&self, modules: &[ModuleId], pattern: &str) -> Vec<String> {
        let glob = Pattern::new(pattern);
        // Functions in Rust have names like `eq<[u8]>`.
        let matches = |name: &str| glob.matches(name) || name == pattern;
        let mut names = BTreeSet::new();
        self.kernel.ensure_indexed(modules, &[]);
        for module in modules {
            let inline = self.kernel.inline_names(*module);
            names.extend(inline.into_iter().filter(|name| matches(name)));
            if let Some(symbols) = self.kernel.symbols(*module) {
                let own = symbols
                    .iter()
                    .filter(|(name, symbol)| !symbol.gone() && !name.contains('.') && matches(name));
                names.extend(own.map(|(name, _)| name.to_owned()));
            }
        }
        names.into_iter().collect()
    }

    fn glob(
        &self,
        modules: &[ModuleId],
        module: &str,
        pattern: &str,
        boundary: Boundary,
    ) -> Result<Vec<FunctionSites>, Box<Diagnostic>> {
        let names = self.names_matching(modules, pattern);
        let probe = |function: &String| InlineProbe { module: module.to_owned(), function: function.clone() };
        let all = DwarfIndex::of_names(self.kernel.clone(), names.iter().map(probe).collect());
        let mut answer = Vec::new();
        for name in &names {
            all.look_for(probe(name));
            answer.extend(all.answer(modules, name, boundary));
        }
        let count: usize =
            answer.iter().map(|function| function.sites.len() + function.out_of_line.len()).sum();
        match count {
            0 => Err(Box::new(refusals::nothing_inlined(&self.kernel, modules, pattern))),
            _ if count > self.max_probes => {
                Err(Box::new(refusals::too_many_sites(pattern, count, names.len(), self.max_probes)))
            }
            _ => Ok(answer),
        }
    }
}

impl SiteIndex for DwarfIndex {
    fn inline_sites(
        &self,
        module: &str,
        function: &str,
        boundary: Boundary,
    ) -> Result<Vec<FunctionSites>, Box<Diagnostic>> {
        let modules = self.kernel.modules_matching(module);
        if modules.is_empty() {
            return Err(Box::new(no_module(&self.kernel, module)));
        }
        if is_glob(function) {
            return self.glob(&modules, module, function, boundary);
        }
        self.look_for(InlineProbe { module: module.to_owned(), function: function.to_owned() });
        let found = self.found(&modules, function);
        // Without the debug information of the kernel proper, an out-of-line instance is not the whole answer.
        if modules.contains(&ModuleId::PROPER)
            && self.kernel.debug(ModuleId::PROPER).is_none()
            && found.iter().all(|(module, _)| *module == ModuleId::PROPER)
        {
            return Err(Box::new(no_debug_information(
                &self.kernel,
                ModuleId::PROPER,
                function,
                !found.is_empty(),
            )));
        }
        let answer = self.answer(&modules, function, boundary);
        if answer.is_empty() {
            let known: Vec<&Known> = found.iter().map(|(_, found)| &found.known).collect();
            return Err(Box::new(refusals::no_sites(&self.kernel, &modules, function, &known)));
        }
        Ok(answer)
    }

    fn line_sites(
        &self,
        module: &str,
        function: &str,
        line: &SourceLine,
    ) -> Result<Vec<FoundSite>, Box<Diagnostic>> {
        super::index::line_sites::line_sites(&self.kernel, module, function, line)
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // The data under a lock is only ever added to: it is whole even if a thread panicked.
    mutex.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
}
