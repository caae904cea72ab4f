//! Kernels of arm64 with their debug files, for what works on a file: nothing of them runs here.

use std::fmt;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::PathBuf;

use anyhow::{Context, Result};

use super::kernel;
use crate::apt::{Archive, Suite};
use crate::cache;

/// A kernel of arm64 by the suite that it comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, clap::ValueEnum)]
pub enum Name {
    /// The Debian release that this machine runs
    Stable,
    /// Debian's development suite
    Sid,
}

/// One kernel's files.
pub struct Foreign {
    pub release: String,
    /// A folder with boot/, lib/modules/ and usr/lib/debug/, as `dtrace --sysroot` expects it.
    sysroot: PathBuf,
}

impl Foreign {
    /// The uncompressed kernel with its debug information.
    pub fn vmlinux(&self) -> PathBuf {
        self.sysroot.join(format!("usr/lib/debug/boot/vmlinux-{}", self.release))
    }
}

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Name::Stable => "stable",
            Name::Sid => "sid",
        })
    }
}

/// The kernel of that name; fetched unless it is there.
pub fn ensure(name: Name, update: bool) -> Result<Foreign> {
    const FLAVOUR: &str = "cloud-arm64";
    let link = slot(name)?;
    if let Some(found) = find(name)?.filter(|_| !update) {
        return Ok(found);
    }
    let _lock = cache::lock()?;
    cache::need_space(6 << 30, "a kernel of arm64 with its debug files")?;
    let cache = cache::dir()?;
    let suite = if name == Name::Sid { Suite::Sid } else { Suite::Release };
    let archive = Archive::foreign(&cache, suite, "arm64")?;
    let release = kernel::newest(&archive, FLAVOUR, false)?;
    let sysroot = cache.join("kernels").join(&release.name);
    if !cache::is_complete(&sysroot) {
        cache::fill(&sysroot, |dir| {
            archive.unpack(&release.packages, &cache.join("downloads"), dir)?;
            kernel::layout(dir, &release.name)
        })?;
    }
    let new = link.with_extension("new");
    let _ = fs::remove_file(&new);
    symlink(&release.name, &new)?;
    fs::rename(&new, &link).with_context(|| format!("cannot rename {}", new.display()))?;
    find(name)?.context("the kernel that was just unpacked is not there")
}

/// The kernel of that name if its files are there.
fn find(name: Name) -> Result<Option<Foreign>> {
    let Ok(sysroot) = fs::canonicalize(slot(name)?) else { return Ok(None) };
    if !cache::is_complete(&sysroot) {
        return Ok(None);
    }
    let release = sysroot.file_name().context("a sysroot is named after its release")?;
    Ok(Some(Foreign { release: release.to_string_lossy().into_owned(), sysroot }))
}

/// The link that points from a kernel's name to its sysroot.
fn slot(name: Name) -> Result<PathBuf> {
    Ok(cache::dir()?.join("kernels").join(format!("arm64-{name}")))
}
