//! The kernel's own instruction decoder, from its source package: the module uses the running kernel's decoder, and
//! tests use this one.

use std::path::PathBuf;

use anyhow::Result;

use crate::apt::{Archive, Purpose};
use crate::cache;
use crate::kernels::Name;
use crate::setup::source;

/// Its folders in the kernel's source tree, from which tests compile it.
const FOLDERS: [&str; 4] =
    ["tools/arch/x86/lib", "tools/arch/x86/include", "tools/arch/x86/tools", "tools/include"];

fn dir() -> Result<PathBuf> {
    Ok(cache::dir()?.join("decoder"))
}

pub(super) fn is_there() -> Result<bool> {
    Ok(cache::is_complete(&dir()?))
}

/// Fetches it if missing. The caller holds the cache's lock.
pub(super) fn ensure() -> Result<()> {
    if is_there()? {
        return Ok(());
    }
    cache::need_space(400 << 20, "the kernel's source package")?;
    let cache = cache::dir()?;
    let purpose = Purpose { brings: "the kernel's decoder of instructions", instead: super::WITHOUT_TESTS };
    let archive = Archive::open(&cache, Name::V6_1.suite(), purpose)?;
    cache::fill(&dir()?, |dir| source::unpack(&archive, dir, &FOLDERS))
}
