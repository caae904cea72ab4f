//! A small system of another release in a folder: its compiler, libraries and kernel headers, for building modules.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};

use crate::apt::{Archive, Package};
use crate::kernels::{Arch, Kernel, build_root};
use crate::{cache, exec};

/// Programs that a build needs in addition to the compiler and the headers' dependencies.
const TOOLS: [&str; 10] =
    ["base-files", "binutils", "coreutils", "dash", "diffutils", "findutils", "grep", "make", "mawk", "sed"];

/// Makes the system for building modules of this kernel: programs of this machine, and the kernel's headers. The
/// caller holds the cache's lock.
pub(crate) fn ensure(kernel: &Kernel) -> Result<()> {
    let root = build_root(&kernel.release)?;
    if cache::is_complete(&root) {
        return Ok(());
    }
    cache::need_space(3 << 30, "the system that builds modules")?;
    let brings = format!("what builds modules for the kernel {}", kernel.release);
    let purpose = super::kernel::purpose(&brings);
    let archive = Archive::open(&cache::dir()?, kernel.name.suite(), purpose)?;
    let headers = format!("linux-headers-{}", kernel.release);
    let (wanted, foreign) = match kernel.arch {
        Arch::Amd64 => (vec![archive.need(&headers)?.name], None),
        Arch::Arm64 => {
            let foreign = Archive::foreign(&cache::dir()?, kernel.name.suite(), "arm64", purpose)?;
            let headers = foreign.need(&headers)?;
            (cross(&headers)?, Some((foreign, headers.name)))
        }
    };
    let wanted: Vec<&str> = TOOLS.into_iter().chain(wanted.iter().map(String::as_str)).collect();
    let packages = archive.whole_closure(&wanted)?;
    cache::fill(&root, |dir| {
        archive.unpack("the system that builds modules", &packages, dir)?;
        if let Some((foreign, headers)) = foreign {
            foreign.unpack("the headers of the kernel", &[headers], dir)?;
        }
        finish(dir, &["build"])?;
        let mut try_out = make(kernel.arch, dir, dir);
        exec::output(try_out.arg("--version"))
            .context("the system that builds modules does not start")
            .map(drop)
    })
}

/// The packages of this machine that build for a kernel of arm64 with these headers.
fn cross(headers: &Package) -> Result<Vec<String>> {
    let named = |prefix: &str| -> Result<&String> {
        let found = headers.depends.iter().find(|package| package.starts_with(prefix));
        found.with_context(|| format!("{} depends on no {prefix}*", headers.name))
    };
    // Headers depend on gcc-14, or on gcc-14-for-host. The second compiler is for programs that run during the build.
    let compiler = named("gcc-")?.trim_end_matches("-for-host").to_owned();
    let (common, programs) = (named("linux-headers-")?.clone(), named("linux-kbuild-")?.clone());
    Ok(vec![format!("{compiler}-aarch64-linux-gnu"), compiler, common, programs])
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
    command.args(variables(arch));
    command
}

/// The variables of kbuild for an architecture.
pub(crate) fn variables(arch: Arch) -> &'static [&'static str] {
    match arch {
        Arch::Amd64 => &[],
        Arch::Arm64 => &["ARCH=arm64", "CROSS_COMPILE=aarch64-linux-gnu-"],
    }
}

/// The path of one of the system's files inside the system.
pub(crate) fn inside(root: &Path, path: &Path) -> PathBuf {
    path.strip_prefix(root).map_or_else(|_| "/build".into(), |rest| Path::new("/").join(rest))
}
