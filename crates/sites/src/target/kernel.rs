//! sites/target/kernel.rs: a kernel, with its modules, their symbols and their files.

use super::data::AllSymbols;
use super::modules::{Module, Modules};
use super::symbolized::Symbolized;
use crate::cache::Watch;
use crate::cache::directory::{Directory, hash};
use crate::cache::file::Cache;
use crate::code::tables::Tables;
use crate::flow::callers::Callers;
use crate::flow::marks::Linked;
use crate::symtab::{Role, Symbol, Symbols};
use kinst_base::diag::{Diagnostic, tags};
use kinst_base::glob::Pattern;
use kinst_base::image::{KERNEL_PROPER, ModuleId, is_kernel_proper};
use kinst_base::machine::Machine;
use kinst_debuginfo::{ElfFile, Error, ModuleFile, Reference, Root};
use rayon::prelude::*;
use std::collections::HashMap;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::sync::{Mutex, OnceLock};

/// A callback that reports what the program is waiting for.
pub(super) type Tell = Box<dyn Fn(&str) + Send + Sync>;

/// A kernel in which probes are looked up.
pub struct Kernel {
    pub(super) root: Root,
    modules: OnceLock<Modules>,
    kallsyms: OnceLock<HashMap<String, Symbols>>,
    all_symbols: OnceLock<AllSymbols>,
    slide: OnceLock<Option<u64>>,
    pub(crate) caches: Caches,
    /// Hashes of all names, sorted.
    namesakes: OnceLock<Vec<u64>>,
    /// Whether to search for suggestions when a function does not exist.
    pub(crate) advice: bool,
    /// Reports that debuginfod is queried; `None` if it is not used.
    pub(super) ask: Option<Tell>,
    /// Whether a server did not answer; then no other one is queried.
    pub(super) unanswered: AtomicBool,
    warnings: Mutex<Vec<Diagnostic>>,
    remarks: Mutex<Vec<String>>,
}

/// The caches on disk.
#[derive(Default)]
pub(crate) struct Caches {
    pub cache: Option<Cache>,
    /// Directories of installed indices, which are only read.
    pub brought: Vec<Cache>,
    pub watch: Option<Box<dyn Watch>>,
    pub directory: OnceLock<Directory>,
    pub sought: AtomicBool,
    pub digest: OnceLock<[u8; 8]>,
    /// File name of the cached list of modules.
    pub tree: OnceLock<String>,
    /// Whether all module files match that list.
    pub as_listed: OnceLock<bool>,
    /// Whether a file is known not to match.
    pub is_stale: AtomicBool,
}

impl Caches {
    /// Returns the directories that have indices, the user's first.
    pub(crate) fn places(&self) -> impl Iterator<Item = &Cache> {
        self.cache.iter().chain(&self.brought)
    }

    /// Returns the files and directories that change when an index is installed.
    pub(crate) fn stamped(&self) -> Vec<PathBuf> {
        let brought = self.brought.iter().map(|place| place.dir().to_owned());
        self.cache.iter().map(Cache::imported).chain(brought).collect()
    }
}

impl Kernel {
    /// Returns the running kernel, with the modules loaded now.
    pub fn running() -> Result<Kernel, Box<Diagnostic>> {
        let root = Root::running();
        let kernel = Kernel::new(root);
        kernel.modules();
        Ok(kernel)
    }

    /// Returns the kernel whose files are under `path`; `release` may be omitted if there is only one, or to
    /// take the newest.
    pub fn sysroot(path: &Path, release: Option<&str>) -> Result<Kernel, Box<Diagnostic>> {
        let root = Root::sysroot(path, release).map_err(|error| Box::new(error.diagnostic()))?;
        Ok(Kernel::new(root))
    }

    pub(super) fn new(root: Root) -> Kernel {
        Kernel {
            root,
            modules: OnceLock::new(),
            kallsyms: OnceLock::new(),
            all_symbols: OnceLock::new(),
            slide: OnceLock::new(),
            caches: Caches::default(),
            namesakes: OnceLock::new(),
            advice: true,
            ask: None,
            unanswered: AtomicBool::new(false),
            warnings: Mutex::default(),
            remarks: Mutex::default(),
        }
    }

    /// Enables the cache of inlined functions' indices.
    pub fn with_cache(self, cache: Option<Cache>, watch: Option<Box<dyn Watch>>) -> Kernel {
        Kernel { caches: Caches { cache, watch, ..Caches::default() }, ..self }
    }

    /// Also reads indices from these directories, where packages install them.
    pub fn with_brought(mut self, brought: Vec<Cache>) -> Kernel {
        self.caches.brought = brought;
        self
    }

    /// Uses a vmlinux that is not at its usual place; fails if that has no debug information of this kernel.
    pub fn with_vmlinux(self, path: Option<&Path>) -> Result<Kernel, Box<Diagnostic>> {
        let kernel = Kernel { root: self.root.with_vmlinux(path), ..self };
        let Some(path) = path else { return Ok(kernel) };
        let searched = kernel.debug_search(ModuleId::PROPER);
        if searched.found.is_some() {
            return Ok(kernel);
        }
        let without = || Error::NoDebugInformation { path: path.to_owned() };
        let why = searched.refused.first().map(Error::diagnostic);
        let why = why.unwrap_or_else(|| ElfFile::open(path).err().unwrap_or_else(without).diagnostic());
        Err(Box::new(why))
    }

    /// Adds debug information from the user's debuginfod servers; `say` reports what the program is waiting for.
    pub fn with_debuginfod(self, say: Tell) -> Kernel {
        Kernel { ask: Some(say), ..self }
    }

    /// Sets whether missing functions are searched for elsewhere and under other names.
    pub fn with_advice(self, advice: bool) -> Kernel {
        Kernel { advice, ..self }
    }

    pub(crate) fn cache(&self) -> Option<&Cache> {
        self.caches.cache.as_ref()
    }

    /// Returns the release, as in `uname -r`.
    pub fn release(&self) -> &str {
        self.root.release()
    }

    /// Whether it is this machine's kernel, not a sysroot's.
    pub fn is_running(&self) -> bool {
        self.root.is_running()
    }

    /// Returns the kernel proper first, then the modules by name.
    pub fn modules(&self) -> &Modules {
        self.modules.get_or_init(|| {
            let files = if self.is_running() { self.root.loaded_modules() } else { self.modules_of_tree() };
            let proper = ModuleFile::named(KERNEL_PROPER);
            Modules(std::iter::once(proper).chain(files).map(Module::new).collect())
        })
    }

    /// Returns the modules that match a description's field.
    pub fn modules_matching(&self, field: &str) -> Vec<ModuleId> {
        let field = if is_kernel_proper(field) { KERNEL_PROPER } else { field };
        let pattern = Pattern::new(field);
        self.modules().iter().filter(|(_, module)| pattern.matches(&module.name)).map(|(id, _)| id).collect()
    }

    /// Whether a file of the module exists, loaded or not.
    pub(crate) fn has_module_file(&self, name: &str) -> bool {
        match self.is_running() {
            true => self.root.modules().contains_key(name),
            false => self.modules().named(name).is_some(),
        }
    }

    /// Refuses a kernel that hides its addresses, since nothing could be armed.
    pub fn require_addresses(&self) -> Result<(), Box<Diagnostic>> {
        let known = self.symbols(ModuleId::PROPER).is_some_and(|symbols| {
            symbols
                .iter()
                .next()
                .is_some_and(|(_, symbol)| self.run_time(ModuleId::PROPER, symbol.address).is_some())
        });
        if known || !self.is_running() {
            return Ok(());
        }
        Err(Box::new(
            Diagnostic::error(tags::DEBUGINFO, "the kernel hides its addresses")
                .note("/proc/kallsyms has only zeros (kernel.kptr_restrict)")
                .help("run as root; if kptr_restrict is 2: sysctl -w kernel.kptr_restrict=1"),
        ))
    }

    /// Returns the function or variable that contains an address of the running kernel.
    pub fn symbolize(&self, address: u64) -> Option<Symbolized> {
        let found = |module: &str, symbols: &Symbols, symbol: &Symbol, offset: u64| Symbolized {
            module: module.to_owned(),
            function: symbols.name(symbol).to_owned(),
            offset,
        };
        if self.layout(ModuleId::PROPER).is_some()
            && let (Some(symbols), Some(slide)) = (self.symbols(ModuleId::PROPER), self.slide())
        {
            let linked = address.wrapping_sub(slide);
            if let Some(symbol) = symbols.containing(linked) {
                return Some(found(KERNEL_PROPER, symbols, symbol, linked - symbol.address));
            }
        }
        if let Some(variable) = self.all_symbols().variable(address) {
            return Some(variable);
        }
        self.kallsyms().iter().find_map(|(module, symbols)| {
            let symbol = symbols.containing(address)?;
            Some(found(module, symbols, symbol, address - symbol.address))
        })
    }

    /// Takes the problems that do not stop a run, such as debug files of another build. Each is reported once.
    pub fn take_warnings(&self) -> Vec<Diagnostic> {
        std::mem::take(&mut self.warnings.lock().unwrap_or_else(|poisoned| poisoned.into_inner()))
    }

    /// Takes the remarks for `-v`: what was left out, and why.
    pub fn take_remarks(&self) -> Vec<String> {
        std::mem::take(&mut self.remarks.lock().unwrap_or_else(|poisoned| poisoned.into_inner()))
    }

    pub(crate) fn warn(&self, warning: Diagnostic) {
        self.warnings.lock().unwrap_or_else(|poisoned| poisoned.into_inner()).push(warning);
    }

    pub(crate) fn remark(&self, remark: String) {
        self.remarks.lock().unwrap_or_else(|poisoned| poisoned.into_inner()).push(remark);
    }

    /// Returns the symbols of a module: from its file, with the file's addresses, or from the running kernel.
    pub fn symbols(&self, module: ModuleId) -> Option<&Symbols> {
        let this = &self.modules()[module];
        if this.symbols.get().is_none()
            && let Some(index) = self.index(module)
        {
            let symbols = this.symbols.get_or_init(|| Some(Symbols::stored(index.clone())));
            return symbols.as_ref();
        }
        let image = if this.symbols.get().is_none() { self.debug(module) } else { None };
        if this.symbols.get().is_none() && image.is_none() && self.is_running() {
            return self.kallsyms().get(&this.name);
        }
        let symbols = this.symbols.get_or_init(|| {
            // A kernel's boot image has no symbols.
            let image = image.or_else(|| self.binary(module).filter(|_| module != ModuleId::PROPER))?;
            Symbols::of_image(image, if module == ModuleId::PROPER { Role::Vmlinux } else { Role::Module })
                .map_err(|error| self.warn(error.warning()))
                .ok()
        });
        symbols.as_ref()
    }

    /// Reads the symbols of many modules at once.
    pub(crate) fn load_symbols(&self, modules: &[ModuleId]) {
        modules.par_iter().filter(|module| self.modules()[**module].symbols.get().is_none()).for_each(
            |module| {
                self.symbols(*module);
            },
        );
    }

    /// Converts an address of [`Kernel::symbols`] to the running kernel's; in a sysroot it is the file's.
    /// `None` if the kernel hides it.
    pub fn run_time(&self, module: ModuleId, address: u64) -> Option<u64> {
        if !self.is_running() {
            return Some(address);
        }
        match (self.layout(module), module) {
            (None, _) => Some(address).filter(|address| *address != 0),
            (Some(_), ModuleId::PROPER) => Some(address.wrapping_add(self.slide()?)),
            (Some(image), _) => {
                let section = image.section_at(address)?;
                Some(self.placement(module).get(&section.name)? + (address - section.address))
            }
        }
    }

    /// Returns the machine of the kernel.
    pub fn machine(&self) -> Machine {
        if self.is_running() {
            return Machine::HERE;
        }
        let image = self.layout(ModuleId::PROPER).or_else(|| self.binary(ModuleId::PROPER));
        image.and_then(ElfFile::machine).unwrap_or_default()
    }

    /// Returns the target of a call or jump in a module's file, by the addresses of its bytes in that file.
    pub(crate) fn reference(&self, module: ModuleId, bytes: Range<u64>) -> Option<&Reference> {
        let this = &self.modules()[module];
        let references = this.references.get_or_init(|| {
            let image = self.debug(module).filter(|image| image.has_code());
            image.or_else(|| self.binary(module)).map(ElfFile::references).unwrap_or_default()
        });
        let first = references.partition_point(|(field, _)| *field < bytes.start);
        references.get(first).filter(|(field, _)| *field < bytes.end).map(|(_, reference)| reference)
    }

    /// Returns the module's tables of special places in its text.
    pub(crate) fn tables(&self, module: ModuleId) -> &Tables {
        let this = &self.modules()[module];
        this.tables.get_or_init(|| {
            let image = self.debug(module).filter(|image| image.has_code());
            let code = image.or_else(|| self.binary(module));
            let names = self.layout(module).filter(|_| module == ModuleId::PROPER);
            code.map(|code| Tables::read(code, names.unwrap_or(code))).unwrap_or_default()
        })
    }

    /// Returns the module's functions as callers of inlined copies, with addresses of [`Kernel::symbols`];
    /// `None` without a file with readable code.
    pub fn callers(&self, module: ModuleId) -> Option<Callers<'_>> {
        let symbols = self.symbols(module)?;
        let (layout, binary) = match self.layout(module) {
            Some(image) if image.has_code() => (image, image),
            // Unpacking the whole kernel for data that its memory also shows takes longer than everything else.
            Some(_) if module == ModuleId::PROPER && self.is_running() && self.debug(module).is_none() => {
                return None;
            }
            Some(image) => (image, self.binary(module)?),
            None if self.is_running() => return None,
            None => (self.binary(module)?, self.binary(module)?),
        };
        let linked = self.modules()[module].linked.get_or_init(|| match binary.machine() {
            Some(_) => Linked::new(binary, layout),
            None => Linked::default(),
        });
        let code = linked.code(binary);
        (!code.is_empty()).then(|| Callers::new(symbols, code, &linked.marks))
    }

    /// Whether several functions of the kernel proper and all its modules have this name.
    pub fn is_shared(&self, name: &str) -> bool {
        if let Some(directory) = self.directory() {
            return directory.is_shared(hash(name));
        }
        // By hash: with 600,000 names in a sysroot, a map of strings takes longer than the walk. Two names
        // with the same hash are merely qualified needlessly.
        let hashes = self.namesakes.get_or_init(|| {
            let mut hashes: Vec<u64> = self
                .modules()
                .all()
                .into_par_iter()
                .flat_map_iter(|module| {
                    self.symbols(module).into_iter().flat_map(Symbols::iter).map(|(name, _)| hash(name))
                })
                .collect();
            hashes.par_sort_unstable();
            hashes
        });
        let wanted = hash(name);
        let first = hashes.partition_point(|hash| *hash < wanted);
        hashes[first..].iter().take_while(|hash| **hash == wanted).count() > 1
    }

    pub(super) fn kallsyms(&self) -> &HashMap<String, Symbols> {
        self.kallsyms.get_or_init(|| {
            // The file of the kernel proper has more symbols than kallsyms.
            Symbols::of_kallsyms(self.all_symbols().text(), self.layout(ModuleId::PROPER).is_none())
        })
    }

    pub(super) fn all_symbols(&self) -> &AllSymbols {
        self.all_symbols.get_or_init(|| {
            if self.is_running() { AllSymbols::of_running_kernel() } else { AllSymbols::default() }
        })
    }

    /// Returns the distance by which the kernel proper was moved at boot (KASLR).
    pub(super) fn slide(&self) -> Option<u64> {
        *self.slide.get_or_init(|| {
            let linked = self.symbols(ModuleId::PROPER)?.text_start()?;
            let running = running_text_start().filter(|address| *address != 0)?;
            Some(running.wrapping_sub(linked))
        })
    }

    pub(super) fn placement(&self, module: ModuleId) -> &HashMap<String, u64> {
        let this = &self.modules()[module];
        this.placement.get_or_init(|| {
            let dir = Path::new("/sys/module").join(&this.name).join("sections");
            let entries = std::fs::read_dir(dir).into_iter().flatten().flatten();
            entries
                .filter_map(|entry| {
                    let text = std::fs::read_to_string(entry.path()).ok()?;
                    let address = u64::from_str_radix(text.trim().trim_start_matches("0x"), 16).ok()?;
                    Some((entry.file_name().into_string().ok()?, address)).filter(|_| address != 0)
                })
                .collect()
        })
    }
}

/// The kernel generates its list of symbols while it is read, and `_stext` is near the start: the rest is not read.
fn running_text_start() -> Option<u64> {
    use std::io::BufRead;
    let file = std::fs::File::open("/proc/kallsyms").ok()?;
    for line in std::io::BufReader::new(file).lines() {
        let line = line.ok()?;
        if let Some(address) = line.strip_suffix(" T _stext") {
            return u64::from_str_radix(address, 16).ok();
        }
    }
    None
}
