//! The release's kernel source, from its package.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};

use crate::apt::Archive;
use crate::kernels::Name;
use crate::{cache, exec};

/// The folders with the functions of a kernel.
const CODE: [&str; 13] = [
    "arch/x86", "block", "crypto", "drivers", "fs", "include", "init", "ipc", "kernel", "lib", "mm", "net",
    "security",
];

/// The source of all functions of the release's kernel; fetched if missing.
pub(crate) fn ensure() -> Result<PathBuf> {
    let cache = cache::dir()?;
    let dir = cache.join("source");
    let _lock = (!cache::is_complete(&dir)).then(cache::lock).transpose()?;
    if !cache::is_complete(&dir) {
        cache::need_space(2 << 30, "the kernel's source")?;
        let archive =
            Archive::open(&cache, Name::V6_1.suite(), super::kernel::purpose("the kernel's source"))?;
        cache::fill(&dir, |dir| unpack(&archive, dir, &CODE))?;
    }
    Ok(dir)
}

/// Unpacks these folders of the release's kernel source, or all of it if none is named, below `dir`.
pub(crate) fn unpack(archive: &Archive, dir: &Path, folders: &[impl AsRef<str>]) -> Result<()> {
    unpack_package(archive, &package(archive)?, dir, folders)
}

/// Like [`unpack`], of a package with a kernel's source.
pub(super) fn unpack_package(
    archive: &Archive,
    package: &str,
    dir: &Path,
    folders: &[impl AsRef<str>],
) -> Result<()> {
    fs::create_dir_all(dir)?;
    let unpacked = dir.join("package");
    archive.unpack(package, &[package.to_owned()], &unpacked)?;
    let tar = unpacked.join("usr/src").join(format!("{package}.tar.xz"));
    let mut command = Command::new("tar");
    command.arg("-xJf").arg(tar).arg("-C").arg(dir).arg("--strip-components=1");
    command.args(folders.iter().map(|folder| format!("{package}/{}", folder.as_ref())));
    exec::run(&mut command)?;
    cache::remove(&unpacked)
}

/// The package with the source of a kernel by the series of its version.
pub(crate) fn package_of(name: Name) -> String {
    format!("linux-source-{}", name.series())
}

/// The package with the release's kernel sources.
pub(crate) fn package(archive: &Archive) -> Result<String> {
    let meta = archive.need("linux-source")?;
    let package = meta.depends.into_iter().find(|name| name.starts_with("linux-source-"));
    package.context("the archive's linux-source does not name a version")
}
