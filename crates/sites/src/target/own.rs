//! sites/target/own.rs: whether the files under a sysroot belong to the running kernel.

use kinst_base::image::ModuleId;
use std::path::Path;

use super::kernel::Kernel;
use kinst_base::diag::{Diagnostic, tags};
use kinst_debuginfo::{BuildId, Root};

impl Kernel {
    /// Returns the running kernel if its files are under `path`; else the kernel of the files under `path`.
    pub fn running_below(path: &Path) -> Result<Kernel, Box<Diagnostic>> {
        let root = Root::sysroot_of_running(path).map_err(|error| Box::new(error.diagnostic()))?;
        let kernel = Kernel::new(root.clone());
        if !kernel.is_build_that_runs() {
            return Ok(kernel);
        }
        let kernel = Kernel::new(root.as_running());
        kernel.modules();
        Ok(kernel)
    }

    /// Whether the files of a sysroot belong to the running kernel: one of them has its build id or, if build
    /// ids are unknown, the release is the same.
    pub(super) fn is_build_that_runs(&self) -> bool {
        let ids = self.ids_of_files();
        match BuildId::of_running_kernel() {
            Some(running) if !ids.is_empty() => ids.contains(&running),
            _ => self.release() == kinst_os::release(),
        }
    }

    /// Returns the build ids of the kernel proper's files.
    fn ids_of_files(&self) -> Vec<BuildId> {
        let files = [self.debug(ModuleId::PROPER), self.binary(ModuleId::PROPER)];
        files.into_iter().flatten().filter_map(|image| image.build_id().cloned()).collect()
    }

    /// Refuses to trace with the files of another kernel than the running one, whose types and addresses differ.
    pub fn require_running(&self, sysroot: &Path) -> Result<(), Box<Diagnostic>> {
        if self.is_running() {
            return Ok(());
        }
        let (root, release) = (sysroot.display(), kinst_os::release());
        let of = |id: &BuildId| format!(", build id {id}");
        let there = self.ids_of_files().first().map(of).unwrap_or_default();
        let here = BuildId::of_running_kernel().as_ref().map(of).unwrap_or_default();
        Err(Box::new(
            Diagnostic::error(tags::DEBUGINFO, format!("the files under {root} do not belong to the running kernel"))
                .note(format!("under {root}: {}{there}", self.release()))
                .note(format!("running: {release}{here}"))
                .help("with -e, a program is compiled for the other kernel, and -l lists its probes; without --sysroot, the running kernel's own files are used"),
        ))
    }
}
