//! The source that packages are built from: the last commit, unpacked, with its version and date.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};

use super::{git, ours};
use crate::{cache, exec, workspace};

/// An unpacked commit.
pub(super) struct Tree {
    pub dir: PathBuf,
    pub version: String,
    /// The date of the commit in seconds; all files of the packages get it.
    pub epoch: String,
}

impl Tree {
    /// Unpacks the last commit into a folder below `parent`, as `version` if that is given.
    pub(super) fn of_head(parent: &Path, version: Option<&str>) -> Result<Tree> {
        if !git(&["status", "--porcelain", "--untracked-files=no"])?.is_empty() {
            eprintln!("package: changes that are not committed are left out");
        }
        cache::remove(parent)?;
        let dir = parent.join("kinst");
        fs::create_dir_all(&dir)?;
        let tar = parent.join("source.tar");
        git(&["archive", "--output", &tar.display().to_string(), "HEAD"])?;
        // Files get the current time: cargo treats a file older than its last build as unchanged.
        exec::run(Command::new("tar").arg("-xmf").arg(&tar).arg("-C").arg(&dir))?;
        fs::remove_file(tar)?;
        let own = own_version(&dir)?;
        let version = version.unwrap_or(&own).to_owned();
        set_version(&dir, &own, &version)?;
        let tree = Tree { dir, version, epoch: git(&["log", "-1", "--format=%ct"])? };
        tree.debian()?;
        Ok(tree)
    }

    /// Puts the packaging where Debian's tools look for it, and adds the files that depend on the commit.
    fn debian(&self) -> Result<()> {
        let (packaging, debian) = (self.dir.join("packaging/debian"), self.dir.join("debian"));
        fs::rename(&packaging, &debian).context("the commit has no packaging/debian")?;
        let maintainer = maintainer()?;
        let control = debian.join("control");
        fs::write(&control, fs::read_to_string(&control)?.replace("@MAINTAINER@", &maintainer))?;
        let date = git(&["log", "-1", "--format=%cD"])?;
        let changelog = format!(
            "kinst ({}) unstable; urgency=medium\n\n  * The changes are in CHANGELOG.md.gz beside this file.\n\n \
             -- {maintainer}  {date}\n",
            self.version
        );
        fs::write(debian.join("changelog"), changelog)?;
        fs::write(debian.join("crates"), ours::crates(&self.dir)?)?;
        Ok(())
    }
}

/// The maintainer of the packages, from the environment variables of Debian's tools, or else the commit's author.
pub(super) fn maintainer() -> Result<String> {
    match (std::env::var("DEBFULLNAME"), std::env::var("DEBEMAIL")) {
        (Ok(name), Ok(mail)) => Ok(format!("{name} <{mail}>")),
        _ => git(&["log", "-1", "--format=%an <%ae>"]),
    }
}

/// A version that dpkg, rpm, cargo and DKMS all accept.
pub(super) fn version(text: &str) -> Result<String, String> {
    let parts: Vec<_> = text.split('.').collect();
    let number = |part: &&str| part.parse::<u32>().is_ok_and(|n| n.to_string() == **part);
    if parts.len() == 3 && parts.iter().all(number) {
        Ok(text.to_owned())
    } else {
        Err("a version is three numbers, as 1.2.3".into())
    }
}

fn own_version(dir: &Path) -> Result<String> {
    let text = fs::read_to_string(dir.join("Cargo.toml"))?;
    let value = text.lines().find_map(|line| line.strip_prefix("version = \"")?.strip_suffix('"'));
    Ok(value.context("Cargo.toml has no version")?.to_owned())
}

/// Writes the version in each file that contains it.
fn set_version(dir: &Path, own: &str, version: &str) -> Result<()> {
    let places = [
        ("Cargo.toml", "\nversion = \"", "\"\n"),
        ("Cargo.lock", "\nname = \"kinst\"\nversion = \"", "\"\n"),
        ("kmod/dkms.conf", "\nPACKAGE_VERSION=\"", "\"\n"),
    ];
    for (file, before, after) in places {
        let path = dir.join(file);
        let text = fs::read_to_string(&path)?;
        let found = format!("{before}{own}{after}");
        if text.matches(&found).count() != 1 {
            bail!("{file} does not have the version {own} once: `cargo xtask tidy` says where it differs");
        }
        // Cargo does not rebuild a file that is not written.
        if own != version {
            fs::write(path, text.replace(&found, &format!("{before}{version}{after}")))?;
        }
    }
    Ok(())
}

/// The path of the list of a package's files.
pub(super) fn list(package: &str) -> PathBuf {
    workspace::root().join("packaging/lists").join(package)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_version_is_three_numbers() {
        assert!(version("1.20.3").is_ok());
        for bad in ["", "1.2", "1.2.3-4", "1.02.3", "1.2.3.4", "../x", "1.2.x"] {
            assert!(version(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn the_version_is_set_everywhere_or_not_at_all() {
        let dir = std::env::temp_dir().join(format!("kinst-version-{}", std::process::id()));
        fs::create_dir_all(dir.join("kmod")).unwrap();
        for file in ["Cargo.toml", "Cargo.lock", "kmod/dkms.conf"] {
            fs::copy(workspace::root().join(file), dir.join(file)).unwrap();
        }
        let own = own_version(&dir).unwrap();
        set_version(&dir, &own, "99.0.1").unwrap();
        assert_eq!(own_version(&dir).unwrap(), "99.0.1");
        assert!(
            fs::read_to_string(dir.join("kmod/dkms.conf")).unwrap().contains("PACKAGE_VERSION=\"99.0.1\"\n")
        );
        assert!(set_version(&dir, &own, "99.0.2").is_err());
        fs::remove_dir_all(dir).unwrap();
    }
}
