//! The kernel's own instruction decoder, from its source package: the module uses the running kernel's, tests this one.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};

use crate::apt::{Archive, Purpose};
use crate::kernels::Name;
use crate::{cache, exec};

/// The folders that tests compile it from, below the kernel's source tree.
const FOLDERS: [&str; 4] =
    ["tools/arch/x86/lib", "tools/arch/x86/include", "tools/arch/x86/tools", "tools/include"];

fn dir() -> Result<PathBuf> {
    Ok(cache::dir()?.join("decoder"))
}

pub fn is_there() -> Result<bool> {
    Ok(cache::is_complete(&dir()?))
}

/// Fetches it, unless it is there. The caller holds the cache's lock.
pub fn ensure() -> Result<()> {
    if is_there()? {
        return Ok(());
    }
    cache::need_space(400 << 20, "the kernel's source package")?;
    let cache = cache::dir()?;
    let purpose = Purpose { brings: "the kernel's decoder of instructions", instead: super::WITHOUT_TESTS };
    let archive = Archive::open(&cache, Name::V6_1.suite(), purpose)?;
    cache::fill(&dir()?, |dir| source(&archive, dir, &FOLDERS))
}

/// Unpacks these folders of the release's kernel source, or all of it if none is named, below `dir`.
pub fn source(archive: &Archive, dir: &Path, folders: &[impl AsRef<str>]) -> Result<()> {
    let package = package(archive)?;
    fs::create_dir_all(dir)?;
    let unpacked = dir.join("package");
    archive.unpack(&package, std::slice::from_ref(&package), &unpacked)?;
    let tar = unpacked.join("usr/src").join(format!("{package}.tar.xz"));
    let mut command = Command::new("tar");
    command.arg("-xJf").arg(tar).arg("-C").arg(dir).arg("--strip-components=1");
    command.args(folders.iter().map(|folder| format!("{package}/{}", folder.as_ref())));
    exec::run(&mut command)?;
    cache::remove(&unpacked)
}

/// The package with the release's kernel sources.
pub fn package(archive: &Archive) -> Result<String> {
    let meta = archive.need("linux-source")?;
    let package = meta.depends.into_iter().find(|name| name.starts_with("linux-source-"));
    package.context("the archive's linux-source names no version")
}
