//! sites/target/unloaded.rs: modules that are not loaded and have a function, to suggest which one to load.

use super::kernel::Kernel;
use kinst_debuginfo::{ElfFile, ModuleFile};

impl Kernel {
    /// Returns a module that is not loaded and has a function of this name. Opens not all of a thousand
    /// files, but only modules that export the function, or whose name its name begins with, such as `xfs`
    /// for `xfs_iget`.
    pub(crate) fn unloaded_with(&self, function: &str) -> Option<String> {
        if !self.is_running() {
            return None;
        }
        let suspects = self.root.suspects(function).into_iter();
        let mut unloaded = suspects.filter(|file| self.modules().named(&file.name).is_none());
        unloaded.find(|file| has(file, function)).map(|file| file.name)
    }
}

fn has(file: &ModuleFile, function: &str) -> bool {
    let path = file.debug.as_ref().or(file.binary.as_ref());
    let mut found = false;
    if let Some(image) = path.and_then(|path| ElfFile::open(path).ok()) {
        // A damaged file has no names to offer.
        let _ = image.for_each_code_symbol(|symbol| found |= symbol.function && symbol.name == function);
    }
    found
}
