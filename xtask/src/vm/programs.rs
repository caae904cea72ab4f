//! Programs for guests: dtrace and inlinecall without debug information, and compiled C sources.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};

use crate::kernels::{Arch, Kernel};
use crate::setup::cross;
use crate::{crates, exec, steps, workspace};

const PROGRAMS: [&str; 2] = ["dtrace", "inlinecall"];

/// Builds the programs and returns the files for a guest: with the profile of the tests, or as in the packages.
pub(crate) fn build(release: bool) -> Result<Vec<PathBuf>> {
    let more: &[&str] = if release { &["--release"] } else { &[] };
    compile(&[&["--package", "kinst", "--bins"], more].concat())?;
    stripped(release)
}

/// Builds the programs as [`build`] does, together with the crates as the host tests need them, so that nothing is
/// compiled twice. The workspace's programs that are not part of the product are built too.
pub(crate) fn build_with_tests() -> Result<()> {
    compile(&["--workspace", "--bins", "--test", "compile"])
}

fn compile(what: &[&str]) -> Result<()> {
    let mut command = crates::cargo(&workspace::root());
    command.arg("build").args(what);
    steps::step("building dtrace and inlinecall", |step| crates::build(&mut command, step))
}

/// The files for a guest, from programs that have been built.
pub(crate) fn stripped(release: bool) -> Result<Vec<PathBuf>> {
    let profile = if release { "release" } else { "debug" };
    let target = workspace::target();
    let stripped = target.join("vm").join(profile);
    fs::create_dir_all(&stripped)?;
    PROGRAMS.iter().map(|name| strip(&target.join(profile).join(name), &stripped.join(name))).collect()
}

/// Like [`build`], for guests of arm64.
pub(crate) fn build_for_arm64(release: bool) -> Result<Vec<PathBuf>> {
    let folder = cross::build(&workspace::root(), &workspace::target().join("arm64"), release)?;
    Ok(PROGRAMS.iter().map(|name| folder.join(name)).collect())
}

/// The name of the exported index of a guest's kernel.
pub(crate) const INDEX: &str = "kernel.index";

/// Exports the index of a kernel with this machine's dtrace; existing indices are used.
pub(crate) fn exported(kernel: &Kernel, programs: &[PathBuf]) -> Result<PathBuf> {
    let dtrace = programs.first().context("no dtrace was built")?;
    let folder = indices(kernel)?;
    let file = folder.join(INDEX);
    kernel.export_index(dtrace, &folder, &file)?;
    Ok(file)
}

/// The files of a kernel's index, made by this machine's dtrace if missing.
pub(crate) fn indexed(kernel: &Kernel, dtrace: &Path) -> Result<Vec<PathBuf>> {
    let folder = indices(kernel)?;
    steps::step("the index of the kernel's inlined functions", |_| kernel.index(dtrace, &folder))
}

/// The directory of a kernel's indices.
pub(crate) fn indices(kernel: &Kernel) -> Result<PathBuf> {
    let folder = workspace::target().join("vm/index").join(&kernel.release);
    fs::create_dir_all(&folder)?;
    Ok(folder)
}

/// Strips a program: most of it is debug information, which a guest would have to unpack at every boot.
fn strip(from: &Path, to: &Path) -> Result<PathBuf> {
    let modified = |path: &Path| fs::metadata(path).and_then(|m| m.modified());
    let built = modified(from).with_context(|| format!("cargo build left no {}", from.display()))?;
    if !modified(to).is_ok_and(|stripped| stripped > built) {
        exec::run(Command::new("strip").arg("--strip-debug").arg("-o").arg(to).arg(from))?;
    }
    Ok(to.into())
}

/// A file to push unchanged, or the program compiled from a C source, with these compiler flags.
pub(crate) fn from_source(file: &Path, flags: &[&str]) -> Result<PathBuf> {
    from_source_for(Arch::Amd64, file, flags)
}

/// Like [`from_source`], for guests of any architecture.
pub(crate) fn from_source_for(arch: Arch, file: &Path, flags: &[&str]) -> Result<PathBuf> {
    if file.extension().is_none_or(|e| e != "c") {
        return Ok(file.into());
    }
    let folder = workspace::target().join("vm/files").join(arch.as_str());
    fs::create_dir_all(&folder)?;
    let program = folder.join(file.file_stem().context("a source has a name")?);
    // Compiled every time, as its headers are not tracked, and renamed, as another run may be pushing it.
    let made = program.with_extension(std::process::id().to_string());
    let flags = [&["-O2", "-g", "-Wall", "-Wextra", "-Werror", "-pthread"], flags].concat();
    match arch {
        Arch::Amd64 => exec::run(Command::new("gcc").args(flags).arg("-o").arg(&made).arg(file))?,
        Arch::Arm64 => cross::compile(&workspace::root(), file, &flags, &made)?,
    }
    fs::rename(&made, &program)?;
    Ok(program)
}
