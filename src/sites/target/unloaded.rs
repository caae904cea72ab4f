//! sites/target/unloaded.rs: the functions of modules that are not loaded, for advice on which module to load.

use rayon::prelude::*;

use super::Kernel;
use crate::debuginfo::{Image, ModuleFile};
use crate::sites::kept::directory::hash;

/// The functions by hash: for a thousand modules it is one table, and a program may name many functions that do not
/// exist.
#[derive(Default)]
pub(in crate::sites) struct Unloaded {
    modules: Vec<String>,
    /// Hash of a function's name, and its module; sorted.
    functions: Vec<(u64, usize)>,
}

impl Unloaded {
    /// Reads the functions as far as that is possible without unpacking any module.
    fn read(files: &[ModuleFile]) -> Unloaded {
        let functions_of = |(at, file): (usize, &ModuleFile)| -> Vec<(u64, usize)> {
            let path = file.debug.as_ref().or(file.binary.as_ref());
            let plain = path.filter(|path| path.extension().is_some_and(|end| end == "ko" || end == "debug"));
            let mut functions = Vec::new();
            if let Some(image) = plain.and_then(|path| Image::open(path).ok()) {
                // A damaged file has no names to offer.
                let _ = image.for_each_code_symbol(|symbol| {
                    if symbol.function {
                        functions.push((hash(symbol.name), at));
                    }
                });
            }
            functions
        };
        let mut functions: Vec<(u64, usize)> =
            files.par_iter().enumerate().flat_map_iter(functions_of).collect();
        functions.par_sort_unstable();
        Unloaded { modules: files.iter().map(|file| file.name.clone()).collect(), functions }
    }

    fn module_with(&self, function: &str) -> Option<&str> {
        let name = hash(function);
        let first = self.functions.partition_point(|(known, _)| *known < name);
        let (_, module) = self.functions.get(first).filter(|(known, _)| *known == name)?;
        self.modules.get(*module).map(String::as_str)
    }
}

impl Kernel {
    /// A module that is not loaded and has a function of this name.
    pub(in crate::sites) fn unloaded_with(&self, function: &str) -> Option<&str> {
        if !self.is_running() {
            return None;
        }
        self.unloaded.get_or_init(|| Unloaded::read(&self.unloaded_files())).module_with(function)
    }
}
