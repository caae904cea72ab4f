//! Debian's archive through apt with private sources and state: nothing below /etc or /var is written.

mod sources;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};

use crate::exec;

/// One or more suites of the archive that the machine's own apt configuration names.
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
    /// Writes the private sources list and fetches the package lists.
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
        for folder in ["lists/partial", "cache/archives/partial"] {
            fs::create_dir_all(dir.join(folder))?;
        }
        let mirrors = sources::machine()?;
        fs::write(dir.join("debian.sources"), sources::stanzas(&mirrors, &codename, &suites)?)?;
        fs::write(dir.join("status"), "")?;
        let archive = Archive { name, dir, codename, architecture };
        eprintln!("setup: reading the package lists of {}", suites.join(", "));
        exec::run(archive.command("apt-get").arg("-q").arg("update"))
            .context("the package lists cannot be fetched: is the network there?")?;
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

    /// Fetches packages into `dir`; apt checks their hashes. An interrupted download continues where it ended.
    pub fn download(&self, packages: &[String], dir: &Path) -> Result<Vec<PathBuf>> {
        fs::create_dir_all(dir)?;
        let plan = self.plan(packages)?;
        let bytes: u64 = plan.iter().map(|d| d.bytes).sum();
        eprintln!("setup: fetching {} packages, {} MB", plan.len(), bytes.div_ceil(1 << 20));
        exec::run(self.command("apt-get").arg("-q").arg("download").args(packages).current_dir(dir))?;
        let files: Vec<_> = plan.iter().map(|d| dir.join(&d.file)).collect();
        match files.iter().find(|f| !f.is_file()) {
            Some(absent) => bail!("apt-get download did not leave {}", absent.display()),
            None => Ok(files),
        }
    }

    /// Fetches packages, unpacks them into `root` without installing anything, and removes the packages.
    pub fn unpack(&self, packages: &[String], downloads: &Path, root: &Path) -> Result<()> {
        for package in self.download(packages, downloads)? {
            let name = package.file_name().unwrap_or_default().to_string_lossy().into_owned();
            eprintln!("setup: unpacking {name}");
            exec::run(Command::new("dpkg-deb").arg("-x").arg(&package).arg(root))?;
            fs::remove_file(&package)?;
        }
        Ok(())
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
