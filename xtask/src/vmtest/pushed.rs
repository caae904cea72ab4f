//! Files that cases push into their guests.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use anyhow::Result;

use crate::kernels::Kernel;
use crate::kmod;
use crate::setup::{peers, pprof};
use crate::vm::programs;

/// The files of one kernel's guests, by their names in cases: each is made once in a run.
pub(super) struct Pushed {
    kernel: Kernel,
    /// Our programs for this machine, one of which makes the index.
    programs: Vec<PathBuf>,
    made: BTreeMap<PathBuf, PathBuf>,
}

impl Pushed {
    pub(super) fn new(kernel: Kernel, programs: Vec<PathBuf>) -> Pushed {
        Pushed { kernel, programs, made: BTreeMap::new() }
    }

    pub(super) fn get(&mut self, file: &Path) -> Result<PathBuf> {
        if let Some(made) = self.made.get(file) {
            return Ok(made.clone());
        }
        let made = make(file, &self.kernel, &self.programs)?;
        self.made.insert(file.to_owned(), made.clone());
        Ok(made)
    }
}

/// A file to push: unchanged, a program compiled from a C source, a module, the guest's kernel, or a tree of other
/// programs.
fn make(file: &Path, kernel: &Kernel, programs: &[PathBuf]) -> Result<PathBuf> {
    if file.ends_with("vmlinuz") {
        return Ok(kernel.vmlinuz.clone());
    }
    if file.ends_with(peers::FILE) {
        return peers::ensure(kernel.arch, kernel.name);
    }
    if file.ends_with("pprof") {
        return pprof::need(kernel.arch);
    }
    if file.ends_with(peers::PROGRAMS) {
        return peers::programs(kernel.arch);
    }
    if file.ends_with(programs::INDEX) {
        return programs::exported(kernel, programs);
    }
    if let (Some("ko"), Some(name)) = (file.extension().and_then(OsStr::to_str), file.file_stem()) {
        return kmod::build_beside(kernel, &name.to_string_lossy());
    }
    programs::from_source_for(kernel.arch, file, &[])
}
