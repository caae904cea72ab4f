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
pub(crate) struct Archive {
    dir: PathBuf,
    suites: Vec<String>,
    codename: String,
    /// The architecture of the packages, unless it is the machine's own.
    architecture: Option<&'static str>,
}

/// A release of Debian whose kernels guests run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Debian {
    Bookworm,
    Trixie,
}

impl Debian {
    pub(crate) fn codename(self) -> &'static str {
        match self {
            Debian::Bookworm => "bookworm",
            Debian::Trixie => "trixie",
        }
    }

    /// Whether it is this machine's release.
    pub(crate) fn is_host(self) -> bool {
        sources::host().is_some_and(|host| host == self.codename())
    }
}

/// The part of the archive to look at: a release is one with its updates and security updates.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Suite {
    /// The machine's own release.
    Host,
    /// The machine's own release with its backports.
    HostWithBackports,
    Release(Debian),
    /// A release with its backports.
    WithBackports(Debian),
}

impl Suite {
    fn codename(self) -> Result<String> {
        match self {
            Suite::Host | Suite::HostWithBackports => sources::codename(),
            Suite::Release(release) | Suite::WithBackports(release) => Ok(release.codename().to_owned()),
        }
    }

    fn has_backports(self) -> bool {
        matches!(self, Suite::HostWithBackports | Suite::WithBackports(_))
    }
}

/// The use of the fetched files, for the error if they cannot be fetched.
#[derive(Clone, Copy)]
pub(crate) struct Purpose<'a> {
    /// The name of the fetched part.
    pub brings: &'a str,
    /// How to go on without it.
    pub instead: &'a str,
}

/// The file of a package in the archive.
pub(crate) struct Download {
    pub file: String,
    pub bytes: u64,
}

/// The archive's data about a package.
pub(crate) struct Package {
    pub name: String,
    /// The names of the first and of every other alternative of each dependency.
    pub depends: Vec<String>,
}

impl Archive {
    /// Writes the private sources list and fetches the package lists, once in a process.
    pub(crate) fn open(cache: &Path, suite: Suite, purpose: Purpose) -> Result<Archive> {
        Archive::of(cache, suite, None, purpose)
    }

    /// Like [`Archive::open`], for the packages of another architecture, none of which runs on this machine.
    pub(crate) fn foreign(
        cache: &Path,
        suite: Suite,
        architecture: &'static str,
        purpose: Purpose,
    ) -> Result<Archive> {
        Archive::of(cache, suite, Some(architecture), purpose)
    }

    fn of(
        cache: &Path,
        suite: Suite,
        architecture: Option<&'static str>,
        purpose: Purpose,
    ) -> Result<Archive> {
        let codename = suite.codename()?;
        let backports = format!("{codename}-backports");
        let mut suites =
            vec![codename.clone(), format!("{codename}-updates"), format!("{codename}-security")];
        let mut name = codename.clone();
        if suite.has_backports() {
            suites.push(backports.clone());
            name += "-with-backports";
        }
        let folder = architecture.map_or(name.clone(), |other| format!("{name}-{other}"));
        let dir = cache.join("apt").join(folder);
        let mut opened = OPENED.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(archive) = opened.iter().find(|archive| archive.dir == dir) {
            return Ok(archive.clone());
        }
        for folder in ["lists/partial", "cache/archives/partial"] {
            fs::create_dir_all(dir.join(folder))?;
        }
        fs::write(dir.join("status"), "")?;
        let mut archive = Archive { dir, suites, codename, architecture };
        steps::step(format!("the package lists of {name}"), |_| {
            archive.update(purpose, |suite| suite == archive.codename || suite == backports)
        })?;
        archive.suites = archive.fetched()?;
        opened.push(archive.clone());
        Ok(archive)
    }

    /// Fetches the package lists. It is an error if a needed suite fails; without another one, packages may be older.
    fn update(&self, purpose: Purpose, is_needed: impl Fn(&str) -> bool) -> Result<()> {
        let Purpose { brings, instead } = purpose;
        let attempt = |suites: &[String]| -> Result<()> {
            fs::write(self.dir.join("debian.sources"), sources::stanzas(&sources::machine()?, suites)?)?;
            // A missing or expired list would only be a warning.
            let mut apt = self.command("apt-get");
            apt.args(["-q", "-o", "APT::Update::Error-Mode=any", "update"]);
            exec::logged(&mut apt, &cache::log()?, || ())
        };
        let Err(error) = attempt(&self.suites) else { return Ok(()) };
        let said = error.to_string();
        let (failed, rest): (Vec<_>, Vec<_>) =
            self.suites.iter().cloned().partition(|suite| names(&said, suite));
        let failed = if failed.is_empty() { self.suites.clone() } else { failed };
        if failed.iter().any(|suite| is_needed(suite)) {
            let reasons: String =
                said.lines().filter(|l| l.trim_start().starts_with("E:")).map(|l| format!("{l}\n")).collect();
            bail!(
                "{} cannot be fetched, and {brings} comes from there\n{reasons}  without it: {instead}\n  the whole of apt's \
                 output is in {}",
                failed.join(" and "),
                cache::log()?.display()
            );
        }
        steps::say(&format!(
            "setup: {} cannot be fetched: {brings} may be older than it could be",
            failed.join(", ")
        ));
        attempt(&rest)
    }

    /// The suites that are in the sources.
    fn fetched(&self) -> Result<Vec<String>> {
        let text = fs::read_to_string(self.sources())?;
        Ok(text.lines().filter_map(|line| line.strip_prefix("Suites: ")).map(str::to_owned).collect())
    }

    /// apt, set up not to change the machine's own state. It still sees the installed packages.
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
            // Descriptions for graphical package managers.
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
    pub(crate) fn sources(&self) -> PathBuf {
        self.dir.join("debian.sources")
    }

    /// The name of the machine's release.
    pub(crate) fn codename(&self) -> &str {
        &self.codename
    }

    fn nothing_installed(&self) -> String {
        format!("Dir::State::status={}/status", self.dir.display())
    }

    /// The newest version of a package, or None if these suites do not have it.
    pub(crate) fn show(&self, package: &str) -> Result<Option<Package>> {
        let mut command = self.command("apt-cache");
        // Without the machine's status file an installed version cannot hide the archive's newest.
        command.arg("-o").arg(self.nothing_installed());
        let out = exec::captured(command.args(["show", "--no-all-versions", package]))?;
        if !out.status.success() {
            return Ok(None);
        }
        let text = String::from_utf8_lossy(&out.stdout);
        let field = |name: &str| text.lines().find_map(|l| l.strip_prefix(name)).unwrap_or("").trim();
        // A name that others only depend on has no version to show.
        let name = field("Package:");
        if name.is_empty() {
            return Ok(None);
        }
        let depends = field("Depends:").split([',', '|']).filter_map(|d| d.split_whitespace().next());
        Ok(Some(Package { name: name.into(), depends: depends.map(Into::into).collect() }))
    }

    /// Like [`Archive::show`]; a missing package is an error.
    pub(crate) fn need(&self, package: &str) -> Result<Package> {
        self.show(package)?.with_context(|| format!("no package {package} in {}", self.suites()))
    }

    /// The names of packages with this prefix; some of them may have no version in these suites.
    pub(crate) fn named(&self, prefix: &str) -> Result<Vec<String>> {
        let text = exec::output(self.command("apt-cache").args(["pkgnames", prefix]))?;
        Ok(text.lines().map(str::to_owned).collect())
    }

    /// The suites that the packages come from.
    pub(crate) fn suites(&self) -> String {
        self.suites.join(", ")
    }

    fn preferring_backports(&self) -> Command {
        let mut command = self.command("apt-get");
        if let Some(backports) = self.suites.iter().find(|suite| suite.ends_with("-backports")) {
            command.arg("-t").arg(backports);
        }
        command
    }

    /// The packages that installing `package` would add to this machine, itself included.
    pub(crate) fn missing_closure(&self, package: &str) -> Result<Vec<String>> {
        closure(&mut self.preferring_backports(), &[package])
    }

    /// These packages and everything that they depend on, for a machine on which nothing is installed.
    pub(crate) fn whole_closure(&self, packages: &[&str]) -> Result<Vec<String>> {
        let mut command = self.preferring_backports();
        closure(command.arg("-o").arg(self.nothing_installed()), packages)
    }

    /// The files that fetching these packages would download.
    pub(crate) fn plan(&self, packages: &[String]) -> Result<Vec<Download>> {
        let mut command = self.preferring_backports();
        // apt omits files that are in the current folder.
        command.args(["download", "--print-uris"]).args(packages).current_dir(&self.dir);
        let text = exec::output(&mut command)?;
        let parse = |line: &str| {
            // 'URI' FILE BYTES HASH
            let mut words = line.split_whitespace().skip(1);
            Some(Download { file: words.next()?.into(), bytes: words.next()?.parse().ok()? })
        };
        text.lines().map(|l| parse(l).with_context(|| format!("apt-get download wrote {l:?}"))).collect()
    }

    /// Fetches packages into a folder, as a separate step, and returns their files.
    pub(crate) fn download(&self, what: &str, packages: &[String], dir: &Path) -> Result<Vec<PathBuf>> {
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
        let mut apt = self.preferring_backports();
        exec::logged(apt.arg("-q").arg("download").args(packages).current_dir(dir), &cache::log()?, look)?;
        step.brings(bytes);
        match files.iter().find(|f| !f.is_file()) {
            Some(absent) => bail!("apt-get download did not leave {}", absent.display()),
            None => Ok(files),
        }
    }

    /// Fetches packages, unpacks them into `root` without installing anything, and removes the packages: a separate
    /// step with the given name.
    pub(crate) fn unpack(&self, what: &str, packages: &[String], root: &Path) -> Result<()> {
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
    // In KiB, and only an estimate.
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

/// Whether apt's output says that this suite cannot be fetched.
fn names(said: &str, suite: &str) -> bool {
    let told = |line: &&str| ["E:", "W:", "Err:"].iter().any(|mark| line.trim_start().starts_with(mark));
    let ways = [format!("dists/{suite}/"), format!(" {suite} InRelease"), format!(" {suite} Release")];
    said.lines().filter(told).any(|line| ways.iter().any(|way| line.contains(way)))
}

/// The numeric parts of a version: enough to order the kernels of a series.
pub(crate) fn numbers(version: &str) -> Vec<u64> {
    version.split(|c: char| !c.is_ascii_digit()).filter_map(|part| part.parse().ok()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_suite_that_apt_complains_of_is_found() {
        let said = "Get:1 http://a trixie InRelease\n  E: Release file for http://a/dists/sid/InRelease is expired\n\
                    Err:4 http://a trixie-backports InRelease\nE: The repository 'http://b x Release' does not have a \
                    Release file.\n";
        assert!(names(said, "sid") && names(said, "trixie-backports") && names(said, "x"));
        assert!(!names(said, "trixie"));
    }

    #[test]
    fn versions_are_ordered_by_their_numbers() {
        assert!(numbers("6.12.118+deb13") > numbers("6.12.95+deb13.1"));
        assert!(numbers("6.1.0-56") > numbers("6.1.0-9"));
    }
}
