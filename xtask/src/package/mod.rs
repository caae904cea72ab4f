//! Building the packages: .deb and .rpm of the programs and of the module's source, and .deb packages of indices.

mod deb;
mod enrol;
mod guest;
mod index;
mod ours;
mod root;
mod rpm;
mod tree;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use anyhow::{Context, Result, bail};

use crate::kernels::{Arch, Kernel, Name};
use crate::{cache, exec, setup, workspace};
use tree::Tree;

#[derive(clap::Args)]
pub(crate) struct Options {
    /// The machine of the programs; for arm64 only the .deb of the programs is made
    #[arg(long, default_value = "amd64")]
    pub arch: Arch,
    /// The version of the packages [default: the one in Cargo.toml]
    #[arg(long, value_parser = tree::version)]
    pub version: Option<String>,
    /// Build everything again in another folder, and fail unless every byte is the same
    #[arg(long)]
    pub twice: bool,
    /// Also make a package with the index of this kernel, for systems without its debug information
    #[arg(long, value_name = "KERNEL")]
    pub index: Vec<Name>,
    /// Install, upgrade and purge the packages for amd64 in a separate Debian system (as root)
    #[arg(long)]
    pub test: bool,
}

pub(crate) fn main(options: &Options) -> Result<ExitCode> {
    let arch = options.arch;
    if options.test && arch != Arch::Amd64 {
        bail!("--test installs the packages for amd64: leave out --arch");
    }
    setup::host::ensure_for_packages(arch, options.test)?;
    let dir = workspace::target().join("package");
    let tree = Tree::of_head(&dir.join("source"), options.version.as_deref())?;
    let mut made = build(arch, &tree, &dir.join("build"), &dir)?;
    deb::expect_lists(&made, &tree)?;
    deb::lint(arch, &made)?;
    if arch == Arch::Amd64 {
        made.extend(rpm::build(&tree, &dir.join("build"), &dir)?);
    }
    let mut indices = options.index.clone();
    if options.test && !indices.contains(&Name::default()) {
        indices.push(Name::default());
    }
    let mut index = Vec::new();
    for name in indices {
        let package = index::build(&tree, &dir, &Kernel::need(name)?)?;
        deb::lint(arch, std::slice::from_ref(&package))?;
        index.push(package);
    }
    if options.twice {
        expect_same(arch, &tree, &made, &dir)?;
    }
    if options.test {
        root::test(&tree, &dir)?;
    }
    made.extend(index);
    for package in &made {
        println!("{}", package.display());
    }
    Ok(ExitCode::SUCCESS)
}

/// Makes the Debian packages in `dir` with the objects in `build`.
fn build(arch: Arch, tree: &Tree, build: &Path, dir: &Path) -> Result<Vec<PathBuf>> {
    let packages = match arch {
        Arch::Amd64 => deb::build(tree, build)?,
        Arch::Arm64 => {
            let programs = setup::cross::build(&tree.dir, &build.join("arm64"), true)?;
            deb::build_for_arm64(tree, build, &programs)?
        }
    };
    deb::keep(&packages, dir)
}

/// Builds again with other paths and other dates of files, and without earlier build products.
fn expect_same(arch: Arch, tree: &Tree, made: &[PathBuf], dir: &Path) -> Result<()> {
    let again = dir.join("again");
    cache::remove(&again)?;
    let second = Tree::of_head(&again.join("elsewhere"), Some(&tree.version))?;
    let objects = again.join("objects");
    let mut others = build(arch, &second, &objects, &again)?;
    if arch == Arch::Amd64 {
        others.extend(rpm::build(&second, &objects, &again)?);
    }
    for (one, other) in made.iter().zip(&others) {
        if fs::read(one)? != fs::read(other)? {
            bail!("{} and {} differ: diffoscope shows where", one.display(), other.display());
        }
        eprintln!("package: {} is the same twice", name(one));
    }
    cache::remove(&again)
}

fn name(path: &Path) -> String {
    path.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

/// The output of git in this checkout.
fn git(arguments: &[&str]) -> Result<String> {
    let text = exec::output(Command::new("git").current_dir(workspace::root()).args(arguments))
        .context("packages are made from the last commit")?;
    Ok(text.trim_end().to_owned())
}
