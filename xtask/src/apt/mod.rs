//! Debian's archive through apt with private sources and state: nothing below /etc or /var is written.

mod sources;

use std::fs;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{Mutex, PoisonError};

use anyhow::{Context, Result, bail};

use crate::steps::{self, Step, megabytes};
use crate::{cache, exec};

/// The archives whose package lists this process has fetched.
static OPENED: Mutex<Vec<Archive>> = Mutex::new(Vec::new());

/// One or more suites of the archive that the machine's own apt configuration names.
#[derive(Clone)]
pub struct Archive {
    name: &'static str,
    dir: PathBuf,
    codename: String,
    /// The architecture of the packages, unless it is the machine's own.
    architecture: Option<&'static str>,
}

/// The part of the archive to look at.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Suite {
    /// The machine's own release with its updates and security updates.
    Release,
    /// The release and its backports, for programs that run on the machine itself.
    WithBackports,
    /// Only the backports of the machine's release.
    Backports,
    /// Debian's rolling development suite.
    Sid,
}

/// A file of the archive that a package comes in.
pub struct Download {
    pub file: String,
    pub bytes: u64,
}

/// The archive's data about a package.
pub struct Package {
    pub name: String,
    /// The first alternative of each dependency and every other alternative, by name alone.
    pub depends: Vec<String>,
}

impl Archive {
    /// Writes the private sources list and fetches the package lists, once in a process.
    pub fn open(cache: &Path, suite: Suite) -> Result<Archive> {
        Archive::of(cache, suite, None)
    }

    /// Like [`Archive::open`], for the packages of another architecture, none of which runs on this machine.
    pub fn foreign(cache: &Path, suite: Suite, architecture: &'static str) -> Result<Archive> {
        Archive::of(cache, suite, Some(architecture))
    }

    fn of(cache: &Path, suite: Suite, architecture: Option<&'static str>) -> Result<Archive> {
        let codename = sources::codename()?;
        let (name, suites): (_, Vec<String>) = match suite {
            Suite::Release => ("release", release_suites(&codename)),
            Suite::WithBackports => {
                let mut suites = release_suites(&codename);
                suites.push(format!("{codename}-backports"));
                ("with-backports", suites)
            }
            Suite::Backports => ("backports", vec![format!("{codename}-backports")]),
            Suite::Sid => ("sid", vec!["sid".into()]),
        };
        let folder = architecture.map_or(name.to_owned(), |other| format!("{name}-{other}"));
        let dir = cache.join("apt").join(folder);
        let mut opened = OPENED.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(archive) = opened.iter().find(|archive| archive.dir == dir) {
            return Ok(archive.clone());
        }
        for folder in ["lists/partial", "cache/archives/partial"] {
            fs::create_dir_all(dir.join(folder))?;
        }
        let mirrors = sources::machine()?;
        fs::write(dir.join("debian.sources"), sources::stanzas(&mirrors, &codename, &suites)?)?;
        fs::write(dir.join("status"), "")?;
        let archive = Archive { name, dir, codename, architecture };
        steps::step(format!("the package lists of {name}"), |_| {
            exec::logged(archive.command("apt-get").arg("-q").arg("update"), &cache::log()?, || ())
                .context("the package lists cannot be fetched: is the network there?")
        })?;
        opened.push(archive.clone());
        Ok(archive)
    }

    /// apt, set up to leave the machine's own state alone. What is installed still counts.
    fn command(&self, program: &str) -> Command {
        let mut command = Command::new(program);
        let dir = self.dir.display();
        command.env("LC_ALL", "C").env("DEBIAN_FRONTEND", "noninteractive");
        for option in [
            format!("Dir::Etc::SourceList={dir}/debian.sources"),
            "Dir::Etc::SourceParts=/dev/null".into(),
            "Dir::Etc::Preferences=/dev/null".into(),
            "Dir::Etc::PreferencesParts=/dev/null".into(),
            format!("Dir::State::Lists={dir}/lists"),
            format!("Dir::Cache={dir}/cache"),
            // The cache belongs to the user of setup, which may be root: apt's own user cannot write there.
            "APT::Sandbox::User=root".into(),
            "Acquire::Retries=3".into(),
            "Acquire::Languages=none".into(),
            // Descriptions for graphical shops.
            "Acquire::IndexTargets::deb::DEP-11::DefaultEnabled=false".into(),
        ] {
            command.arg("-o").arg(option);
        }
        if let Some(architecture) = self.architecture {
            command.arg("-o").arg(format!("APT::Architecture={architecture}"));
            command.arg("-o").arg(format!("APT::Architectures={architecture}"));
        }
        command
    }

    /// The file with the sources, for other programs that fetch packages.
    pub fn sources(&self) -> PathBuf {
        self.dir.join("debian.sources")
    }

    /// The name of the machine's release.
    pub fn codename(&self) -> &str {
        &self.codename
    }

    fn nothing_installed(&self) -> String {
        format!("Dir::State::status={}/status", self.dir.display())
    }

    /// The newest version of a package, or None if these suites do not have it.
    pub fn show(&self, package: &str) -> Result<Option<Package>> {
        let mut command = self.command("apt-cache");
        // Without the machine's status file an installed version cannot hide the archive's newest.
        command.arg("-o").arg(self.nothing_installed());
        let out = exec::captured(command.args(["show", "--no-all-versions", package]))?;
        if !out.status.success() {
            return Ok(None);
        }
        let text = String::from_utf8_lossy(&out.stdout);
        let field = |name: &str| text.lines().find_map(|l| l.strip_prefix(name)).unwrap_or("").trim();
        let depends = field("Depends:").split([',', '|']).filter_map(|d| d.split_whitespace().next());
        Ok(Some(Package { name: field("Package:").into(), depends: depends.map(Into::into).collect() }))
    }

    /// Like [`Archive::show`] for a package that must be there.
    pub fn need(&self, package: &str) -> Result<Package> {
        self.show(package)?.with_context(|| format!("the archive has no package {package} in {}", self.name))
    }

    /// The packages that installing `package` would add to this machine, itself included, backports preferred.
    pub fn missing_closure(&self, package: &str) -> Result<Vec<String>> {
        let target = format!("{}-backports", self.codename);
        closure(self.command("apt-get").args(["-t", &target]), &[package])
    }

    /// These packages and everything that they depend on, for a machine on which nothing is installed.
    pub fn whole_closure(&self, packages: &[&str]) -> Result<Vec<String>> {
        let mut command = self.command("apt-get");
        closure(command.arg("-o").arg(self.nothing_installed()), packages)
    }

    /// The files that fetching these packages would download.
    pub fn plan(&self, packages: &[String]) -> Result<Vec<Download>> {
        let text = exec::output(self.command("apt-get").args(["download", "--print-uris"]).args(packages))?;
        let parse = |line: &str| {
            // 'URI' FILE BYTES HASH
            let mut words = line.split_whitespace().skip(1);
            Some(Download { file: words.next()?.into(), bytes: words.next()?.parse().ok()? })
        };
        text.lines().map(|l| parse(l).with_context(|| format!("apt-get download wrote {l:?}"))).collect()
    }

    /// Fetches packages into a folder, which is a step of its own, and returns their files.
    pub fn download(&self, what: &str, packages: &[String], dir: &Path) -> Result<Vec<PathBuf>> {
        steps::step(what, |step| self.fetch(packages, dir, step))
    }

    /// Fetches packages; apt checks their hashes. An interrupted download continues where it ended.
    fn fetch(&self, packages: &[String], dir: &Path, step: &Step) -> Result<Vec<PathBuf>> {
        fs::create_dir_all(dir)?;
        let plan = self.plan(packages)?;
        let bytes: u64 = plan.iter().map(|d| d.bytes).sum();
        let files: Vec<_> = plan.iter().map(|d| dir.join(&d.file)).collect();
        let look = || {
            let there: u64 = files.iter().filter_map(|file| Some(fs::metadata(file).ok()?.len())).sum();
            step.at(format!("{} of {} fetched", megabytes(there), megabytes(bytes)));
        };
        let mut apt = self.command("apt-get");
        exec::logged(apt.arg("-q").arg("download").args(packages).current_dir(dir), &cache::log()?, look)?;
        step.brings(bytes);
        match files.iter().find(|f| !f.is_file()) {
            Some(absent) => bail!("apt-get download did not leave {}", absent.display()),
            None => Ok(files),
        }
    }

    /// Fetches packages, unpacks them into `root` without installing anything, and removes the packages: a step of its
    /// own, named after what they are together.
    pub fn unpack(&self, what: &str, packages: &[String], root: &Path) -> Result<()> {
        let downloads = cache::dir()?.join("downloads");
        steps::step(what, |step| {
            for package in self.fetch(packages, &downloads, step)? {
                unpack(&package, root, step)?;
                fs::remove_file(&package)?;
            }
            Ok(())
        })
    }
}

/// Unpacks one package.
fn unpack(package: &Path, root: &Path, step: &Step) -> Result<()> {
    let name = package.file_name().unwrap_or_default().to_string_lossy();
    let name = name.split('_').next().unwrap_or_default();
    let field = exec::output(Command::new("dpkg-deb").arg("-f").arg(package).arg("Installed-Size"))?;
    // In KiB, and no more than an estimate.
    let whole = field.trim().parse::<u64>().unwrap_or(0) << 10;
    fs::create_dir_all(root)?;
    let mut from = Command::new("dpkg-deb");
    let mut from =
        from.arg("--fsys-tarfile").arg(package).stdin(Stdio::null()).stdout(Stdio::piped()).spawn()?;
    let mut to = Command::new("tar");
    let mut to = to.args(["-xp", "-f", "-", "-C"]).arg(root).stdin(Stdio::piped()).spawn()?;
    let copied = match (from.stdout.take(), to.stdin.take()) {
        (Some(from), Some(to)) => copy(from, to, |done| {
            let part = (done * 100).checked_div(whole).unwrap_or(0).min(100);
            step.at(format!("unpacking {name}, {part} %"));
        }),
        _ => bail!("dpkg-deb and tar have no streams"),
    };
    let ends = [from.wait()?, to.wait()?];
    if copied.is_err() || ends.iter().any(|status| !status.success()) {
        bail!("{} cannot be unpacked: is the disk full?", package.display());
    }
    Ok(())
}

fn copy(mut from: impl Read, mut to: impl Write, mut look: impl FnMut(u64)) -> std::io::Result<()> {
    let mut buffer = vec![0; 1 << 20];
    let mut done = 0;
    loop {
        let length = from.read(&mut buffer)?;
        if length == 0 {
            return Ok(());
        }
        to.write_all(&buffer[..length])?;
        done += length as u64;
        look(done);
    }
}

/// The packages that `apt-get install` would install, as NAME=VERSION.
fn closure(apt_get: &mut Command, packages: &[&str]) -> Result<Vec<String>> {
    apt_get.args(["install", "--simulate", "--no-install-recommends"]).args(packages);
    let plan = exec::output(apt_get)?;
    // A line of the plan is `Inst NAME [INSTALLED] (VERSION SUITE [ARCH])`.
    let named = plan.lines().filter_map(|l| l.strip_prefix("Inst ")).filter_map(|l| {
        let name = l.split_whitespace().next()?;
        let version = l.split_once('(')?.1.split_whitespace().next()?;
        Some(format!("{name}={version}"))
    });
    Ok(named.collect())
}

fn release_suites(codename: &str) -> Vec<String> {
    vec![codename.to_owned(), format!("{codename}-updates"), format!("{codename}-security")]
}
