//! A small system of another release in a folder: its compiler, libraries and kernel headers, for building modules.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};

use crate::apt::Archive;
use crate::kernels::{Arch, Kernel, build_root};
use crate::{cache, exec};

/// Programs that a build needs in addition to the compiler and the headers' dependencies.
pub(super) const TOOLS: [&str; 10] =
    ["base-files", "binutils", "coreutils", "dash", "diffutils", "findutils", "grep", "make", "mawk", "sed"];

/// Makes the system for building modules of this kernel. The caller holds the cache's lock.
pub(crate) fn ensure(kernel: &Kernel) -> Result<()> {
    let root = build_root(&kernel.release)?;
    if cache::is_complete(&root) {
        return Ok(());
    }
    cache::need_space(2 << 30, "the system that builds modules")?;
    let cache = cache::dir()?;
    let brings = format!("what builds modules for the kernel {}", kernel.name);
    let archive = Archive::open(&cache, kernel.name.suite(), super::kernel::purpose(&brings))?;
    let headers = archive.need(&format!("linux-headers-{}", kernel.release))?;
    let mut wanted: Vec<&str> = TOOLS.to_vec();
    wanted.push(&headers.name);
    let packages = archive.whole_closure(&wanted)?;
    cache::fill(&root, |dir| {
        archive.unpack("the system that builds modules", &packages, dir)?;
        finish(dir, &["build"])?;
        let mut try_out = make(kernel.arch, dir, dir);
        exec::output(try_out.arg("--version"))
            .context("the system that builds modules does not start")
            .map(drop)
    })
}

/// Does the work of the packages' scripts, which are not run, and makes the mount points.
pub(super) fn finish(root: &Path, bound: &[&str]) -> Result<()> {
    for folder in ["dev", "proc", "tmp"].iter().chain(bound) {
        fs::create_dir_all(root.join(folder))?;
    }
    for (link, target) in
        [("usr/bin/awk", "mawk"), ("usr/bin/sh", "dash"), ("usr/bin/which", "which.debianutils")]
    {
        let link = root.join(link);
        if fs::symlink_metadata(&link).is_err() {
            symlink(target, link)?;
        }
    }
    Ok(())
}

/// A command that runs inside a system, with folders of this machine bind-mounted. The mounts are private to the
/// command and end with it.
pub(super) fn program(root: &Path, bound: &[(&Path, &str)], program: &str) -> Command {
    let mut command = Command::new("unshare");
    if !rustix::process::geteuid().is_root() {
        command.args(["--user", "--map-root-user"]);
    }
    let script = r#"root=$1; shift
for dir in dev proc; do mount --rbind /$dir "$root/$dir" || exit; done
while [ "$1" != -- ]; do mount --bind "$1" "$root/$2" || exit; shift 2; done
shift; exec chroot "$root" "$@""#;
    command.args(["--mount", "sh", "-c", script, program]).arg(root);
    for (folder, place) in bound {
        command.arg(folder).arg(place);
    }
    command.arg("--").arg(program);
    command
}

/// `make` inside the system, where `work` is /build.
pub(crate) fn make(arch: Arch, root: &Path, work: &Path) -> Command {
    let mut command = program(root, &[(work, "build")], "make");
    command.env_remove("MAKEFLAGS").env("PATH", "/usr/sbin:/usr/bin:/sbin:/bin").env("LC_ALL", "C.UTF-8");
    // Otherwise the headers would call dpkg, which the system lacks.
    command.env("DEB_BUILD_ARCH", "amd64");
    if arch == Arch::Arm64 {
        command.args(["ARCH=arm64", "CROSS_COMPILE=aarch64-linux-gnu-"]);
    }
    command
}

/// The path of one of the system's files inside the system.
pub(crate) fn inside(root: &Path, path: &Path) -> PathBuf {
    path.strip_prefix(root).map_or_else(|_| "/build".into(), |rest| Path::new("/").join(rest))
}
