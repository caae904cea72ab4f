//! The packages in a separate, plain Debian system in a folder: installed, upgraded and purged by apt.

use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, bail};

use super::tree::Tree;
use super::{deb, guest, name};
use crate::apt::{Archive, Debian, Purpose, Suite};
use crate::kernels::{Kernel, Name};
use crate::{cache, exec, workspace};

/// The packages that the system's apt can install in addition to the kernels' headers, with their dependencies.
const POOL: [&str; 5] = ["dkms", "gcc", "make", "openssl", "systemtap-sdt-dev"];

/// Runs packaging/test.sh in a new system with the packages of `dir` and of a newer version.
pub(super) fn test(tree: &Tree, dir: &Path) -> Result<()> {
    if !rustix::process::geteuid().is_root() {
        bail!("--test makes a Debian system in a folder and installs in it: run it as root");
    }
    let newer = newer(&tree.version);
    // In the same folder, so that the paths are the same, and only crates with the version are compiled again.
    let later = Tree::of_head(&dir.join("source"), Some(&newer))?;
    deb::keep(&deb::build(&later, &dir.join("build"))?, dir)?;
    let purpose = Purpose { brings: "a Debian system to install in", instead: "leave --test out" };
    let archive = Archive::open(&cache::dir()?, Suite::Host, purpose)?;
    let kernel = Kernel::need(Name::default())?;
    let release = &kernel.release;
    let other = other(&archive, release)?;
    let (root, index) = (dir.join("root"), format!("kinst-index-{release}_{}_all.deb", tree.version));
    cache::remove(&root)?;
    bootstrap(&archive, &root)?;
    fill_pool(&archive, &root.join("pool"), &[release, &other])?;
    let packages = root.join("packages");
    fs::create_dir_all(&packages)?;
    for version in [&tree.version, &newer] {
        for package in [format!("kinst_{version}_amd64.deb"), format!("kinst-dkms_{version}_all.deb")] {
            fs::copy(dir.join(&package), packages.join(&package))?;
        }
    }
    fs::copy(dir.join(&index), packages.join(&index))?;
    guest::install(&root, [&tree.version, &newer, release])?;
    fs::remove_file(packages.join(index))?;
    oracles(&packages)?;
    for file in ["test.sh", "test.d"] {
        fs::copy(workspace::root().join("packaging").join(file), packages.join(file))?;
    }
    exec::run(inside(&root).args(["/packages/test.sh", &tree.version, &newer, release, &other]))?;
    // Installed permanently, for a kernel that boots.
    let mut apt = inside(&root);
    apt.args(["apt-get", "-qq", "-y", "--no-install-recommends", "install"]);
    apt.arg(format!("linux-headers-{release}"));
    apt.args([format!("/packages/kinst_{newer}_amd64.deb"), format!("/packages/kinst-dkms_{newer}_all.deb")]);
    exec::run(apt.env("DEBIAN_FRONTEND", "noninteractive"))?;
    guest::test(&root, &kernel)
}

fn newer(version: &str) -> String {
    let (front, last) = version.rsplit_once('.').unwrap_or(("0.0", version));
    format!("{front}.{}", last.parse::<u32>().unwrap_or(0) + 1)
}

/// The kernel of the same series with the next lower ABI number for which the archive has headers.
fn other(archive: &Archive, release: &str) -> Result<String> {
    // A release is `6.1.0-56-cloud-amd64`.
    let mut parts: Vec<String> = release.splitn(3, '-').map(Into::into).collect();
    let number: u32 =
        parts.get(1).and_then(|n| n.parse().ok()).context("the kernel's name has no ABI number")?;
    for lower in (1..number).rev().take(20) {
        parts[1] = lower.to_string();
        let release = parts.join("-");
        if archive.show(&format!("linux-headers-{release}"))?.is_some() {
            return Ok(release);
        }
    }
    bail!("the archive has no second kernel of the series of {release}")
}

/// Makes a minimal Debian system with only the essential packages and apt.
fn bootstrap(archive: &Archive, root: &Path) -> Result<()> {
    let kept = cache::dir()?.join("roots/plain.tar");
    if !kept.is_file() {
        let part = kept.with_extension("part.tar");
        fs::create_dir_all(kept.parent().context("the cache has folders")?)?;
        let mut command = Command::new("mmdebstrap");
        command
            .args(["--quiet", "--variant=minbase"])
            .arg(archive.codename())
            .arg(&part)
            .arg(archive.sources());
        exec::run(&mut command)?;
        fs::rename(part, &kept)?;
    }
    fs::create_dir_all(root)?;
    exec::run(Command::new("tar").arg("-xf").arg(kept).arg("-C").arg(root))
}

/// Puts the packages that a user's apt would fetch into a folder, which becomes the system's only source.
fn fill_pool(archive: &Archive, pool: &Path, kernels: &[&str]) -> Result<()> {
    let headers: Vec<String> = kernels.iter().map(|release| format!("linux-headers-{release}")).collect();
    let wanted: Vec<&str> = POOL.into_iter().chain(headers.iter().map(String::as_str)).collect();
    archive.download("the packages of the test system", &archive.whole_closure(&wanted)?, pool)?;
    let index =
        exec::output(Command::new("dpkg-scanpackages").args(["--multiversion", "."]).current_dir(pool))?;
    fs::write(pool.join("Packages"), index)?;
    let etc = pool.parent().context("the pool is in the system")?.join("etc/apt");
    cache::remove(&etc.join("sources.list.d"))?;
    // A pool of files has no signature; apt checked each of them when it was fetched.
    Ok(fs::write(etc.join("sources.list"), "deb [trusted=yes] file:/pool ./\n")?)
}

/// Fetches Debian 13's own package with a command `dtrace`, if it exists.
fn oracles(packages: &Path) -> Result<()> {
    let purpose = Purpose { brings: "another dtrace", instead: "leave --test out" };
    let newer = Archive::open(&cache::dir()?, Suite::Release(Debian::Trixie), purpose)?;
    if newer.show("dtrace")?.is_some() {
        for package in newer.download("the other dtrace", &["dtrace".into()], packages)? {
            eprintln!("package: with {}", name(&package));
        }
    }
    Ok(())
}

/// A command in the system. The mounts and processes are private to it and end with it.
fn inside(root: &Path) -> Command {
    let mut command = Command::new("unshare");
    let script = r#"root=$1; shift
mount -t proc proc "$root/proc" && mount --rbind /dev "$root/dev" && exec chroot "$root" "$@""#;
    command.args(["--mount", "--pid", "--fork", "--kill-child", "sh", "-c", script, "sh"]).arg(root);
    command.env_remove("MAKEFLAGS").env("PATH", "/usr/sbin:/usr/bin:/sbin:/bin");
    command
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newer_version_is_the_next() {
        assert_eq!(newer("0.1.9"), "0.1.10");
    }
}
