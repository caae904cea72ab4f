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

use crate::kernels::{Kernel, Name};
use crate::{cache, exec, setup, workspace};
use tree::Tree;

#[derive(clap::Args)]
pub(crate) struct Options {
    /// The version of the packages [default: the one in Cargo.toml]
    #[arg(long, value_parser = tree::version)]
    pub version: Option<String>,
    /// Build everything again in another folder, and fail unless every byte is the same
    #[arg(long)]
    pub twice: bool,
    /// Also make a package with the index of this kernel, for systems without its debug information
    #[arg(long, value_name = "KERNEL")]
    pub index: Vec<Name>,
    /// Install, upgrade and purge the packages in a separate Debian system (as root)
    #[arg(long)]
    pub test: bool,
}

pub(crate) fn main(options: &Options) -> Result<ExitCode> {
    setup::host::ensure_for_packages(options.test)?;
    let dir = workspace::target().join("package");
    let tree = Tree::of_head(&dir.join("source"), options.version.as_deref())?;
    let packages = deb::build(&tree, &dir.join("build"))?;
    let mut made = deb::keep(&packages, &dir)?;
    deb::expect_lists(&made, &tree)?;
    deb::lint(&made)?;
    made.extend(rpm::build(&tree, &dir.join("build"), &dir)?);
    let mut indices = options.index.clone();
    if options.test && !indices.contains(&Name::default()) {
        indices.push(Name::default());
    }
    let mut index = Vec::new();
    for name in indices {
        let package = index::build(&tree, &dir, &Kernel::need(name)?)?;
        deb::lint(std::slice::from_ref(&package))?;
        index.push(package);
    }
    if options.twice {
        expect_same(&tree, &made, &dir)?;
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

/// Builds again with other paths and other dates of files, and without earlier build products.
fn expect_same(tree: &Tree, made: &[PathBuf], dir: &Path) -> Result<()> {
    let again = dir.join("again");
    cache::remove(&again)?;
    let second = Tree::of_head(&again.join("elsewhere"), Some(&tree.version))?;
    let build = again.join("objects");
    let packages = deb::build(&second, &build)?;
    let mut others = deb::keep(&packages, &again)?;
    others.extend(rpm::build(&second, &build, &again)?);
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
