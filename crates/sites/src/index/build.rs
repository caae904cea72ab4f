//! sites/index/build.rs: opens the cached indices of a kernel, and builds and caches missing ones.

use kinst_base::image::ModuleId;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use rayon::prelude::*;

use super::functions::name_of_clone;
use super::make;
use crate::cache::directory::{self, Contents, Digest, Directory, hash};
use crate::cache::file::Sealed;
use crate::cache::image::{self, ImageIndex};
use crate::image::info::READ_WHOLE_BELOW;
use crate::symtab::Symbols;
use crate::target::Kernel;
use kinst_debuginfo::{BuildId, ElfFile};

/// The result of [`Kernel::index_all`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Built {
    /// Number of modules with debug information.
    pub modules: usize,
    /// Number of modules whose indices existed already.
    pub kept: usize,
    /// Total number of names of inlined functions in all indices.
    pub functions: usize,
}

/// Indices are built without request if that takes seconds; on a slower machine, each query walks the debug
/// information.
const UNASKED_BUILD_BUDGET: Duration = Duration::from_secs(5);

/// Time after which the machine's speed can be estimated.
const SPEED_SAMPLE_AFTER: Duration = Duration::from_millis(200);

impl Kernel {
    /// Returns the cached index of a module, if there is one for exactly this file: built here or imported.
    pub fn index(&self, module: ModuleId) -> Option<&Arc<ImageIndex>> {
        let this = &self.modules()[module];
        let open = || self.open_index(module).map(Arc::new);
        this.index.get().or_else(|| this.cached_index.get_or_init(open).as_ref())
    }

    /// Opens the index of a module in the first directory that has it.
    pub(super) fn open_index(&self, module: ModuleId) -> Option<ImageIndex> {
        let id = self.index_id(module).filter(|_| self.caches.places().next().is_some())?;
        self.caches.places().find_map(|place| place.index(&id))
    }

    /// Builds all missing indices, however long it takes; `None` if they cannot be cached.
    pub fn index_all(&self) -> Option<Built> {
        self.cache().filter(|cache| cache.can_be_written())?;
        let all = self.modules().all();
        let missing = self.not_indexed(&all);
        let indices = || all.iter().filter_map(|module| self.index(*module));
        let kept = indices().count();
        self.build(&missing, None);
        self.write_directory(true);
        let functions = indices().map(|index| index.names().count()).sum();
        Some(Built { modules: indices().count(), kept, functions })
    }

    /// Returns the modules that may have any of these functions (or any function, if no names are given).
    /// First builds missing indices, unless that takes too long.
    pub(super) fn ensure_indexed(&self, modules: &[ModuleId], names: &[&str]) -> Vec<ModuleId> {
        if self.cache().is_none() {
            return modules.to_vec();
        }
        let knowing: Option<Vec<Vec<usize>>> = names.iter().map(|name| self.modules_knowing(name)).collect();
        let knowing = knowing.filter(|_| !names.is_empty()).map(|knowing| knowing.concat());
        let needed: Vec<ModuleId> = match &knowing {
            Some(knowing) => {
                modules.iter().copied().filter(|module| knowing.contains(&module.index())).collect()
            }
            None => modules.to_vec(),
        };
        let missing = self.not_indexed(&needed);
        let can_be_written = || self.cache().is_some_and(|cache| cache.can_be_written());
        let built =
            missing.is_empty() || can_be_written() && self.build(&missing, Some(UNASKED_BUILD_BUDGET));
        if built && knowing.is_none() {
            self.write_directory(modules.len() == self.modules().ids().len());
        }
        needed
    }

    /// Whether any of these modules may have a function, according to its symbols or the names in its debug
    /// information. A misspelt name is in neither, and is refused without building an index.
    pub(super) fn may_have(&self, modules: &[ModuleId], name: &str) -> bool {
        if self.cache().is_none() || self.directory().is_some() {
            return true;
        }
        let wanted = [name.to_owned()];
        modules.par_iter().any(|module| {
            let named = self.symbols(*module).is_some_and(|symbols| !symbols.instances(name).is_empty());
            named
                || match self.index(*module) {
                    Some(index) => index.function(name).is_some(),
                    None => {
                        self.debug(*module).is_some_and(|image| self.image(*module).may_know(image, &wanted))
                    }
                }
        })
    }

    /// Returns the sorted names of all functions of these modules that are or could be inlined.
    pub fn inlined_functions(&self, module: &str) -> Vec<String> {
        let modules = self.modules_matching(module);
        self.ensure_indexed(&modules, &[]);
        let mut names: Vec<String> =
            modules.into_iter().flat_map(|module| self.image(module).inline_names()).collect();
        names.sort_unstable();
        names.dedup();
        names
    }

    /// Returns the number of copies of a function in these modules, including those that cannot be traced.
    pub(crate) fn copies(&self, modules: &[ModuleId], function: &str) -> u32 {
        let wanted = [function.to_owned()];
        let in_module = |module: ModuleId| {
            if let Some(index) = self.index(module) {
                return index.function(function).map(|known| known.dropped.copies);
            }
            let image = self.debug(module).filter(|image| self.image(module).may_know(image, &wanted))?;
            let found = kinst_dwarf::find(image, &wanted, false).ok()?;
            Some(found.functions.iter().map(|function| function.copies.len() as u32).sum())
        };
        let knowing = self.modules_knowing(function);
        let may_know =
            |module: &ModuleId| knowing.as_ref().is_none_or(|knowing| knowing.contains(&module.index()));
        modules.iter().copied().filter(may_know).filter_map(in_module).sum()
    }

    /// Returns the modules that may have a function, inlined or not, or its clones; `None` if not all modules
    /// are known.
    pub(crate) fn modules_knowing(&self, function: &str) -> Option<Vec<usize>> {
        let knowing = self.directory()?.knowing(hash(name_of_clone(function)))?;
        let is_sure = if knowing.is_empty() {
            self.is_as_listed()
        } else {
            knowing.iter().all(|at| self.is_module_as_listed(*at))
        };
        is_sure.then_some(knowing)
    }

    /// Returns the directory of all modules, if the cached one matches these files.
    pub(crate) fn directory(&self) -> Option<&Directory> {
        let caches = &self.caches;
        if caches.is_stale.load(Ordering::Relaxed) {
            return None;
        }
        if caches.directory.get().is_some() || caches.sought.swap(true, Ordering::Relaxed) {
            return caches.directory.get();
        }
        let digest = self.digest();
        let file = self.cache()?.open(&directory_name(self.release(), digest), directory::KIND, &digest)?;
        Some(caches.directory.get_or_init(|| Directory::of(file)))
    }

    /// Returns the modules with debug information but without an index.
    fn not_indexed(&self, modules: &[ModuleId]) -> Vec<ModuleId> {
        let missing = modules.par_iter().filter(|module| self.index(**module).is_none());
        missing
            .filter(|module| self.debug(**module).is_some_and(|image| image.build_id().is_some()))
            .copied()
            .collect()
    }

    /// Builds the indices of these modules; returns `false` if it gave up.
    fn build(&self, modules: &[ModuleId], patience: Option<Duration>) -> bool {
        let size = |module: &ModuleId| (*module, self.debug(*module).map_or(0, ElfFile::debug_info_size));
        let mut sizes: Vec<(ModuleId, u64)> = modules.iter().map(size).collect();
        // Largest first, so that no thread idles at the end.
        sizes.sort_by_key(|(_, size)| std::cmp::Reverse(*size));
        let total = sizes.iter().map(|(_, size)| size).sum();
        let watch = self.caches.watch.as_deref();
        let pace = Pace {
            started: Instant::now(),
            total,
            done: AtomicU64::new(0),
            patience,
            stopped: AtomicBool::new(false),
        };
        if let Some(watch) = watch {
            watch.start(total);
        }
        let walked = |bytes: u64| {
            if let Some(watch) = watch {
                watch.advance(bytes);
            }
            pace.goes_on(bytes)
        };
        sizes.par_iter().for_each(|(module, _)| self.build_one(*module, &walked));
        if let Some(watch) = watch {
            watch.done();
        }
        !pace.stopped.load(Ordering::Relaxed)
    }

    /// Builds and caches the index of a module. Without the instructions, the exits of copies are unknown; as
    /// they may be available next time, such an index is only used in this run.
    fn build_one(&self, module: ModuleId, walked: &(dyn Fn(u64) -> bool + Sync)) {
        let Some(cache) = self.cache() else { return };
        let Some((id, bytes)) = make::index_of(self.image(module), walked) else { return };
        let this = &self.modules()[module];
        if self.callers(module).is_some()
            && let Err(cause) = cache.write(&image::file_name(id), &bytes)
        {
            self.remark(format!(
                "the index of {} cannot be cached in {}: {cause}",
                this.name,
                cache.dir().display()
            ));
        }
        let made = Sealed::made(bytes, image::KIND, id.bytes()).and_then(ImageIndex::of);
        if let Some(index) = made {
            this.index.get_or_init(|| Arc::new(index));
        }
    }

    /// `complete`: whether all modules that can have an index have one.
    fn write_directory(&self, complete: bool) {
        let Some(cache) = self.cache().filter(|cache| cache.can_be_written()) else { return };
        let modules = self.modules().all();
        let known_before = self.directory();
        if known_before.is_some() && !complete {
            return;
        }
        let names = modules.par_iter().flat_map_iter(|module| {
            let module = *module;
            self.symbols(module).into_iter().flat_map(|symbols| symbols.iter().map(|(name, _)| hash(name)))
        });
        let knows = complete.then(|| {
            let knows = modules.par_iter().flat_map_iter(|module| {
                let module = *module;
                let inlined = self.index(module).into_iter().flat_map(|index| index.names());
                let own = self.symbols(module).into_iter().flat_map(Symbols::iter);
                inlined
                    .chain(own.map(|(name, _)| name))
                    .map(move |name| (hash(name_of_clone(name)), module.index() as u32))
            });
            knows.collect()
        });
        let with_id = |module: &ModuleId| self.debug(*module).is_some() || self.index(*module).is_some();
        let id = |module: &ModuleId| self.index_id(*module).filter(|_| with_id(module));
        let ids = modules.iter().map(id).collect();
        let contents = Contents { names: names.collect(), ids, knows };
        let digest = self.digest();
        let Some(bytes) = Directory::write(&digest, contents) else { return };
        // Failures to cache files have been reported with the indices. A digest over changed files would be wrong.
        if !self.is_unanswered() && !self.caches.is_stale.load(Ordering::Relaxed) {
            let _ = cache.write(&directory_name(self.release(), digest), &bytes);
        }
        if let Some(file) = Sealed::made(bytes, directory::KIND, &digest) {
            self.caches.directory.get_or_init(|| Directory::of(file));
        }
    }

    /// Returns the build id of a module's debug file, or the one that this file would have, if it has an index.
    pub(crate) fn index_id(&self, module: ModuleId) -> Option<BuildId> {
        match self.caches.directory.get().filter(|_| self.is_module_as_listed(module.index())) {
            Some(directory) => directory.id(module.index()),
            None => self.file_id(module),
        }
    }

    /// Returns the build id of a module's debug file, or the one that this file would have.
    pub(super) fn file_id(&self, module: ModuleId) -> Option<BuildId> {
        match self.debug(module) {
            Some(image) => image.build_id().cloned(),
            None => self.build_id(module).or_else(|| self.id_of_file(module)),
        }
    }

    /// Returns the digest of all files that determine the contents of the directory.
    fn digest(&self) -> [u8; 8] {
        *self.caches.digest.get_or_init(|| {
            let of_module = |module: ModuleId| {
                let places = self.debug_places(module);
                let id = self.build_id(module).map(|id| id.bytes().to_vec()).unwrap_or_default();
                let own = Digest::new().with(self.modules()[module].name.as_bytes()).with(&id);
                places
                    .iter()
                    .fold(own, |digest, place| digest.with_file(place, self.seen(module, place)))
                    .value()
            };
            let modules: Vec<u64> = self.modules().all().into_par_iter().map(of_module).collect();
            let servers = self.servers().unwrap_or_default();
            let all = Digest::new().with(servers.as_bytes());
            let all = self.caches.stamped().iter().fold(all, |all, path| all.with_file(path, None));
            let all = modules.iter().fold(all, |all, module| all.with(&module.to_le_bytes()));
            all.value().to_le_bytes()
        })
    }
}

/// The progress of a build, and whether to continue.
struct Pace {
    started: Instant,
    total: u64,
    done: AtomicU64,
    patience: Option<Duration>,
    stopped: AtomicBool,
}

impl Pace {
    fn goes_on(&self, bytes: u64) -> bool {
        let done = self.done.fetch_add(bytes, Ordering::Relaxed) + bytes;
        let elapsed = self.started.elapsed();
        if let Some(patience) = self.patience
            && elapsed > SPEED_SAMPLE_AFTER
            && self.total > READ_WHOLE_BELOW
            && done < self.total / 2
        {
            let expected = elapsed.as_secs_f64() * self.total as f64 / done.max(1) as f64;
            if expected > patience.as_secs_f64() {
                self.stopped.store(true, Ordering::Relaxed);
            }
        }
        !self.stopped.load(Ordering::Relaxed)
    }
}

fn directory_name(release: &str, digest: [u8; 8]) -> String {
    format!("{release}-{:016x}.directory", u64::from_le_bytes(digest))
}
