//! knowledge/files.rs: the BTF, symbols and debug information of the running kernel, or of a sysroot.

use kinst_base::image::{KERNEL_PROPER, ModuleId};
use std::path::Path;
use std::sync::{Arc, OnceLock};

use super::symbols::{Kallsyms, Located};
use kinst_base::diag::Diagnostic;
use kinst_base::machine::Machine;
use kinst_base::probe::{Description, Fields, Site};
use kinst_debuginfo::{Bytes, ElfFile, read_shown};
use kinst_dwarf::variables::scope::{NoScope, Scope};
use kinst_sites::{Driven, ProbeCatalog as _, ProgramFile};

/// The files of one kernel. Each query opens only the files that it needs.
pub trait Files {
    /// The BTF of a module, or of the kernel proper.
    fn btf(&self, module: Option<&str>) -> Option<Bytes>;

    /// The modules in which a name without a module prefix is looked up.
    fn modules(&self) -> Vec<String>;

    /// Whether a module of this name is loaded; in a sysroot, installed.
    fn has_module(&self, name: &str) -> bool {
        self.modules().iter().any(|module| module == name)
    }

    /// The probes that a description names; empty if they cannot be determined.
    fn probes(&self, _description: &Description) -> Vec<Fields> {
        Vec::new()
    }

    /// The reason why a description matches nothing.
    fn unmatched(&self, _description: &Description) -> Option<Box<Diagnostic>> {
        None
    }

    /// The instructions that a kinst description names, each as an unambiguous site.
    fn instructions(&self, _description: &Fields) -> Result<Vec<Site>, Box<Diagnostic>> {
        Ok(Vec::new())
    }

    /// The variables in scope at the sites; one result for each, in order.
    fn scopes(&self, sites: &[Site]) -> Vec<Result<Scope, NoScope>> {
        let why = || NoScope::DebugInformation(self.without_types());
        sites.iter().map(|_| Err(why())).collect()
    }

    /// The architecture of the kernel.
    fn machine(&self) -> Machine {
        Machine::default()
    }

    /// The drivers' static probes that a description names.
    fn driven(&self, _description: &Description) -> Vec<Driven> {
        Vec::new()
    }

    /// A symbol of a module, of the kernel proper (`vmlinux`), or of any.
    fn symbol(&self, module: Option<&str>, name: &str) -> Option<Located>;

    /// The size of a variable in bytes, from the symbol table of its module's file; 0 if unknown.
    fn symbol_size(&self, _module: &str, _name: &str) -> u64 {
        0
    }

    /// The file with the debug information of a module, or of the kernel proper.
    fn debug(&self, module: &str) -> Option<&ElfFile>;

    /// A program or library, by the key of its types.
    fn program(&self, _key: &str) -> Option<Arc<ProgramFile>> {
        None
    }

    /// The address of a symbol in the file with the debug information of its module.
    fn linked(&self, symbol: &Located) -> Option<u64>;

    /// Advice for a kernel without any types.
    fn without_types(&self) -> String;
}

/// Opens the probes of a kernel: the running one, or a kernel in a sysroot.
pub(crate) type Open<'a> = Box<dyn Fn() -> Result<Arc<kinst_sites::Catalog>, Box<Diagnostic>> + 'a>;

/// The running kernel, or one whose files are under a sysroot.
pub struct Installed<'a> {
    open: Open<'a>,
    running: bool,
    catalog: OnceLock<Option<Arc<kinst_sites::Catalog>>>,
    kallsyms: OnceLock<Kallsyms>,
}

/// The directory with the BTF of the running kernel.
const BTF: &str = "/sys/kernel/btf";

impl<'a> Installed<'a> {
    /// `running`: `open` opens the running kernel, whose BTF is in sysfs.
    pub fn new(running: bool, open: Open<'a>) -> Installed<'a> {
        Installed { open, running, catalog: OnceLock::new(), kallsyms: OnceLock::new() }
    }

    /// Returns `None` if the kernel cannot be opened: it has no types, and the lookup of its probes reports
    /// the reason.
    fn catalog(&self) -> Option<&kinst_sites::Catalog> {
        self.catalog.get_or_init(|| (self.open)().ok()).as_deref()
    }

    fn kernel(&self) -> Option<&kinst_sites::Kernel> {
        self.catalog().map(kinst_sites::Catalog::kernel)
    }

    /// The opened kernel, and a module of it.
    fn place(&self, module: &str) -> Option<(&kinst_sites::Kernel, ModuleId)> {
        let kernel = self.kernel()?;
        let place = kernel.modules().named(module)?;
        Some((kernel, place))
    }

    fn image(&self, module: &str) -> Option<&ElfFile> {
        let (kernel, place) = self.place(module)?;
        kernel.debug(place).or_else(|| kernel.binary(place))
    }
}

impl Files for Installed<'_> {
    fn machine(&self) -> Machine {
        self.kernel().map_or_else(Machine::default, kinst_sites::Kernel::machine)
    }

    fn btf(&self, module: Option<&str>) -> Option<Bytes> {
        let module = module.unwrap_or(KERNEL_PROPER);
        if self.running && !module.contains('/') {
            return read_shown(&Path::new(BTF).join(module));
        }
        let image = self.image(module)?;
        // BTF that extends a base other than the kernel's BTF uses different type ids.
        if image.debug_section(".BTF.base").is_ok_and(|base| !base.is_empty()) {
            return None;
        }
        let bytes = image.debug_section(".BTF").ok()?;
        (!bytes.is_empty()).then(|| Bytes::Owned(bytes.into_owned()))
    }

    /// A sysroot has thousands of modules: a module there is opened only if it is named.
    fn modules(&self) -> Vec<String> {
        if !self.running {
            return Vec::new();
        }
        let entries = std::fs::read_dir(BTF).into_iter().flatten().flatten();
        let names = entries.filter_map(|entry| entry.file_name().into_string().ok());
        let mut names: Vec<String> = names.filter(|name| name != KERNEL_PROPER).collect();
        names.sort();
        names
    }

    fn has_module(&self, name: &str) -> bool {
        self.place(name).is_some()
    }

    fn probes(&self, description: &Description) -> Vec<Fields> {
        let Some(catalog) = self.catalog() else { return Vec::new() };
        if let Description::Fields(fields) = description
            && let Some(ends) = catalog.ends_of_functions(fields)
        {
            return ends;
        }
        let probes = catalog.matches(description).unwrap_or_default();
        probes.into_iter().map(|probe| probe.name).collect()
    }

    fn unmatched(&self, description: &Description) -> Option<Box<Diagnostic>> {
        match self.catalog()?.matches(description) {
            Ok(probes) => probes.is_empty().then(|| Box::new(kinst_sites::no_match(description))),
            Err(reason) => Some(reason),
        }
    }

    fn instructions(&self, description: &Fields) -> Result<Vec<Site>, Box<Diagnostic>> {
        match self.catalog() {
            Some(catalog) => catalog.instructions_named(description),
            // The lookup reports the error of opening the kernel.
            None => (self.open)().map(|_| Vec::new()),
        }
    }

    fn scopes(&self, sites: &[Site]) -> Vec<Result<Scope, NoScope>> {
        match self.catalog() {
            Some(catalog) => catalog.scopes(sites),
            None => {
                let why = || NoScope::DebugInformation(self.without_types());
                sites.iter().map(|_| Err(why())).collect()
            }
        }
    }

    fn driven(&self, description: &Description) -> Vec<Driven> {
        self.catalog().map(|catalog| catalog.driven(description)).unwrap_or_default()
    }

    fn symbol(&self, module: Option<&str>, name: &str) -> Option<Located> {
        if self.running {
            return self.kallsyms.get_or_init(Kallsyms::read).find(module, name);
        }
        let module = module.unwrap_or(KERNEL_PROPER);
        let found = self.image(module)?.symbol(name)?;
        Some(Located {
            module: module.to_owned(),
            name: name.to_owned(),
            address: found.address,
            bytes: found.size,
            function: found.function,
        })
    }

    fn symbol_size(&self, module: &str, name: &str) -> u64 {
        self.image(module).and_then(|image| image.symbol(name)).map_or(0, |found| found.size)
    }

    fn debug(&self, module: &str) -> Option<&ElfFile> {
        let (kernel, place) = self.place(module)?;
        kernel.debug(place)
    }

    fn program(&self, key: &str) -> Option<Arc<ProgramFile>> {
        self.catalog()?.program(key)
    }

    fn linked(&self, symbol: &Located) -> Option<u64> {
        if !self.running {
            return Some(symbol.address);
        }
        let image = self.debug(&symbol.module)?;
        if symbol.module != KERNEL_PROPER {
            return Some(image.symbol(&symbol.name)?.address);
        }
        // KASLR moves the kernel as a whole when it is loaded.
        let running = self.kallsyms.get_or_init(Kallsyms::read).find(Some(&symbol.module), "_stext")?;
        let moved = running.address.wrapping_sub(image.symbol("_stext")?.address);
        Some(symbol.address.wrapping_sub(moved))
    }

    fn without_types(&self) -> String {
        let package = self.kernel().map(kinst_sites::Kernel::debug_package).unwrap_or_default();
        match self.running {
            true => format!("the kernel has neither BTF ({BTF}/vmlinux) nor debug information; {package}"),
            false => format!("the sysroot has no vmlinux with BTF or debug information; {package}"),
        }
    }
}
