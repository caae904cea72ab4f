//! sites/listing/searched.rs: the images in which functions are looked up: those of a kernel, or the files of programs.

use crate::catalog::refusals;
use crate::image::Image;
use crate::memory::LiveText;
use crate::programs::{self, Meant, ProgramFile, Programs};
use crate::symtab::Symbol;
use crate::target::Kernel;
use crate::target::refusals::no_module;
use crate::uprobe::Nop5;
use kinst_base::diag::Diagnostic;
use kinst_base::glob::is_glob;
use kinst_base::image::{ImageId, ModuleId};
use kinst_base::probe::Site;
use kinst_base::space::Space;
use std::path::Path;
use std::sync::{Arc, OnceLock};

/// The images in which functions are looked up.
#[derive(Clone, Copy)]
pub enum Searched<'k> {
    /// A kernel and its modules.
    Kernel {
        /// The kernel.
        kernel: &'k Kernel,
        /// Reads the text in memory; with `None`, only files are used.
        live: Option<&'k dyn LiveText>,
    },
    /// The files that descriptions of programs name.
    Programs(&'k ProgramCode),
}

/// The files that some descriptions of programs name.
pub struct ProgramCode {
    programs: Arc<Programs>,
    named: Vec<NamedFiles>,
    test_nop5: Box<dyn Fn() -> Nop5>,
    nop5: OnceLock<Nop5>,
}

/// A description of functions of programs, split into its fields.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InPrograms {
    /// The whole description.
    pub description: String,
    /// The process, or all processes that map a file.
    pub space: Space,
    /// The files: `a.out`, `libc`, a path, or a glob.
    pub module: String,
    /// The function, without quotes; a glob or a source file, where several are permitted.
    pub function: String,
}

struct NamedFiles {
    of: InPrograms,
    meant: Vec<Meant>,
}

/// An image under the name that descriptions give it.
#[derive(Clone, Copy)]
pub(crate) struct Named<'k> {
    pub image: Image<'k>,
    pub space: Space,
    pub module: &'k str,
    /// The file of a program.
    file: Option<&'k ProgramFile>,
}

impl ProgramCode {
    /// Opens the files that descriptions name. `nop5` tests the kernel.
    pub fn new(
        programs: Arc<Programs>,
        all: Vec<InPrograms>,
        nop5: Box<dyn Fn() -> Nop5>,
    ) -> Result<ProgramCode, Box<Diagnostic>> {
        let named = all.into_iter().map(|of| {
            let meant = programs.meant(of.space, &of.module)?;
            Ok(NamedFiles { of, meant })
        });
        let named = named.collect::<Result<_, Box<Diagnostic>>>()?;
        Ok(ProgramCode { programs, named, test_nop5: nop5, nop5: OnceLock::new() })
    }

    /// Whether all files are those of processes.
    pub fn is_of_processes(&self) -> bool {
        self.named.iter().all(|named| named.of.space.process().is_some())
    }

    /// Returns how the debug information is installed.
    pub fn debug_package(&self) -> String {
        let first = self.named.iter().flat_map(|named| &named.meant).next();
        first.map(|meant| meant.file.image().all().debug_package()).unwrap_or_default()
    }

    /// Returns the paths of the files.
    pub fn paths(&self) -> impl Iterator<Item = &Path> {
        self.named.iter().flat_map(|named| &named.meant).map(|meant| meant.file.path())
    }

    /// Returns the kernel's behaviour at nops of five bytes.
    pub(super) fn nop5(&self) -> Nop5 {
        *self.nop5.get_or_init(&*self.test_nop5)
    }
}

impl<'k> Named<'k> {
    fn of_kernel(kernel: &'k Kernel, module: ModuleId) -> Named<'k> {
        let image = kernel.image(module);
        Named { image, space: Space::Kernel, module: image.name(), file: None }
    }

    /// Returns the key by which the types of the image are looked up.
    pub(super) fn types(&self) -> String {
        self.file.map_or_else(|| self.module.to_owned(), ProgramFile::key)
    }

    /// Completes a site of the image.
    pub(super) fn site(&self, site: Site) -> Site {
        match self.space {
            Space::Kernel => site,
            space => Site { space, module: self.module.to_owned(), ..site },
        }
    }

    /// Returns the functions of C++ and Rust that a name means.
    pub(super) fn of_paths(&self, function: &str) -> Vec<Symbol> {
        let meant = self.file.map(|file| file.meant(function)).unwrap_or_default();
        meant.iter().map(|(symbol, _)| *symbol).collect()
    }
}

impl<'k> Searched<'k> {
    /// Returns the images that a description means, and its function.
    pub(super) fn meant(self, description: &str) -> Result<(Vec<Named<'k>>, String), Box<Diagnostic>> {
        match self {
            Searched::Kernel { kernel, .. } => {
                let (module, function) = split(description);
                let modules = kernel.modules_matching(module);
                if modules.is_empty() {
                    return Err(Box::new(no_module(kernel, module)));
                }
                let named = modules.into_iter().map(|module| Named::of_kernel(kernel, module));
                Ok((named.collect(), function.to_owned()))
            }
            Searched::Programs(code) => {
                let found = code.named.iter().find(|named| named.of.description == description);
                let Some(NamedFiles { of, meant }) = found else {
                    return Err(Box::new(refusals::one_function(description)));
                };
                let named = meant.iter().map(|meant| Named {
                    image: meant.file.image(),
                    space: of.space,
                    module: &meant.module,
                    file: Some(&meant.file),
                });
                Ok((named.collect(), of.function.clone()))
            }
        }
    }

    /// Returns all images with the code of a source file that a pattern names.
    pub(super) fn with_sources(self, pattern: &str) -> Result<(Vec<Named<'k>>, String), Box<Diagnostic>> {
        match self {
            Searched::Kernel { kernel, .. } => {
                let all = kernel.modules().all().into_iter().map(|module| Named::of_kernel(kernel, module));
                Ok((all.collect(), pattern.to_owned()))
            }
            Searched::Programs(_) => self.meant(pattern),
        }
    }

    /// Returns the module of a kernel whose name is the whole pattern.
    pub(super) fn module(self, pattern: &str) -> Option<Named<'k>> {
        let Searched::Kernel { kernel, .. } = self else { return None };
        let module = match pattern {
            "kernel" => Some(ModuleId::PROPER),
            name => kernel.modules().named(name),
        };
        Some(Named::of_kernel(kernel, module?))
    }

    /// Returns the functions with a name, by image and address.
    pub(super) fn functions_named(self, images: &[Named<'k>], function: &str) -> Vec<(Named<'k>, Symbol)> {
        match self {
            Searched::Kernel { kernel, .. } => {
                let found = kernel.functions_named(&modules(images), function).into_iter();
                found.map(|(module, symbol)| (Named::of_kernel(kernel, module), symbol)).collect()
            }
            Searched::Programs(_) => {
                let in_image = |named: &Named<'k>| {
                    let mut found = named.image.functions_named(function);
                    found.extend(named.of_paths(function));
                    found.sort_by_key(|symbol| symbol.address);
                    found.dedup_by_key(|symbol| symbol.address);
                    let named = *named;
                    found.into_iter().map(move |symbol| (named, symbol))
                };
                images.iter().flat_map(in_image).collect()
            }
        }
    }

    /// Returns the number of copies of a function, whether or not it also has out-of-line code.
    pub(super) fn times_inlined(self, images: &[Named<'k>], function: &str) -> u32 {
        match self {
            Searched::Kernel { kernel, .. } => kernel.copies(&modules(images), function),
            Searched::Programs(_) => {
                let copies = images.iter().filter_map(|named| {
                    let info = named.image.info()?.ok()?;
                    Some(info.copies(function).ok()?.len() as u32)
                });
                copies.sum()
            }
        }
    }

    /// No image has the function.
    pub(super) fn no_function(self, images: &[Named<'k>], function: &str) -> Diagnostic {
        match self {
            Searched::Kernel { kernel, .. } => refusals::no_function(kernel, &modules(images), function, ""),
            Searched::Programs(code) => {
                let files: Vec<&ProgramFile> = images.iter().filter_map(|named| named.file).collect();
                let space = images.first().map(|named| named.space).unwrap_or_default();
                programs::no_function(&files, function, code.programs.has_anonymous_code(space))
            }
        }
    }

    /// The instructions of a function are not available.
    pub(super) fn no_text(self, function: &str) -> Diagnostic {
        match self {
            Searched::Kernel { kernel, .. } => refusals::no_text(kernel, function, None),
            Searched::Programs(_) => refusals::unread_text(function),
        }
    }

    /// Returns how the debug information is installed.
    pub(super) fn debug_package(self, images: &[Named<'k>]) -> String {
        let of_programs = || images.first().map(|named| named.image.all().debug_package());
        match self {
            Searched::Kernel { kernel, .. } => kernel.debug_package(),
            Searched::Programs(_) => of_programs().unwrap_or_default(),
        }
    }

    /// Returns how a source file is named.
    pub(super) fn name_of_source(self) -> &'static str {
        match self {
            Searched::Kernel { .. } => {
                "name a file or folder relative to the root of the kernel source: fs/ext4/"
            }
            Searched::Programs(_) => {
                "name a file or folder as the compiler got it: a.out:src/main.c, a.out:src/"
            }
        }
    }

    /// Requires the name of a single function.
    pub(super) fn one_function(self, function: &str) -> Result<(), Box<Diagnostic>> {
        let one = !is_glob(function) && !function.is_empty();
        if one { Ok(()) } else { Err(Box::new(refusals::one_function(function))) }
    }
}

fn split(description: &str) -> (&str, &str) {
    if let Some((module, function)) = description.split_once('`') {
        return (module, function);
    }
    let mut fields = description.rsplit(':');
    let function = fields.next().unwrap_or_default();
    (fields.next().unwrap_or_default(), function)
}

fn modules(images: &[Named<'_>]) -> Vec<ModuleId> {
    let module = |named: &Named<'_>| match named.image.id() {
        ImageId::Kernel(module) => Some(module),
        ImageId::File(_) => None,
    };
    images.iter().filter_map(module).collect()
}
