//! sites/index/dwarf_index.rs: the sites of a script's inlined functions in all modules of a kernel.

use kinst_base::image::{ImageId, ModuleId};
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard};

use rayon::prelude::*;

use super::functions::{self, ImageFunction};
use super::program_sites::ProgramSites;
use super::{line_sites, refusals};
use crate::cache::known::Known;
use crate::image::Image;
use crate::model::{Boundary, FoundSite, FunctionSites, SiteIndex, SourceLine};
use crate::programs::Programs;
use crate::target::Kernel;
use crate::target::refusals::{Missing, no_debug_information, no_module};
use kinst_base::diag::Diagnostic;
use kinst_base::glob::{Pattern, is_glob};
use kinst_base::space::Space;

/// A function with probed boundaries: the fields of `kinst:module:function:entry`.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct InlineProbe {
    /// A glob, or empty.
    pub module: String,
    /// A glob, or a name.
    pub function: String,
}

/// [`SiteIndex`] over the debug information of a kernel. Nothing is read before the first query; then all
/// wanted functions are looked up together.
pub struct DwarfIndex {
    kernel: Arc<Kernel>,
    programs: Option<Arc<Programs>>,
    wanted: Vec<InlineProbe>,
    /// Maximum number of probes for a glob over functions.
    max_probes: usize,
    /// Maximum number of probes in one program that the kernel module arms.
    most_armed: usize,
    known: Mutex<HashMap<(ImageId, String), Arc<ImageFunction>>>,
    walked: Mutex<HashSet<InlineProbe>>,
}

/// The default of option `maxprobes`.
pub const MAX_PROBES: usize = 1024;

impl DwarfIndex {
    /// Makes an index without reading anything. `wanted` has the functions that the first query looks up
    /// together; globs among them are ignored.
    pub fn new(kernel: Arc<Kernel>, wanted: impl IntoIterator<Item = InlineProbe>) -> DwarfIndex {
        DwarfIndex {
            kernel,
            programs: None,
            wanted: wanted.into_iter().filter(|probe| !is_glob(&probe.function)).collect(),
            max_probes: MAX_PROBES,
            most_armed: usize::MAX,
            known: Mutex::default(),
            walked: Mutex::default(),
        }
    }

    /// Sets the limits for globs over functions: the user's and the kernel module's.
    pub fn with_max_probes(self, max_probes: usize, most_armed: usize) -> DwarfIndex {
        DwarfIndex { max_probes, most_armed, ..self }
    }

    /// Adds the programs that the descriptions of a run name.
    pub fn with_programs(self, programs: Arc<Programs>) -> DwarfIndex {
        DwarfIndex { programs: Some(programs), ..self }
    }

    /// Looks up the given function together with all wanted ones, unless that has been done.
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
            .flat_map(|(module, names)| functions::named(self.kernel.image(module), names))
            .collect();
        let mut known = lock(&self.known);
        for function in found {
            self.remark(&function);
            known.insert((function.image, function.name.clone()), Arc::new(function));
        }
    }

    fn image(&self, function: &ImageFunction) -> Image<'_> {
        Image::new(&*self.kernel, function.image)
    }

    fn sites(&self, function: &ImageFunction, boundary: Boundary) -> Option<FunctionSites> {
        functions::sites(self.image(function), function, boundary)
    }

    fn remark(&self, function: &ImageFunction) {
        let image = self.image(function).name();
        for remark in function.known.dropped.remarks() {
            self.kernel.remark(format!("{image}: {}: {remark}", function.name));
        }
    }

    fn found(&self, modules: &[ModuleId], function: &str) -> Vec<Arc<ImageFunction>> {
        let known = lock(&self.known);
        let image = |module: &ModuleId| (ImageId::Kernel(*module), function.to_owned());
        modules.iter().filter_map(|module| known.get(&image(module)).cloned()).collect()
    }

    /// Returns all functions that match a glob: inlined ones, and those that fbt can probe.
    fn names_matching(&self, modules: &[ModuleId], pattern: &str) -> Vec<String> {
        let glob = Pattern::new(pattern);
        // Rust functions have names like `eq<[u8]>`.
        let matches = |name: &str| glob.matches(name) || name == pattern;
        self.kernel.ensure_indexed(modules, &[]);
        let of_module = |module: &ModuleId| functions::names(self.kernel.image(*module), matches);
        let mut names: Vec<String> = modules.par_iter().flat_map_iter(of_module).collect();
        names.par_sort_unstable();
        names.dedup();
        names
    }

    /// Refuses a glob that matches too much, without a walk over debug information: counts out-of-line
    /// functions, each of which is at least one probe, and functions in the cached index of the kernel
    /// proper.
    fn refuse_early(
        &self,
        modules: &[ModuleId],
        pattern: &str,
        boundary: Boundary,
    ) -> Result<(), Box<Diagnostic>> {
        let glob = Pattern::new(pattern);
        let own = |module: ModuleId| {
            functions::own_names(self.kernel.image(module)).filter(|name| glob.matches(name)).count()
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
            let points =
                |name| index.function(name).map_or(0, |known| functions::points(&known, boundary).len());
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

    /// Returns all functions that match a glob, by name. They are counted before any address is resolved to a name.
    fn glob(
        &self,
        modules: &[ModuleId],
        pattern: &str,
        boundary: Boundary,
    ) -> Result<Vec<FunctionSites>, Box<Diagnostic>> {
        self.refuse_early(modules, pattern, boundary)?;
        let names = self.names_matching(modules, pattern);
        let mut found: Vec<ImageFunction> = modules
            .par_iter()
            .flat_map_iter(|module| functions::among(self.kernel.image(*module), &names))
            .collect();
        found.par_sort_by(|one, other| one.name.cmp(&other.name).then(one.image.cmp(&other.image)));
        let count: usize =
            found.iter().map(|found| found.points(boundary).len() + found.out_of_line.len()).sum();
        if count > self.max_probes.min(self.most_armed) {
            let functions = names.len();
            return Err(Box::new(self.too_many(pattern, refusals::Count::Exact { count, functions })));
        }
        found.iter().for_each(|found| self.remark(found));
        let answer: Vec<FunctionSites> =
            found.par_iter().filter_map(|found| self.sites(found, boundary)).collect();
        if answer.is_empty() {
            return Err(Box::new(refusals::nothing_inlined(&self.kernel, modules, pattern)));
        }
        Ok(answer)
    }
}

impl SiteIndex for DwarfIndex {
    fn in_space(&self, space: Space) -> Option<Box<dyn SiteIndex + '_>> {
        let programs = self.programs.as_deref()?;
        Some(Box::new(ProgramSites::new(programs, space, self.max_probes)))
    }

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
        // Without the debug information of the kernel proper, an out-of-line instance is not the complete answer.
        if modules.contains(&ModuleId::PROPER)
            && self.kernel.layout(ModuleId::PROPER).is_none()
            && found.iter().all(|found| found.image == ImageId::Kernel(ModuleId::PROPER))
        {
            return Err(Box::new(no_debug_information(
                &self.kernel,
                ModuleId::PROPER,
                function,
                Missing::Copies { out_of_line: !found.is_empty() },
            )));
        }
        let answer: Vec<FunctionSites> =
            found.iter().filter_map(|found| self.sites(found, boundary)).collect();
        if answer.is_empty() {
            let known: Vec<&Known> = found.iter().map(|found| &found.known).collect();
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
        line_sites::line_sites(&self.kernel, module, function, line)
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // The data under the lock is only ever added to: it is valid even after a panic in another thread.
    mutex.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
}
