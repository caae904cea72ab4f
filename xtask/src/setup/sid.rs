//! A whole sid system in a folder, in which sid's own compiler builds modules for sid's kernel.

use anyhow::{Result, bail};

use crate::kernels::Kernel;

/// Makes the system for building modules of this kernel. The caller holds the cache's lock.
pub fn ensure(kernel: &Kernel) -> Result<()> {
    bail!("the build root for {} is not made yet", kernel.release)
}
