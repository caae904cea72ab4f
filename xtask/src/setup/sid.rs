//! A whole sid system in a folder, in which sid's own compiler builds modules for sid's kernel.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Result, bail};

use crate::kernels::Kernel;

/// Makes the system for building modules of this kernel. The caller holds the cache's lock.
pub fn ensure(kernel: &Kernel) -> Result<()> {
    bail!("the build root for {} is not made yet", kernel.release)
}

pub fn in_build_root(root: &Path, _work: &Path) -> Result<Command> {
    let mut command = Command::new("chroot");
    command.arg(root).arg("make");
    Ok(command)
}

pub fn path_in_build_root(_root: &Path, path: &Path) -> PathBuf {
    path.into()
}
