//! The Debian packages, built by Debian's tools from packaging/debian.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};

use super::{name, tree};
use crate::exec;
use tree::Tree;

/// Builds the packages with the objects in `build`, and returns where dpkg has put them.
pub(super) fn build(tree: &Tree, build: &Path) -> Result<Vec<PathBuf>> {
    let mut command = Command::new("dpkg-buildpackage");
    // Not cleaned: the tree is new. Not signed: the publisher does that.
    command.current_dir(&tree.dir).args(["--build=binary", "--no-pre-clean", "--no-sign"]);
    command.env("CARGO_TARGET_DIR", build).env("SOURCE_DATE_EPOCH", &tree.epoch).env("LC_ALL", "C.UTF-8");
    // The build must not inherit variables from cargo or from the user's shell.
    for variable in ["DEB_BUILD_OPTIONS", "RUSTFLAGS", "CARGO_ENCODED_RUSTFLAGS", "MAKEFLAGS", "CFLAGS"] {
        command.env_remove(variable);
    }
    exec::run(&mut command)?;
    let parent = tree.dir.parent().context("the tree is in a folder")?;
    let version = &tree.version;
    Ok([format!("kinst_{version}_amd64.deb"), format!("kinst-dkms_{version}_all.deb")]
        .map(|f| parent.join(f))
        .into())
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
pub(super) fn lint(packages: &[PathBuf]) -> Result<()> {
    let mut command = Command::new("lintian");
    command.args(["--fail-on", "error", "--allow-root"]).args(packages);
    exec::run(&mut command)
}
