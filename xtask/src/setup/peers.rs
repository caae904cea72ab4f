//! Programs of other projects with their dependencies, for guests: trees for chroot.

use std::os::unix::fs::symlink;
use std::path::PathBuf;
use std::process::Command;

use anyhow::Result;

use crate::apt::{Purpose, Suite};
use crate::kernels::{Arch, Name};
use crate::{cache, exec};

/// The guest's file with bpftrace and perf of the kernel's release.
pub(crate) const FILE: &str = "peers.tar";

/// bpftrace and perf of a kernel's release, as a tar file.
pub(crate) fn ensure(arch: Arch, kernel: Name) -> Result<PathBuf> {
    tree(arch, kernel.suite(), &format!("peers/{}", kernel.series()), FILE, &["bpftrace", "linux-perf"])
}

/// stress-ng and trinity of the release, as a tar file.
pub(crate) fn stressors() -> Result<PathBuf> {
    tree(Arch::Amd64, Name::V6_1.suite(), "stressors", "stressors.tar", &["stress-ng", "trinity"])
}

/// The guest's file with common programs.
pub(crate) const PROGRAMS: &str = "programs.tar";

/// Unmodified programs of the release, without frame pointers, as a tar file.
pub(crate) fn programs(arch: Arch) -> Result<PathBuf> {
    let packages =
        ["bash", "coreutils", "grep", "gzip", "openssl", "perl-base", "python3-minimal", "xz-utils"];
    tree(arch, Name::V6_1.suite(), "programs", PROGRAMS, &packages)
}

/// A tree of packages with their dependencies as a tar file; fetched if missing.
fn tree(arch: Arch, suite: Suite, name: &str, file: &str, packages: &[&str]) -> Result<PathBuf> {
    let cache = cache::dir()?;
    let dir = match arch {
        Arch::Amd64 => cache.join(name),
        Arch::Arm64 => cache.join(format!("{name}-arm64")),
    };
    let tar = dir.join(file);
    if cache::is_complete(&dir) {
        return Ok(tar);
    }
    let _lock = cache::lock()?;
    if cache::is_complete(&dir) {
        return Ok(tar);
    }
    cache::need_space(2 << 30, name)?;
    let all = packages.join(" and ");
    let instead = "leave out the cases and measurements that run them";
    let archive = super::archive(arch, &cache, suite, Purpose { brings: &all, instead })?;
    let packages = archive.whole_closure(packages)?;
    cache::fill(&dir, |dir| {
        let root = dir.join("root");
        archive.unpack(name, &packages, &root)?;
        // Documentation and unused files, half of the tree.
        for folder in [
            "usr/share",
            "usr/lib/x86_64-linux-gnu/perl-base",
            "usr/lib/aarch64-linux-gnu/perl-base",
            "usr/sbin",
        ] {
            cache::remove(&root.join(folder))?;
        }
        // Since trixie, the first installed package has to make these links.
        for folder in ["bin", "lib", "lib64"] {
            let link = root.join(folder);
            if !link.exists() {
                symlink(format!("usr/{folder}"), link)?;
            }
        }
        exec::run(Command::new("tar").arg("-cf").arg(dir.join(file)).arg("-C").arg(&root).arg("."))?;
        cache::remove(&root)
    })?;
    Ok(tar)
}
