//! sites/index/: the sites of all inlined functions: from the index on disk, or from one walk over the debug information.

mod build;
mod carry;
mod line_sites;
pub(super) mod refusals;

use kinst_base::image::ModuleId;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard};

use rayon::prelude::*;

use super::copies::resolve::resolve;
use super::flow::points::Point;
use super::kept::known::Known;
use super::model::{Boundary, FoundSite, FunctionSites, SiteIndex, SourceLine};
use super::target::Kernel;
use super::target::refusals::{Missing, no_debug_information, no_module};
use crate::symtab::Symbols;
pub use build::Built;
pub use carry::{Imported, NotImported};
use kinst_base::diag::Diagnostic;
use kinst_base::glob::{Pattern, is_glob};
use kinst_dwarf::Function;

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
    /// The most probes that the kernel module arms for one program.
    most_armed: usize,
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
        DwarfIndex {
            kernel,
            wanted: wanted.into_iter().filter(|probe| !is_glob(&probe.function)).collect(),
            max_probes: MAX_PROBES,
            most_armed: usize::MAX,
            known: Mutex::default(),
            walked: Mutex::default(),
        }
    }

    /// Sets the limits for globs over functions: what the user permits, and what the kernel module does.
    pub fn with_max_probes(self, max_probes: usize, most_armed: usize) -> DwarfIndex {
        DwarfIndex { max_probes, most_armed, ..self }
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
        let names: Vec<&str> =
            names.into_iter().map(String::as_str).filter(|name| self.kernel.may_have(&all, name)).collect();
        if names.is_empty() {
            return;
        }
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
            self.remark(module, &name, &what);
            known.insert((module, name), Arc::new(what));
        }
    }

    /// Looks for functions in the debug information.
    fn explore(&self, module: ModuleId, names: Vec<String>) -> Vec<(ModuleId, String, InModule)> {
        let kernel = &self.kernel;
        let image = kernel.image(module);
        let functions = match image.debug() {
            // Most files do not have a given name. What the kernel has in assembler is in its symbols alone.
            Some(file) if !image.may_know(file, &names) => match module {
                ModuleId::PROPER => vec![Function::default(); names.len()],
                _ => Vec::new(),
            },
            // The names of the sites take as long to read as the sites themselves: both at once.
            Some(file) => {
                match rayon::join(|| kinst_dwarf::find(file, &names, false), || image.symbols().map(|_| ())).0
                {
                    Ok(findings) => {
                        findings
                            .damaged
                            .iter()
                            .for_each(|line| kernel.remark(format!("{}: {line}", file.path().display())));
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
        let known = resolve(image, &functions);
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
        found.iter().filter_map(|(module, found)| self.function(*module, function, found, boundary)).collect()
    }

    /// Converts addresses to names; `None` if nothing is left.
    fn function(
        &self,
        module: ModuleId,
        name: &str,
        found: &InModule,
        boundary: Boundary,
    ) -> Option<FunctionSites> {
        let points = found.points(boundary).iter();
        let function = FunctionSites {
            module: self.kernel.modules()[module].name.clone(),
            function: name.to_owned(),
            sites: points.filter_map(|point| self.kernel.image(module).point(*point).ok()).collect(),
            out_of_line: found.out_of_line.clone(),
        };
        (!function.sites.is_empty() || !function.out_of_line.is_empty()).then_some(function)
    }

    fn remark(&self, module: ModuleId, name: &str, found: &InModule) {
        for remark in found.known.dropped.remarks() {
            self.kernel.remark(format!("{}: {name}: {remark}", self.kernel.modules()[module].name));
        }
    }

    fn found(&self, modules: &[ModuleId], function: &str) -> Vec<(ModuleId, Arc<InModule>)> {
        let known = lock(&self.known);
        let found = modules
            .iter()
            .filter_map(|module| Some((*module, known.get(&(*module, function.to_owned()))?.clone())));
        found.collect()
    }

    /// All functions that a glob matches: inlined ones, and those that fbt can serve.
    fn names_matching(&self, modules: &[ModuleId], pattern: &str) -> Vec<String> {
        let glob = Pattern::new(pattern);
        // Functions in Rust have names like `eq<[u8]>`.
        let matches = |name: &str| glob.matches(name) || name == pattern;
        self.kernel.ensure_indexed(modules, &[]);
        let of_module = |module: &ModuleId| {
            let mut names = self.kernel.image(*module).inline_names();
            names.retain(|name| matches(name));
            let own = self.kernel.symbols(*module).into_iter().flat_map(Symbols::iter);
            let own = own.filter(|(name, symbol)| !symbol.gone() && !name.contains('.') && matches(name));
            names.extend(own.map(|(name, _)| name.to_owned()));
            names
        };
        let mut names: Vec<String> = modules.par_iter().flat_map_iter(of_module).collect();
        names.par_sort_unstable();
        names.dedup();
        names
    }

    /// Those of these functions that a module has, with their sites. `names` are in order.
    fn known_in(&self, module: ModuleId, names: &[String]) -> Vec<(ModuleId, String, InModule)> {
        let Some(index) = self.kernel.index(module) else { return self.explore(module, names.to_vec()) };
        let is_wanted = |name: &&str| names.binary_search_by(|wanted| wanted.as_str().cmp(name)).is_ok();
        let own = self.kernel.symbols(module).into_iter().flat_map(Symbols::iter);
        // For a clone, the function's name.
        let own = own.map(|(name, _)| name.split_once('.').map_or(name, |(function, _)| function));
        let here: BTreeSet<&str> = index.names().filter(is_wanted).chain(own.filter(is_wanted)).collect();
        let known = here.iter().map(|name| index.function(name).unwrap_or_default()).collect();
        self.with_instances(module, here.into_iter().map(str::to_owned).collect(), known)
    }

    /// Refuses a glob by what is known without a walk over debug information: functions with code of their own, of which
    /// each is a probe at least, and what is kept of the kernel proper.
    fn refuse_early(
        &self,
        modules: &[ModuleId],
        pattern: &str,
        boundary: Boundary,
    ) -> Result<(), Box<Diagnostic>> {
        let glob = Pattern::new(pattern);
        let own = |module: ModuleId| {
            let all = self.kernel.symbols(module).into_iter().flat_map(Symbols::iter);
            all.filter(|(name, symbol)| !symbol.gone() && !name.contains('.') && glob.matches(name)).count()
        };
        let check = |least: usize| match least > self.max_probes.min(self.most_armed) {
            true => Err(Box::new(self.too_many(pattern, refusals::Count::AtLeast(least)))),
            false => Ok(()),
        };
        let (proper, others): (Vec<ModuleId>, Vec<ModuleId>) =
            modules.iter().partition(|module| **module == ModuleId::PROPER);
        let mut least = proper.iter().map(|module| own(*module)).sum::<usize>();
        check(least)?;
        if let Some(index) = proper.first().and_then(|module| self.kernel.index(*module)) {
            let points = |name| index.function(name).map_or(0, |known| points(&known, boundary).len());
            least += index.names().filter(|name| glob.matches(name)).map(points).sum::<usize>();
            check(least)?;
        }
        check(least + others.par_iter().map(|module| own(*module)).sum::<usize>())
    }

    fn too_many(&self, pattern: &str, count: refusals::Count) -> Diagnostic {
        let (refuse, most): (fn(&str, _, _) -> _, _) = match count.least() > self.most_armed {
            true => (refusals::too_many_to_arm, self.most_armed),
            false => (refusals::too_many_sites, self.max_probes),
        };
        refuse(pattern, count, most)
    }

    /// All functions that a glob matches, by name. They are counted before any address is given a name.
    fn glob(
        &self,
        modules: &[ModuleId],
        pattern: &str,
        boundary: Boundary,
    ) -> Result<Vec<FunctionSites>, Box<Diagnostic>> {
        self.refuse_early(modules, pattern, boundary)?;
        let names = self.names_matching(modules, pattern);
        let mut found: Vec<_> =
            modules.par_iter().flat_map_iter(|module| self.known_in(*module, &names)).collect();
        found.par_sort_by(|(module, name, _), (other_module, other, _)| {
            name.cmp(other).then(module.cmp(other_module))
        });
        let count: usize =
            found.iter().map(|(.., found)| found.points(boundary).len() + found.out_of_line.len()).sum();
        if count > self.max_probes.min(self.most_armed) {
            let functions = names.len();
            return Err(Box::new(self.too_many(pattern, refusals::Count::Exact { count, functions })));
        }
        found.iter().for_each(|(module, name, found)| self.remark(*module, name, found));
        let answer: Vec<FunctionSites> = found
            .par_iter()
            .filter_map(|(module, name, found)| self.function(*module, name, found, boundary))
            .collect();
        if answer.is_empty() {
            return Err(Box::new(refusals::nothing_inlined(&self.kernel, modules, pattern)));
        }
        Ok(answer)
    }
}

impl InModule {
    fn points(&self, boundary: Boundary) -> &[Point] {
        points(&self.known, boundary)
    }
}

fn points(known: &Known, boundary: Boundary) -> &[Point] {
    match boundary {
        Boundary::Entry => &known.entries,
        Boundary::Return => &known.exits,
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
            return self.glob(&modules, function, boundary);
        }
        self.look_for(InlineProbe { module: module.to_owned(), function: function.to_owned() });
        let found = self.found(&modules, function);
        // Without the debug information of the kernel proper, an out-of-line instance is not the whole answer.
        if modules.contains(&ModuleId::PROPER)
            && self.kernel.layout(ModuleId::PROPER).is_none()
            && found.iter().all(|(module, _)| *module == ModuleId::PROPER)
        {
            return Err(Box::new(no_debug_information(
                &self.kernel,
                ModuleId::PROPER,
                function,
                Missing::Copies { out_of_line: !found.is_empty() },
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
