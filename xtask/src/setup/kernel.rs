//! A kernel's image, debug files and headers, unpacked as a sysroot.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use anyhow::{Context, Result};

use crate::apt::{Archive, Package, Suite};
use crate::cache;
use crate::kernels::{Kernel, Name, slot};

/// A flavour of kernel that Debian builds.
struct Flavour {
    /// The name in the names of packages.
    name: &'static str,
    /// Bytes for the packages, their contents, and the disk image made from them.
    space: u64,
}

/// The smallest to fetch, and the usual kernel of virtual machines.
const CLOUD: Flavour = Flavour { name: "cloud-amd64", space: 6 << 30 };
/// The flavour with the drivers of all machines.
const RT: Flavour = Flavour { name: "rt-amd64", space: 14 << 30 };

/// The packages of one kernel release.
pub(super) struct Release {
    pub name: String,
    pub packages: Vec<String>,
}

/// Fetches the newest kernel of that name, unless one is there. The caller holds the cache's lock.
pub fn ensure(name: Name, update: bool) -> Result<()> {
    if Kernel::find(name)?.is_some() && (!update || std::env::var_os("KINST_VMLINUZ").is_some()) {
        return Ok(());
    }
    let flavour = if name == Name::Rt { RT } else { CLOUD };
    cache::need_space(flavour.space, "a kernel with its debug files")?;
    let cache = cache::dir()?;
    let archive = Archive::open(
        &cache,
        match name {
            Name::Backports => Suite::Backports,
            Name::Sid => Suite::Sid,
            _ => Suite::Release,
        },
    )?;
    let release = newest(&archive, flavour.name, name != Name::Sid)?;
    let sysroot = cache.join("kernels").join(&release.name);
    if !cache::is_complete(&sysroot) {
        cache::fill(&sysroot, |dir| {
            archive.unpack(
                &format!("kernel {} with its debug files", release.name),
                &release.packages,
                dir,
            )?;
            layout(dir, &release.name)?;
            relocate(dir, &release.name)
        })?;
    }
    point(name, &release.name)
}

/// The newest release whose image, debug files and (if wanted) headers are all in the archive.
pub(super) fn newest(archive: &Archive, flavour: &str, with_headers: bool) -> Result<Release> {
    // The signed image comes from a source of its own and can be older than the rest.
    let mut tried = Vec::new();
    for meta in [format!("linux-image-{flavour}"), format!("linux-headers-{flavour}")] {
        let package = archive.need(&meta)?;
        let Some(release) = package.depends.iter().find_map(|d| release_in(d, flavour)) else { continue };
        if let Some(packages) = packages_of(archive, release, with_headers)? {
            return Ok(Release { name: release.into(), packages });
        }
        tried.push(release.to_owned());
    }
    anyhow::bail!("the archive lacks packages of {}: try again when it is consistent", tried.join(" and "))
}

/// `linux-image-6.1.0-56-cloud-amd64` → `6.1.0-56-cloud-amd64`
fn release_in<'a>(package: &'a str, flavour: &str) -> Option<&'a str> {
    let rest = package.strip_prefix("linux-image-").or(package.strip_prefix("linux-headers-"))?;
    let end = rest.find(flavour)? + flavour.len();
    Some(&rest[..end])
}

fn packages_of(archive: &Archive, release: &str, with_headers: bool) -> Result<Option<Vec<String>>> {
    let first = |names: [String; 2]| -> Result<Option<Package>> {
        let [a, b] = names;
        Ok(match archive.show(&a)? {
            Some(package) => Some(package),
            None => archive.show(&b)?,
        })
    };
    let image = first([format!("linux-image-{release}"), format!("linux-image-{release}-unsigned")])?;
    let debug = archive.show(&format!("linux-image-{release}-dbg"))?;
    let (Some(image), Some(debug)) = (image, debug) else { return Ok(None) };
    let mut packages = vec![image.name, debug.name];
    // Newer kernels come in several packages, which the image's depends on.
    packages.extend(image.depends.into_iter().filter(|d| d.starts_with("linux-") && d.contains(release)));
    if with_headers {
        let Some(headers) = archive.show(&format!("linux-headers-{release}"))? else { return Ok(None) };
        let wanted = |d: &String| d.starts_with("linux-headers-") || d.starts_with("linux-kbuild-");
        packages.extend(headers.depends.into_iter().filter(wanted));
        packages.push(headers.name);
    }
    Ok(Some(packages))
}

/// Makes sure that the files are where a sysroot must have them, wherever the packages put them.
pub(super) fn layout(dir: &Path, release: &str) -> Result<()> {
    for (old, new) in
        [("usr/lib/modules", "lib/modules"), ("usr/lib/debug/usr/lib/modules", "usr/lib/debug/lib/modules")]
    {
        if dir.join(old).is_dir() && !dir.join(new).exists() {
            let parent = Path::new(new).parent().context("a path of two names")?;
            fs::create_dir_all(dir.join(parent))?;
            let up = "../".repeat(parent.components().count());
            symlink(format!("{up}{old}"), dir.join(new))?;
        }
    }
    let vmlinuz = dir.join(format!("boot/vmlinuz-{release}"));
    if !vmlinuz.exists() {
        fs::create_dir_all(dir.join("boot"))?;
        symlink(format!("../lib/modules/{release}/vmlinuz"), &vmlinuz)?;
    }
    for file in [vmlinuz, dir.join(format!("usr/lib/debug/boot/vmlinux-{release}"))] {
        fs::metadata(&file).with_context(|| format!("the packages have no {}", file.display()))?;
    }
    Ok(())
}

/// Makes relative the absolute paths below /usr/src and /lib by which Debian's headers name each other.
fn relocate(dir: &Path, release: &str) -> Result<()> {
    let source = dir.join("usr/src");
    let makefile = source.join(format!("linux-headers-{release}/Makefile"));
    if makefile.is_file() {
        let text = fs::read_to_string(&makefile)?;
        let here = "$(dir $(abspath $(lastword $(MAKEFILE_LIST))))../";
        fs::write(&makefile, text.replace("/usr/src/", here))?;
    }
    let modules = dir.join("lib/modules").join(release);
    for (link, target) in [("build", format!("linux-headers-{release}")), ("source", String::new())] {
        let link = modules.join(link);
        if fs::symlink_metadata(&link).is_ok() {
            fs::remove_file(&link)?;
        }
        if !target.is_empty() && makefile.is_file() {
            symlink(source.join(target), link)?;
        }
    }
    Ok(())
}

/// Points the kernel's name to this release.
pub fn point(name: Name, release: &str) -> Result<()> {
    let link = slot(name)?;
    let new = link.with_extension("new");
    let _ = fs::remove_file(&new);
    symlink(release, &new)?;
    fs::rename(&new, &link).with_context(|| format!("cannot rename {}", new.display()))
}
