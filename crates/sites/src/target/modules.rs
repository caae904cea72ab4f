//! sites/target/modules.rs: the modules of a kernel, with the data read for each.

use kinst_base::image::ModuleId;
use std::collections::HashMap;
use std::sync::{Arc, OnceLock};

use crate::cache::image::ImageIndex;
use crate::code::tables::Tables;
use crate::flow::marks::Linked;
use crate::symtab::Symbols;
use kinst_debuginfo::{ElfFile, ModuleFile, Reference, Searched};

/// The kernel proper first, then the modules by name.
pub struct Modules(pub(super) Vec<Module>);

impl Modules {
    pub fn ids(&self) -> impl ExactSizeIterator<Item = ModuleId> + Clone + use<> {
        (0..self.0.len() as u32).map(ModuleId)
    }

    pub fn iter(&self) -> impl ExactSizeIterator<Item = (ModuleId, &Module)> {
        self.ids().zip(&self.0)
    }

    /// Returns the ids as a list, for parallel work.
    pub fn all(&self) -> Vec<ModuleId> {
        self.ids().collect()
    }

    pub fn named(&self, name: &str) -> Option<ModuleId> {
        self.iter().find(|(_, module)| module.name == name).map(|(id, _)| id)
    }
}

impl std::ops::Index<ModuleId> for Modules {
    type Output = Module;

    fn index(&self, id: ModuleId) -> &Module {
        &self.0[id.index()]
    }
}

/// One module; the kernel proper counts as one.
pub struct Module {
    /// Name in probe descriptions; `vmlinux` for the kernel proper.
    pub name: String,
    pub(super) file: ModuleFile,
    /// Whether the file still matches the cached list.
    pub(super) as_listed: OnceLock<bool>,
    /// Allocated on first use: most modules are never read.
    read: OnceLock<Box<Read>>,
}

/// Data read for a module.
#[derive(Default)]
pub struct Read {
    pub(super) debug: OnceLock<Searched>,
    pub(super) binary: OnceLock<Option<ElfFile>>,
    pub(super) symbols: OnceLock<Option<Symbols>>,
    /// An index built by this process.
    pub(crate) index: OnceLock<Arc<ImageIndex>>,
    /// An index that existed before.
    pub(crate) cached_index: OnceLock<Option<Arc<ImageIndex>>>,
    pub(super) layout: OnceLock<Option<ElfFile>>,
    pub(super) linked: OnceLock<Linked>,
    /// Load addresses of a loaded module's sections, by name.
    pub(super) placement: OnceLock<HashMap<String, u64>>,
    pub(super) tables: OnceLock<Tables>,
    pub(super) references: OnceLock<Vec<(u64, Reference)>>,
}

impl Module {
    pub(super) fn new(file: ModuleFile) -> Module {
        Module { name: file.name.clone(), file, as_listed: OnceLock::new(), read: OnceLock::new() }
    }
}

impl std::ops::Deref for Module {
    type Target = Read;

    fn deref(&self) -> &Read {
        self.read.get_or_init(Box::default)
    }
}
