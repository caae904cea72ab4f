//! Go's pprof: tests read dtrace's profiles with it.

use std::fs;
use std::path::PathBuf;

use anyhow::{Context, Result};

use crate::apt::{Purpose, Suite};
use crate::cache;
use crate::kernels::Arch;

fn dir(arch: Arch) -> Result<PathBuf> {
    Ok(cache::dir()?.join(match arch {
        Arch::Amd64 => "pprof",
        Arch::Arm64 => "pprof-arm64",
    }))
}

/// Whether the program for this machine exists.
pub(crate) fn is_there() -> Result<bool> {
    Ok(cache::is_complete(&dir(Arch::Amd64)?))
}

/// The program; fetched if missing.
pub(crate) fn need(arch: Arch) -> Result<PathBuf> {
    if !cache::is_complete(&dir(arch)?) {
        let _lock = cache::lock()?;
        ensure(arch)?;
    }
    Ok(dir(arch)?.join("pprof"))
}

/// Fetches it if missing; nothing else of Go stays in the cache. The caller holds the cache's lock.
pub(crate) fn ensure(arch: Arch) -> Result<()> {
    if cache::is_complete(&dir(arch)?) {
        return Ok(());
    }
    cache::need_space(500 << 20, "the package of Go")?;
    let cache = cache::dir()?;
    let purpose = Purpose { brings: "Go's pprof", instead: super::WITHOUT_TESTS };
    let archive = super::archive(arch, &cache, Suite::Host, purpose)?;
    let go = archive.need("golang-go")?.depends;
    let versioned = |name: &String| name.starts_with("golang-1.") && name.ends_with("-go");
    let package =
        go.into_iter().find(versioned).context("the archive's golang-go does not name a version")?;
    // golang-1.19-go has /usr/lib/go-1.19.
    let version = package.trim_start_matches("golang-").trim_end_matches("-go");
    let program = format!("usr/lib/go-{version}/pkg/tool/linux_{}/pprof", arch.as_str());
    cache::fill(&dir(arch)?, |dir| {
        let unpacked = dir.join("package");
        archive.unpack("pprof", std::slice::from_ref(&package), &unpacked)?;
        fs::rename(unpacked.join(&program), dir.join("pprof"))
            .with_context(|| format!("the package has no {program}"))?;
        cache::remove(&unpacked)
    })
}
