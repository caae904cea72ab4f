//! Programs as guests get them: dtrace and inlinecall, without the debug information, and those of C sources.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};

use crate::kernels::Kernel;
use crate::setup::cross;
use crate::{crates, exec, steps, workspace};

const PROGRAMS: [&str; 2] = ["dtrace", "inlinecall"];

/// Builds the programs and returns the files to put into a guest: those of the profile that tests are built with, or those
/// that packages have.
pub(crate) fn build(release: bool) -> Result<Vec<PathBuf>> {
    let more: &[&str] = if release { &["--release"] } else { &[] };
    compile(&[&["--package", "kinst", "--bins"], more].concat())?;
    stripped(release)
}

/// Builds the programs as [`build`] does, but with all that tests need of the crates: what the tests on the host are built of
/// is built at the same time. So are the programs of this workspace that are no part of the product.
pub(crate) fn build_with_tests() -> Result<()> {
    compile(&["--workspace", "--bins", "--test", "compile"])
}

fn compile(what: &[&str]) -> Result<()> {
    let mut command = crates::cargo(&workspace::root());
    command.arg("build").args(what);
    steps::step("building dtrace and inlinecall", |step| crates::build(&mut command, step))
}

/// The files to put into a guest, of programs that have been built.
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

/// Has the dtrace of this machine export the index of a kernel; what was indexed before is not indexed again.
pub(crate) fn exported(kernel: &Kernel, programs: &[PathBuf]) -> Result<PathBuf> {
    let dtrace = programs.first().context("there is no dtrace")?;
    let folder = indices(kernel)?;
    let file = folder.join(INDEX);
    kernel.export_index(dtrace, &folder, &file)?;
    Ok(file)
}

/// The files of a kernel's index, which the dtrace of this machine makes unless they are there.
pub(crate) fn indexed(kernel: &Kernel, dtrace: &Path) -> Result<Vec<PathBuf>> {
    let folder = indices(kernel)?;
    steps::step("the index of the kernel's inlined functions", |_| kernel.index(dtrace, &folder))
}

/// The directory that indices of a kernel are kept in.
pub(crate) fn indices(kernel: &Kernel) -> Result<PathBuf> {
    let folder = workspace::target().join("vm/index").join(&kernel.release);
    fs::create_dir_all(&folder)?;
    Ok(folder)
}

/// Most of a program is debug information, which a guest would have to unpack at every boot.
fn strip(from: &Path, to: &Path) -> Result<PathBuf> {
    let modified = |path: &Path| fs::metadata(path).and_then(|m| m.modified());
    let built = modified(from).with_context(|| format!("cargo build left no {}", from.display()))?;
    if !modified(to).is_ok_and(|stripped| stripped > built) {
        exec::run(Command::new("strip").arg("--strip-debug").arg("-o").arg(to).arg(from))?;
    }
    Ok(to.into())
}

/// A file to push as it is, or the program that a C source makes, with more words for the compiler.
pub(crate) fn from_source(file: &Path, flags: &[&str]) -> Result<PathBuf> {
    if file.extension().is_none_or(|e| e != "c") {
        return Ok(file.into());
    }
    let folder = workspace::target().join("vm/files");
    fs::create_dir_all(&folder)?;
    let program = folder.join(file.file_stem().context("a source has a name")?);
    // Always, as its headers are not tracked. And by a rename, as another run may be about to push it.
    let made = program.with_extension(std::process::id().to_string());
    let mut gcc = Command::new("gcc");
    gcc.args(["-O2", "-g", "-Wall", "-Wextra", "-Werror", "-pthread"]).args(flags);
    exec::run(gcc.arg("-o").arg(&made).arg(file))?;
    fs::rename(&made, &program)?;
    Ok(program)
}
