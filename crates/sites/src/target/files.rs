//! sites/target/files.rs: the files of a module: where they are searched for, and which one is used.

use kinst_base::image::ModuleId;
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;

use super::kernel::{Kernel, Tell};
use kinst_debuginfo::{BuildId, ElfFile, Searched, Stamp, bootable, debuginfod};
use kinst_host::distribution::Family;

impl Kernel {
    /// Returns the file with the debug information of a module.
    pub fn debug(&self, module: ModuleId) -> Option<&ElfFile> {
        self.debug_search(module).found.as_ref()
    }

    /// Returns the file with the debug information of a module, and the places where it was searched for.
    pub fn debug_search(&self, module: ModuleId) -> &Searched {
        let this = &self.modules()[module];
        this.debug.get_or_init(|| {
            let wanted = self.build_id(module);
            let mut searched = match module {
                ModuleId::PROPER => kinst_debuginfo::vmlinux_debug(&self.root, wanted.as_ref()),
                _ => kinst_debuginfo::module_debug(&self.root, &this.file, wanted.as_ref()),
            };
            let of = match module {
                ModuleId::PROPER if self.is_running() => "the running kernel".to_owned(),
                ModuleId::PROPER => format!("the kernel {}", self.release()),
                _ => this.name.clone(),
            };
            if let Some(say) = self.asks().filter(|_| searched.found.is_none())
                && !searched.ask(wanted.or_else(|| self.id_of_file(module)).as_ref(), &of, &**say)
            {
                self.unanswered.store(true, Ordering::Relaxed);
            }
            searched.refused.iter().for_each(|error| self.warn(error.warning()));
            if let Some(Err(error)) = searched.found.as_ref().and_then(ElfFile::alternate) {
                self.warn(error.warning());
            }
            searched
        })
    }

    /// Returns the file whose addresses a module's symbols use: the one with its debug information or,
    /// without it, the layout from the index. `None` if the symbols are those of the running kernel, or of
    /// the loaded module.
    pub(crate) fn layout(&self, module: ModuleId) -> Option<&ElfFile> {
        let of_index = || {
            let index = self.index(module)?;
            Some(index.layout(self.index_id(module)?))
        };
        self.debug(module).or_else(|| self.modules()[module].layout.get_or_init(of_index).as_ref())
    }

    /// Returns the report for server queries, if the user names any servers and they answer.
    fn asks(&self) -> Option<&Tell> {
        let say = self.ask.as_ref().filter(|_| self.servers().is_some())?;
        (!self.is_unanswered()).then_some(say)
    }

    /// Returns the servers that may have missing files.
    pub(crate) fn servers(&self) -> Option<String> {
        self.ask.as_ref().and_then(|_| debuginfod::servers())
    }

    /// Whether something may be missing only because a server was not reached.
    pub(crate) fn is_unanswered(&self) -> bool {
        self.unanswered.load(Ordering::Relaxed)
    }

    /// Returns the build id of a file without debug information, for a server or an index; a sysroot has no
    /// other source of it.
    pub(crate) fn id_of_file(&self, module: ModuleId) -> Option<BuildId> {
        if self.is_running() { None } else { self.binary(module)?.build_id().cloned() }
    }

    /// Returns the build id that a file must have; `None` in a sysroot.
    pub fn build_id(&self, module: ModuleId) -> Option<BuildId> {
        match module {
            _ if !self.is_running() => None,
            ModuleId::PROPER => BuildId::of_running_kernel(),
            _ => BuildId::of_loaded_module(&self.modules()[module].name),
        }
    }

    /// Returns the files from which [`Kernel::debug`] and [`Kernel::binary`] choose.
    pub(crate) fn debug_places(&self, module: ModuleId) -> Vec<PathBuf> {
        let wanted = self.build_id(module);
        match module {
            ModuleId::PROPER => {
                let mut places = kinst_debuginfo::vmlinux_places(&self.root, wanted.as_ref());
                places.extend(self.root.bootable_candidates());
                places
            }
            _ => kinst_debuginfo::module_places(&self.root, &self.modules()[module].file, wanted.as_ref()),
        }
    }

    /// Returns the stamp of one of these files when it was discovered; `None` if it was only named.
    pub(crate) fn seen(&self, module: ModuleId, path: &Path) -> Option<Stamp> {
        self.modules()[module].file.seen(path)
    }

    /// Returns the loaded file of the module, with its instructions, and with its symbols if no file has
    /// debug information. For the kernel proper, this is the unpacked boot image, which has no symbols.
    pub fn binary(&self, module: ModuleId) -> Option<&ElfFile> {
        let this = &self.modules()[module];
        let image = this.binary.get_or_init(|| {
            if module == ModuleId::PROPER {
                let wanted = self.build_id(module);
                let is_it = |image: &ElfFile| wanted.is_none() || image.build_id() == wanted.as_ref();
                let kernels = self.root.bootable_candidates().into_iter();
                return kernels.filter_map(|path| bootable::kernel(&path)).find(is_it);
            }
            let searched = kinst_debuginfo::module_binary(&this.file, self.build_id(module).as_ref());
            searched.refused.iter().for_each(|error| self.warn(error.warning()));
            searched.found
        });
        image.as_ref()
    }

    /// Returns the command that installs the debug information on this distribution.
    pub fn debug_package(&self) -> String {
        let release = self.release();
        let text = std::fs::read_to_string(self.root.path("/etc/os-release")).unwrap_or_default();
        let id = text.lines().find_map(|line| line.strip_prefix("ID=")).unwrap_or("").trim_matches('"');
        if !Family::of(&text).has_kernel(release) && Family::of(&text) != Family::Unknown {
            return "the kernel is not one of this distribution's packages: use the vmlinux of its build (--vmlinux FILE)".to_owned();
        }
        match id {
            "ubuntu" => format!("install it: apt install linux-image-{release}-dbgsym"),
            "fedora" | "rhel" | "centos" => {
                format!("install it: dnf debuginfo-install kernel-core-{release}")
            }
            "arch" => "fetch it with debuginfod, or install a kernel with its vmlinux".to_owned(),
            _ => format!("install it: apt install linux-image-{release}-dbg"),
        }
    }
}
