//! A package with the index of a kernel, for systems that have the kernel but not its debug information.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};

use super::tree::{self, Tree};
use crate::kernels::Kernel;
use crate::{cache, exec};

/// Exports the index of a kernel, with the dtrace that was built for the packages, into a package.
pub(super) fn build(tree: &Tree, dir: &Path, kernel: &Kernel) -> Result<PathBuf> {
    let release = &kernel.release;
    let package = format!("kinst-index-{release}");
    let stage = dir.join("index").join(&package);
    cache::remove(&stage)?;
    let indices = stage.join("usr/share/kinst/index");
    fs::create_dir_all(&indices)?;
    kernel.export_index(&dir.join("build/release/dtrace"), &dir.join("index/cache"), &indices)?;
    document(tree, &stage.join("usr/share/doc").join(&package))?;
    control(tree, &stage, release)?;
    // dtrace does not read files that others could write.
    exec::run(Command::new("chmod").args(["-R", "u=rwX,go=rX"]).arg(&stage))?;
    let made = dir.join(format!("{package}_{}_all.deb", tree.version));
    let mut command = Command::new("dpkg-deb");
    command.env("SOURCE_DATE_EPOCH", &tree.epoch).args(["--root-owner-group", "--build"]);
    exec::run(command.arg(&stage).arg(&made))?;
    cache::remove(&stage)?;
    Ok(made)
}

fn document(tree: &Tree, folder: &Path) -> Result<()> {
    fs::create_dir_all(folder)?;
    fs::copy(tree.dir.join("packaging/index/copyright"), folder.join("copyright"))?;
    let changelog = folder.join("changelog");
    fs::copy(tree.dir.join("debian/changelog"), &changelog)?;
    exec::run(Command::new("gzip").args(["-9", "--no-name"]).arg(changelog))
}

fn control(tree: &Tree, stage: &Path, release: &str) -> Result<()> {
    // In units of 1024 bytes.
    let size = exec::output(Command::new("du").args(["--summarize", "--apparent-size", "-k"]).arg(stage))?;
    let size = size.split_whitespace().next().context("no size in the output of du")?;
    let mut text = fs::read_to_string(tree.dir.join("packaging/index/control"))?;
    let values = [
        ("@RELEASE@", release),
        ("@VERSION@", &tree.version),
        ("@MAINTAINER@", &tree::maintainer()?),
        ("@SIZE@", size),
    ];
    for (name, value) in values {
        text = text.replace(name, value);
    }
    let folder = stage.join("DEBIAN");
    fs::create_dir_all(&folder)?;
    Ok(fs::write(folder.join("control"), text)?)
}
