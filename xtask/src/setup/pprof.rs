//! Go's pprof: tests read dtrace's profiles with it.

use std::fs;
use std::path::PathBuf;

use anyhow::{Context, Result};

use crate::apt::{Archive, Purpose, Suite};
use crate::cache;

fn dir() -> Result<PathBuf> {
    Ok(cache::dir()?.join("pprof"))
}

pub(crate) fn is_there() -> Result<bool> {
    Ok(cache::is_complete(&dir()?))
}

/// The program; fetched if missing.
pub(crate) fn need() -> Result<PathBuf> {
    if !is_there()? {
        let _lock = cache::lock()?;
        ensure()?;
    }
    Ok(dir()?.join("pprof"))
}

/// Fetches it if missing; nothing else of Go stays in the cache. The caller holds the cache's lock.
pub(crate) fn ensure() -> Result<()> {
    if is_there()? {
        return Ok(());
    }
    cache::need_space(500 << 20, "the package of Go")?;
    let cache = cache::dir()?;
    let purpose = Purpose { brings: "Go's pprof", instead: super::WITHOUT_TESTS };
    let archive = Archive::open(&cache, Suite::Host, purpose)?;
    let go = archive.need("golang-go")?.depends;
    let versioned = |name: &String| name.starts_with("golang-1.") && name.ends_with("-go");
    let package =
        go.into_iter().find(versioned).context("the archive's golang-go does not name a version")?;
    // golang-1.19-go has /usr/lib/go-1.19.
    let version = package.trim_start_matches("golang-").trim_end_matches("-go");
    let program = format!("usr/lib/go-{version}/pkg/tool/linux_amd64/pprof");
    cache::fill(&dir()?, |dir| {
        let unpacked = dir.join("package");
        archive.unpack("pprof", std::slice::from_ref(&package), &unpacked)?;
        fs::rename(unpacked.join(&program), dir.join("pprof"))
            .with_context(|| format!("the package has no {program}"))?;
        cache::remove(&unpacked)
    })
}
