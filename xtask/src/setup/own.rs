//! The kernels that are built here from the release's own source, with debugging options: xtask/kernels/*.config.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};

use crate::apt::Archive;
use crate::kernels::{self, Arch, Kernel, Name};
use crate::setup::{instrument, kernel, release as system, source};
use crate::{cache, exec, steps};

const BASE: &str = include_str!("../../kernels/base.config");
const AMD64: &str = include_str!("../../kernels/base-amd64.config");
const ARM64: &str = include_str!("../../kernels/base-arm64.config");
const DEBUG: &str = include_str!("../../kernels/debug.config");
const KCSAN: &str = include_str!("../../kernels/kcsan.config");
const KCSAN_ARM64: &str = include_str!("../../kernels/kcsan-arm64.config");
const GCOV: &str = include_str!("../../kernels/gcov.config");
const COUNTED: &str = include_str!("../../kernels/counted.config");
const BARE: &str = include_str!("../../kernels/bare.config");

/// Bytes for the source, the build, the installed files, and the disk image made from those.
const SPACE: u64 = 16 << 30;

/// The Makefile line that adds gcov's counters.
const PROFILE: &str = "GCOV_PROFILE := y\n";

/// The configuration fragment of a built kernel, in its sysroot.
const FRAGMENT: &str = "boot/fragment.config";
/// The file in a tree that names the package of its source.
const SOURCE: &str = ".source";

/// Whether the kernel of that name is built locally.
pub(super) fn is_own(name: Name) -> bool {
    fragment(Arch::Amd64, name).is_some()
}

/// The options in addition to allnoconfig.
fn fragment(arch: Arch, name: Name) -> Option<String> {
    let machine = match arch {
        Arch::Amd64 => AMD64,
        Arch::Arm64 => ARM64,
    };
    let own = match (name, arch) {
        (Name::Debug, _) => DEBUG.to_owned(),
        (Name::Kcsan, Arch::Amd64) => KCSAN.to_owned(),
        (Name::Kcsan, Arch::Arm64) => [KCSAN, KCSAN_ARM64].concat(),
        (Name::Gcov, _) => GCOV.to_owned(),
        (Name::Counted, _) => COUNTED.to_owned() + &instrument::as_comment(),
        (Name::Bare, _) => BARE.to_owned(),
        _ => return None,
    };
    Some(without(&[BASE, machine].concat(), &own) + &own)
}

/// The lines of a fragment without the settings that another one overrides.
fn without(fragment: &str, other: &str) -> String {
    let made = |line: &str| {
        line.split_once('=').is_some_and(|(option, _)| {
            other.lines().any(|line| line.split_once('=').is_some_and(|(made, _)| made == option))
        })
    };
    fragment.split_inclusive('\n').filter(|line| !made(line)).collect()
}

/// Whether the kernel has the wanted configuration; always true for a kernel that is not built locally.
pub(super) fn is_current(kernel: &Kernel) -> bool {
    match (fragment(kernel.arch, kernel.name), &kernel.sysroot) {
        (Some(wanted), Some(root)) => is_of(root, &wanted),
        _ => true,
    }
}

/// Builds the kernel if it is missing or has another configuration. The caller holds the cache's lock.
pub(super) fn ensure(arch: Arch, name: Name, update: bool) -> Result<()> {
    let fragment = fragment(arch, name).context("a kernel that is built here has a configuration")?;
    if !update && is_of(&kernels::slot(arch, name)?, &fragment) {
        return Ok(());
    }
    cache::need_space(SPACE, "a kernel that is built here")?;
    let tree = Tree { arch, dir: source(arch, name, update)? };
    let word = kernels::word(arch, name);
    steps::step(format!("building the {word} kernel, half an hour and more on two processors"), |_| {
        build(name, &tree, &fragment)
    })
}

/// Whether a sysroot exists and its kernel has this configuration.
fn is_of(sysroot: &Path, fragment: &str) -> bool {
    cache::is_complete(sysroot) && fs::read_to_string(sysroot.join(FRAGMENT)).is_ok_and(|has| has == fragment)
}

/// The source of a kernel, with the products of earlier builds, complete or not.
struct Tree {
    arch: Arch,
    dir: PathBuf,
}

impl Tree {
    /// kbuild's target for the image that boots, and its file.
    fn image(&self) -> (&'static str, &'static str) {
        match self.arch {
            Arch::Amd64 => ("bzImage", "arch/x86/boot/bzImage"),
            Arch::Arm64 => ("Image", "arch/arm64/boot/Image"),
        }
    }

    fn make(&self) -> Command {
        let mut command = Command::new("make");
        let jobs = std::thread::available_parallelism().map_or(1, Into::into);
        command.arg("-s").arg("-C").arg(&self.dir).arg(format!("-j{jobs}")).env_remove("MAKEFLAGS");
        command.args(system::variables(self.arch));
        if self.arch == Arch::Arm64 {
            // Releases name folders, so that of another architecture must differ.
            command.arg("LOCALVERSION=-arm64");
        }
        command
    }
}

fn build(name: Name, tree: &Tree, fragment: &str) -> Result<()> {
    match name {
        Name::Gcov => append(&tree.dir.join("fs/ext4/Makefile"), PROFILE)?,
        Name::Counted => instrument::instrument(&tree.dir)?,
        _ => {}
    }
    configure(tree, fragment)?;
    exec::logged(tree.make().args([tree.image().0, "modules"]), &cache::log()?, || ())?;
    let release = exec::output(tree.make().arg("kernelrelease"))?.trim().to_owned();
    let sysroot = cache::dir()?.join("kernels").join(&release);
    cache::fill(&sysroot, |dir| {
        install(tree, dir, &release)?;
        Ok(fs::write(dir.join(FRAGMENT), fragment)?)
    })?;
    kernel::point(tree.arch, name, &release)
}

/// The folder of the kernel's build tree. It gets the newest source if the tree is new or an update is requested. It
/// is not removed, since modules are built against it.
fn source(arch: Arch, name: Name, update: bool) -> Result<PathBuf> {
    let cache = cache::dir()?;
    let tree = cache.join("builds").join(kernels::word(arch, name));
    if cache::is_complete(&tree) && !update {
        return Ok(tree);
    }
    let brings = format!("the source of the kernel {name}");
    let base = name.base(arch);
    let archive = Archive::open(&cache, base.suite(), kernel::purpose(&brings))?;
    let package = source::package_of(base);
    let file = archive.plan(std::slice::from_ref(&package))?.remove(0).file;
    if cache::is_complete(&tree) && fs::read_to_string(tree.join(SOURCE)).is_ok_and(|has| has == file) {
        return Ok(tree);
    }
    cache::fill(&tree, |dir| {
        source::unpack_package(&archive, &package, dir, &[""; 0])?;
        Ok(fs::write(dir.join(SOURCE), file)?)
    })?;
    Ok(tree)
}

/// Adds lines to a Makefile; they replace the lines of an earlier build.
pub(super) fn append(makefile: &Path, lines: &str) -> Result<()> {
    const MARK: &str = "# What kinst adds:\n";
    let text = fs::read_to_string(makefile).with_context(|| format!("{}", makefile.display()))?;
    let before = text.split_once(MARK).map_or(&*text, |(before, _)| before);
    write(makefile, &[before, MARK, lines].concat())
}

/// Writes a file of the tree if its contents differ: a newer date would cause a rebuild.
pub(super) fn write(file: &Path, text: &str) -> Result<()> {
    if fs::read_to_string(file).is_ok_and(|has| has == text) {
        return Ok(());
    }
    fs::write(file, text).with_context(|| format!("cannot write {}", file.display()))
}

/// Turns every option off except those of the fragment and their dependencies.
fn configure(tree: &Tree, fragment: &str) -> Result<()> {
    let file = tree.dir.join(".fragment");
    fs::write(&file, fragment)?;
    exec::run(tree.make().arg(format!("KCONFIG_ALLCONFIG={}", file.display())).arg("allnoconfig"))?;
    let lost = lost(fragment, &fs::read_to_string(tree.dir.join(".config"))?);
    if !lost.is_empty() {
        bail!("the source rejects {}: check their dependencies", lost.join(", "));
    }
    Ok(())
}

/// The settings of the fragment that the configuration lacks.
fn lost<'a>(fragment: &'a str, config: &str) -> Vec<&'a str> {
    let settings = fragment.lines().filter(|line| line.starts_with("CONFIG_"));
    let has = |setting: &&str| match setting.strip_suffix("=n") {
        Some(option) => !config.lines().any(|line| line.starts_with(&format!("{option}="))),
        None => config.lines().any(|line| line == *setting),
    };
    settings.filter(|setting| !has(setting)).collect()
}

/// Installs the kernel's files in the layout of Debian's packages.
fn install(tree: &Tree, dir: &Path, release: &str) -> Result<()> {
    let debug = dir.join("usr/lib/debug");
    for folder in [dir.join("boot"), debug.join("boot"), dir.join("usr/src")] {
        fs::create_dir_all(folder)?;
    }
    for (from, to) in [
        (tree.image().1, format!("boot/vmlinuz-{release}")),
        ("System.map", format!("boot/System.map-{release}")),
        (".config", format!("boot/config-{release}")),
        ("vmlinux", format!("usr/lib/debug/boot/vmlinux-{release}")),
    ] {
        fs::copy(tree.dir.join(from), dir.join(to)).with_context(|| format!("the build left no {from}"))?;
    }
    let modules = |root: &Path, strip: &[&str]| -> Result<()> {
        let root_word = format!("INSTALL_MOD_PATH={}", root.display());
        exec::run(tree.make().arg(root_word).args(strip).arg("modules_install"))?;
        for link in ["build", "source"] {
            let _ = fs::remove_file(root.join("lib/modules").join(release).join(link));
        }
        Ok(())
    };
    modules(dir, &["INSTALL_MOD_STRIP=1"])?;
    modules(&debug, &[])?;
    Ok(symlink(&tree.dir, dir.join(format!("usr/src/linux-headers-{release}")))?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_setting_that_the_source_does_not_take_is_named() {
        let config = "CONFIG_A=y\n# CONFIG_B is not set\nCONFIG_C=m\n";
        assert_eq!(lost("# words\nCONFIG_A=y\nCONFIG_B=n\nCONFIG_D=n\n", config), [""; 0]);
        assert_eq!(
            lost("CONFIG_C=y\nCONFIG_B=y\nCONFIG_A=n\n", config),
            ["CONFIG_C=y", "CONFIG_B=y", "CONFIG_A=n"]
        );
    }

    #[test]
    fn a_setting_that_another_fragment_makes_is_left_out() {
        let base = "# words\nCONFIG_A=y\nCONFIG_A_B=y\nCONFIG_C=m\n";
        assert_eq!(without(base, "CONFIG_A=n\nCONFIG_C=y\n"), "# words\nCONFIG_A_B=y\n");
    }

    #[test]
    fn a_setting_is_made_once() {
        let names = [Name::Debug, Name::Kcsan, Name::Gcov, Name::Counted, Name::Bare];
        let of_arm64 = [Name::Debug, Name::Kcsan].map(|name| (Arch::Arm64, name));
        for (arch, name) in names.map(|name| (Arch::Amd64, name)).into_iter().chain(of_arm64) {
            let fragment = fragment(arch, name).unwrap();
            let settings = fragment.lines().filter(|line| line.starts_with("CONFIG_"));
            let mut options: Vec<_> = settings.filter_map(|l| l.split_once('=')).map(|(o, _)| o).collect();
            options.sort_unstable();
            let all = options.len();
            options.dedup();
            assert_eq!(options.len(), all, "{name}");
        }
    }
}
