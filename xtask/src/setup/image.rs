//! The read-only disk of a kernel's modules and debug files, made once and mounted by every guest.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};

use crate::kernels::Kernel;
use crate::steps::{self, Step};
use crate::{cache, exec};

/// The bytes that a filesystem of this size needs in addition to the files.
const SLACK: u64 = 64 << 20;

/// Whether the kernel's disk exists and is newer than its contents.
pub(super) fn is_there(kernel: &Kernel) -> Result<bool> {
    let Ok(image) = fs::metadata(kernel.image()?) else { return Ok(false) };
    let made = image.modified()?;
    let parts = [Some(&kernel.vmlinuz), kernel.vmlinux.as_ref()];
    // A package's files keep the date of their build, so newer files belong to a kernel that the user supplied and
    // rebuilt.
    Ok(parts
        .into_iter()
        .flatten()
        .all(|p| fs::metadata(p).and_then(|m| m.modified()).is_ok_and(|t| t <= made)))
}

/// Makes the disk if missing. The caller holds the cache's lock.
pub(super) fn ensure(kernel: &Kernel) -> Result<()> {
    if is_there(kernel)? {
        return Ok(());
    }
    let image = kernel.image()?;
    let folder = image.parent().context("an image is in a folder")?;
    fs::create_dir_all(folder)?;
    let staging = folder.join("staging");
    cache::remove(&staging)?;
    steps::step(format!("the guests' disk of {}", kernel.release), |step| {
        make(kernel, &image, &staging, step)
    })
}

fn make(kernel: &Kernel, image: &Path, staging: &Path, step: &Step) -> Result<()> {
    let bytes = stage(kernel, staging)?;
    step.brings(bytes);
    cache::need_space(bytes + SLACK, "the guests' disk")?;
    let part = image.with_extension("part");
    let _ = fs::remove_file(&part);
    fs::File::create(&part)?.set_len((bytes + bytes / 16 + SLACK).next_multiple_of(1 << 20))?;
    // No journal and no reserve: it is never written to.
    let mut mkfs = exec::admin("mkfs.ext4");
    mkfs.args(["-q", "-F", "-m", "0", "-O", "^has_journal", "-L", "kinst", "-d"]).arg(staging).arg(&part);
    exec::logged(&mut mkfs, &cache::log()?, || ())?;
    cache::remove(staging)?;
    Ok(fs::rename(&part, image)?)
}

/// Lays the files out as the guest sees them and returns their size. Files are hard links if the disk permits them,
/// else copies.
fn stage(kernel: &Kernel, staging: &Path) -> Result<u64> {
    let release = &kernel.release;
    let mut trees: Vec<(PathBuf, PathBuf)> = Vec::new();
    if kernel.modules.is_dir() {
        trees.push((kernel.modules.clone(), format!("lib/modules/{release}").into()));
    }
    if let Some(sysroot) = &kernel.sysroot {
        trees.push((sysroot.join("usr/lib/debug"), "usr/lib/debug".into()));
    } else if let Some(vmlinux) = &kernel.vmlinux {
        trees.push((vmlinux.clone(), format!("usr/lib/debug/boot/vmlinux-{release}").into()));
    }
    let mut bytes = 0;
    for (from, to) in trees {
        bytes += link_tree(&from, &staging.join(to))?;
    }
    if bytes == 0 {
        bail!(
            "the kernel {release} has neither modules nor debug files: set KINST_MODULES and KINST_VMLINUX"
        );
    }
    Ok(bytes)
}

fn link_tree(from: &Path, to: &Path) -> Result<u64> {
    let kind = fs::symlink_metadata(from).with_context(|| format!("cannot read {}", from.display()))?;
    if kind.is_symlink() {
        let target = fs::read_link(from)?;
        // A link out of the tree (build, source) would dangle in the guest.
        if target.is_relative() {
            std::os::unix::fs::symlink(target, to)?;
        }
        return Ok(0);
    }
    if kind.is_dir() {
        fs::create_dir_all(to)?;
        let mut bytes = 4096;
        for entry in fs::read_dir(from)? {
            let entry = entry?;
            bytes += link_tree(&entry.path(), &to.join(entry.file_name()))?;
        }
        return Ok(bytes);
    }
    if let Some(folder) = to.parent() {
        fs::create_dir_all(folder)?;
    }
    if fs::hard_link(from, to).is_err() {
        fs::copy(from, to).with_context(|| format!("cannot copy {}", from.display()))?;
    }
    Ok(kind.len().next_multiple_of(4096))
}
