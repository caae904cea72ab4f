//! The kernel's own instruction decoders, from its source packages: on x86 the module uses the running kernel's decoder,
//! and tests use this one; on arm64 tests compare the module's decoder with that of kprobes.

use std::path::PathBuf;

use anyhow::Result;

use crate::apt::{Archive, Purpose};
use crate::cache;
use crate::kernels::{Arch, Name};
use crate::setup::source;

/// Its folders in the kernel's source tree, from which tests compile it.
const FOLDERS: [&str; 4] =
    ["tools/arch/x86/lib", "tools/arch/x86/include", "tools/arch/x86/tools", "tools/include"];

/// The folders with the decoder of kprobes on arm64.
const ARM64: [&str; 2] = ["arch/arm64/kernel/probes", "arch/arm64/include/asm"];

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

/// The decoder of kprobes in a kernel of arm64; fetched if missing.
pub(crate) fn ensure_for_arm64(name: Name) -> Result<PathBuf> {
    let name = name.base(Arch::Arm64);
    let cache = cache::dir()?;
    let dir = cache.join(format!("decoder-arm64-{name}"));
    let _lock = (!cache::is_complete(&dir)).then(cache::lock).transpose()?;
    if !cache::is_complete(&dir) {
        cache::need_space(400 << 20, "the kernel's source package")?;
        let purpose = Purpose { brings: "the decoder of kprobes on arm64", instead: "leave arm64 out" };
        let archive = Archive::open(&cache, name.suite(), purpose)?;
        let package = source::package_of(name);
        cache::fill(&dir, |dir| source::unpack_package(&archive, &package, dir, &ARM64))?;
    }
    Ok(dir)
}
