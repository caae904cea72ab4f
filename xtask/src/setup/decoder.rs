//! The kernel's own instruction decoder, from its source package: the module uses the running kernel's, tests this one.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};

use crate::apt::{Archive, Suite};
use crate::{cache, exec};

/// What tests compile it from, below the kernel's source tree.
const FOLDERS: [&str; 4] =
    ["tools/arch/x86/lib", "tools/arch/x86/include", "tools/arch/x86/tools", "tools/include"];

fn dir() -> Result<PathBuf> {
    Ok(cache::dir()?.join("decoder"))
}

pub fn is_there() -> Result<bool> {
    Ok(cache::is_complete(&dir()?))
}

/// Brings it, unless it is there. The caller holds the cache's lock.
pub fn ensure() -> Result<()> {
    if is_there()? {
        return Ok(());
    }
    cache::need_space(400 << 20, "the kernel's source package")?;
    let cache = cache::dir()?;
    let archive = Archive::open(&cache, Suite::Release)?;
    let meta = archive.need("linux-source")?;
    let package = meta.depends.into_iter().find(|name| name.starts_with("linux-source-"));
    let package = package.context("the archive's linux-source names no version")?;
    let downloads = cache.join("downloads");
    cache::fill(&dir()?, |dir| {
        let unpacked = dir.join("package");
        archive.unpack(std::slice::from_ref(&package), &downloads, &unpacked)?;
        extract(&unpacked.join("usr/src").join(format!("{package}.tar.xz")), &package, dir)?;
        cache::remove(&unpacked)
    })
}

fn extract(tar: &Path, top: &str, dir: &Path) -> Result<()> {
    let folders = FOLDERS.map(|folder| format!("{top}/{folder}"));
    let mut command = Command::new("tar");
    command.arg("-xJf").arg(tar).arg("-C").arg(dir).arg("--strip-components=1").args(folders);
    exec::run(&mut command)
}
