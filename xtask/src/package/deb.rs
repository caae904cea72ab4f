//! The Debian packages, built by Debian's tools from packaging/debian.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};

use super::{name, tree};
use crate::exec;
use crate::kernels::Arch;
use tree::Tree;

/// Builds the packages with the objects in `build`, and returns where dpkg has put them.
pub(super) fn build(tree: &Tree, build: &Path) -> Result<Vec<PathBuf>> {
    let version = &tree.version;
    let packages = [format!("kinst_{version}_amd64.deb"), format!("kinst-dkms_{version}_all.deb")];
    run(tree, build, buildpackage("binary"), &packages)
}

/// Builds the package of these programs, which are for arm64. The package of the module's source is for all machines.
pub(super) fn build_for_arm64(tree: &Tree, build: &Path, programs: &Path) -> Result<Vec<PathBuf>> {
    let mut command = buildpackage("any");
    // The compiler is not one of Debian's packages on this machine.
    command.args(["--host-arch=arm64", "--no-check-builddeps"]).env("KINST_PROGRAMS", programs);
    run(tree, build, command, &[format!("kinst_{}_arm64.deb", tree.version)])
}

fn buildpackage(packages: &str) -> Command {
    let mut command = Command::new("dpkg-buildpackage");
    // Not cleaned: the tree is new. Not signed: the publisher does that.
    command.args([&format!("--build={packages}"), "--no-pre-clean", "--no-sign"]);
    command
}

fn run(tree: &Tree, build: &Path, mut command: Command, packages: &[String]) -> Result<Vec<PathBuf>> {
    command.current_dir(&tree.dir);
    command.env("CARGO_TARGET_DIR", build).env("SOURCE_DATE_EPOCH", &tree.epoch).env("LC_ALL", "C.UTF-8");
    // The build must not inherit variables from cargo or from the user's shell.
    for variable in ["DEB_BUILD_OPTIONS", "RUSTFLAGS", "CARGO_ENCODED_RUSTFLAGS", "MAKEFLAGS", "CFLAGS"] {
        command.env_remove(variable);
    }
    exec::run(&mut command)?;
    let parent = tree.dir.parent().context("the tree is in a folder")?;
    Ok(packages.iter().map(|package| parent.join(package)).collect())
}

/// Copies the packages to `dir`.
pub(super) fn keep(packages: &[PathBuf], dir: &Path) -> Result<Vec<PathBuf>> {
    let mut kept = Vec::new();
    for package in packages {
        let copy = dir.join(name(package));
        fs::copy(package, &copy).with_context(|| format!("the build left no {}", package.display()))?;
        kept.push(copy);
    }
    Ok(kept)
}

/// Compares the list of each package's files with the one in packaging/lists; UPDATE=1 writes it.
pub(super) fn expect_lists(packages: &[PathBuf], tree: &Tree) -> Result<()> {
    for package in packages {
        let found = contents(package)?.replace(&format!("kinst-{}", tree.version), "kinst-VERSION");
        let kept = tree::list(name(package).split('_').next().unwrap_or_default());
        if std::env::var_os("UPDATE").is_some_and(|value| value == "1") {
            fs::create_dir_all(kept.parent().context("a list is in a folder")?)?;
            fs::write(&kept, &found)?;
        } else if fs::read_to_string(&kept).unwrap_or_default() != found {
            let list = package.with_extension("list");
            fs::write(&list, &found)?;
            let (kept, list) = (kept.display(), list.display());
            bail!(
                "the files of the package have changed: compare {kept} and {list}, and accept them with UPDATE=1"
            );
        }
    }
    Ok(())
}

/// The mode, owner and path of each file; sizes and dates differ from build to build.
fn contents(package: &Path) -> Result<String> {
    let text = exec::output(Command::new("dpkg-deb").env("TZ", "UTC").arg("--contents").arg(package))?;
    let mut list = String::new();
    for line in text.lines() {
        // MODE OWNER SIZE DATE TIME PATH; for a link `PATH -> TARGET`
        let words: Vec<_> = line.split_whitespace().collect();
        let [mode, owner, _, _, _, path, link @ ..] = &words[..] else { bail!("dpkg-deb wrote {line:?}") };
        list += &[&[*mode, *owner, *path], link].concat().join(" ");
        list.push('\n');
    }
    Ok(list)
}

/// Runs lintian on the packages; its errors fail the build.
pub(super) fn lint(arch: Arch, packages: &[PathBuf]) -> Result<()> {
    let mut command = Command::new("lintian");
    command.args(["--fail-on", "error", "--allow-root"]);
    if arch == Arch::Arm64 {
        // They run with the C library of every release.
        command.args(["--suppress-tags", "statically-linked-binary"]);
    }
    exec::run(command.args(packages))
}
