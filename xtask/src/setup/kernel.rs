//! A kernel's image, debug files and headers, unpacked as a sysroot.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

use crate::apt::{self, Archive, Package, Purpose};
use crate::cache;
use crate::kernels::{Arch, Kernel, Name, slot};

/// A flavour of kernel that Debian builds.
struct Flavour {
    /// The part of package names.
    name: &'static str,
    /// Bytes for the packages, their contents, and the disk image made from them.
    space: u64,
}

/// The smallest download, and the usual kernel of virtual machines.
const CLOUD: Flavour = Flavour { name: "cloud-amd64", space: 6 << 30 };
/// The flavour with the drivers of all machines.
const RT: Flavour = Flavour { name: "rt-amd64", space: 14 << 30 };

/// The packages of one kernel release.
pub(super) struct Release {
    pub name: String,
    pub packages: Vec<String>,
}

/// Fetches the newest kernel of that name if none exists. The caller holds the cache's lock.
pub(super) fn ensure(name: Name, update: bool) -> Result<()> {
    if Kernel::find(name)?.is_some() && (!update || name == Name::Own) {
        return Ok(());
    }
    let flavour = if name == Name::Rt { RT } else { CLOUD };
    cache::need_space(flavour.space, "a kernel with its debug files")?;
    let cache = cache::dir()?;
    let archive = Archive::open(&cache, name.suite(), purpose(&format!("the kernel {name}")))?;
    let release = newest(&archive, name.series(), flavour.name, !name.needs_build_root())?;
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
    point(Arch::Amd64, name, &release.name)
}

/// The folder with the image and the configuration of each kernel.
fn images() -> Result<PathBuf> {
    Ok(cache::dir()?.join("bootable"))
}

/// Whether the image of each kernel exists.
pub(super) fn have_images() -> Result<bool> {
    let images = images()?;
    Ok(Name::ALL.iter().all(|name| cache::is_complete(&images.join(name.as_str()))))
}

/// Fetches the image and the configuration of each kernel if missing. The caller holds the cache's lock.
pub(super) fn ensure_images() -> Result<()> {
    for name in Name::ALL {
        let folder = images()?.join(name.as_str());
        if !cache::is_complete(&folder) {
            cache::fill(&folder, |dir| image(name, dir))?;
        }
    }
    Ok(())
}

fn image(name: Name, dir: &Path) -> Result<()> {
    let root = dir.join("root");
    let (release, from) = match Kernel::find(name)? {
        Some(Kernel { release, sysroot: Some(sysroot), .. }) => (release, sysroot),
        _ => {
            let brings = format!("the image of the kernel {name}");
            let purpose = Purpose { brings: &brings, instead: super::WITHOUT_TESTS };
            let archive = Archive::open(&cache::dir()?, name.suite(), purpose)?;
            let Release { name: release, packages } = newest(&archive, name.series(), CLOUD.name, false)?;
            // Modules and debug files, most of the data, are left out.
            let wanted =
                |package: &String| !package.ends_with("-dbg") && !package.starts_with("linux-modules-");
            let packages: Vec<String> = packages.into_iter().filter(wanted).collect();
            archive.unpack(&format!("the image of the kernel {name}"), &packages, &root)?;
            (release, root.clone())
        }
    };
    for file in ["vmlinuz", "config"] {
        let places = [format!("boot/{file}-{release}"), format!("usr/lib/modules/{release}/{file}")];
        let place = places.iter().map(|place| from.join(place)).find(|place| place.is_file());
        let place = place.with_context(|| format!("the packages of {release} have no {file}"))?;
        fs::copy(place, dir.join(file))?;
    }
    cache::remove(&root)
}

/// How to proceed without this kernel.
const ANOTHER: &str = "name another kernel with --kernel, or supply one in KINST_VMLINUZ (CONTRIBUTING.md)";

/// The purpose of fetching a kernel, for errors.
pub(super) fn purpose(brings: &str) -> Purpose<'_> {
    Purpose { brings, instead: ANOTHER }
}

/// The newest release of a series whose image, debug files and (if wanted) headers are all in the archive.
pub(super) fn newest(archive: &Archive, series: &str, flavour: &str, with_headers: bool) -> Result<Release> {
    let mut releases: Vec<String> = archive
        .named(&format!("linux-image-{series}."))?
        .iter()
        .filter_map(|package| package.strip_prefix("linux-image-")?.strip_suffix("-dbg"))
        .filter(|release| release.ends_with(&format!("-{flavour}")))
        .map(str::to_owned)
        .collect();
    releases.sort_by_key(|release| apt::numbers(release));
    // The signed image comes from a separate source package, and can be older than the rest.
    for name in releases.into_iter().rev() {
        if let Some(packages) = packages_of(archive, &name, with_headers)? {
            return Ok(Release { name, packages });
        }
    }
    anyhow::bail!("no kernel {series} with debug files in {}: {ANOTHER}", archive.suites())
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
    // Newer kernels consist of several packages, on which the image's package depends.
    packages.extend(image.depends.into_iter().filter(|d| d.starts_with("linux-") && d.contains(release)));
    if with_headers {
        let Some(headers) = archive.show(&format!("linux-headers-{release}"))? else { return Ok(None) };
        let wanted = |d: &String| d.starts_with("linux-headers-") || d.starts_with("linux-kbuild-");
        packages.extend(headers.depends.into_iter().filter(wanted));
        packages.push(headers.name);
    }
    Ok(Some(packages))
}

/// Moves the files to their places in a sysroot, wherever the packages put them.
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
pub(super) fn point(arch: Arch, name: Name, release: &str) -> Result<()> {
    let link = slot(arch, name)?;
    let new = link.with_extension("new");
    let _ = fs::remove_file(&new);
    symlink(release, &new)?;
    fs::rename(&new, &link).with_context(|| format!("cannot rename {}", new.display()))
}
