//! sites/target/set.rs: a kernel as a set of images: the kernel proper and its modules.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

use kinst_base::diag::Diagnostic;
use kinst_base::image::{ImageId, ModuleId};
use kinst_debuginfo::{ElfFile, Reference};
use kinst_dwarf::Function;

use super::kernel::Kernel;
use crate::cache::image::ImageIndex;
use crate::cache::source::Source;
use crate::code::tables::Tables;
use crate::flow::callers::Callers;
use crate::image::naming::split_ordinal;
use crate::image::{Image, Images};
use crate::symtab::{Symbol, Symbols};

impl Kernel {
    /// One of the modules, or the kernel proper.
    pub fn image(&self, module: ModuleId) -> Image<'_> {
        Image::new(self, ImageId::Kernel(module))
    }

    /// Returns the functions that match a description's fields, which have no globs, in order of module and address.
    pub(crate) fn functions_named(&self, modules: &[ModuleId], function: &str) -> Vec<(ModuleId, Symbol)> {
        let (name, ordinal) = split_ordinal(function);
        // Symbols without debug information may come from the running kernel, which does not show them to all users.
        let knowing = if modules.len() > 1 { self.modules_knowing(name) } else { None };
        let may_have = |module: &&ModuleId| {
            knowing.as_ref().is_none_or(|knowing| knowing.contains(&module.index()))
                || self.directory().is_none_or(|directory| directory.id(module.index()).is_none())
        };
        let all = modules.iter().filter(may_have).flat_map(|module| {
            let symbols = self.symbols(*module);
            symbols.into_iter().flat_map(|symbols| symbols.named(name)).map(|symbol| (*module, *symbol))
        });
        match ordinal {
            Some(ordinal) => all.skip(ordinal - 1).take(1).filter(|(_, symbol)| !symbol.gone()).collect(),
            None => all.filter(|(_, symbol)| !symbol.gone()).collect(),
        }
    }
}

/// Returns the module of an image; all images of a kernel are modules.
fn module(image: ImageId) -> Option<ModuleId> {
    match image {
        ImageId::Kernel(module) => Some(module),
        ImageId::File(_) => None,
    }
}

impl Images for Kernel {
    fn name(&self, image: ImageId) -> &str {
        module(image).map_or("", |module| &self.modules()[module].name)
    }

    fn is_first(&self, image: ImageId) -> bool {
        module(image) == Some(ModuleId::PROPER)
    }

    fn is_shared(&self, function: &str) -> bool {
        Kernel::is_shared(self, function)
    }

    fn symbols(&self, image: ImageId) -> Option<&Symbols> {
        Kernel::symbols(self, module(image)?)
    }

    fn debug(&self, image: ImageId) -> Option<&ElfFile> {
        Kernel::debug(self, module(image)?)
    }

    fn layout(&self, image: ImageId) -> Option<&ElfFile> {
        Kernel::layout(self, module(image)?)
    }

    fn binary(&self, image: ImageId) -> Option<&ElfFile> {
        Kernel::binary(self, module(image)?)
    }

    fn index(&self, image: ImageId) -> Option<&Arc<ImageIndex>> {
        Kernel::index(self, module(image)?)
    }

    fn described(&self, _: ImageId, _: &dyn Fn(&str) -> bool) -> Option<BTreeMap<String, Function>> {
        None
    }

    fn cached_source(&self, image: ImageId) -> Option<Source> {
        let id = self.index_id(module(image)?)?;
        self.caches.places().find_map(|place| place.source(&id))
    }

    fn debug_package(&self) -> String {
        Kernel::debug_package(self)
    }

    fn callers(&self, image: ImageId) -> Option<Callers<'_>> {
        Kernel::callers(self, module(image)?)
    }

    fn tables(&self, image: ImageId) -> Option<&Tables> {
        Some(Kernel::tables(self, module(image)?))
    }

    fn reference(&self, image: ImageId, bytes: Range<u64>) -> Option<&Reference> {
        Kernel::reference(self, module(image)?, bytes)
    }

    fn run_time(&self, image: ImageId, address: u64) -> Option<u64> {
        Kernel::run_time(self, module(image)?, address)
    }

    fn is_linked_in_memory(&self, image: ImageId) -> bool {
        !self.is_first(image)
    }

    fn name_at(&self, address: u64) -> Option<(String, u64)> {
        self.symbolize(address).map(|found| (found.function, found.offset))
    }

    fn warn(&self, warning: Diagnostic) {
        Kernel::warn(self, warning);
    }

    fn remark(&self, remark: String) {
        Kernel::remark(self, remark);
    }
}
