//! The same files as .rpm packages.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Result, bail};

use super::tree::Tree;
use crate::{cache, exec};

/// Builds the packages from the compiled programs in `build`, and lists their files.
pub(super) fn build(tree: &Tree, build: &Path, dir: &Path) -> Result<Vec<PathBuf>> {
    let work = dir.join("rpm");
    cache::remove(&work)?;
    let mut command = Command::new("rpmbuild");
    command.args(["-bb", "--quiet", "--target", "x86_64-linux"]);
    for (name, value) in [
        ("_topdir", work.display().to_string()),
        ("_rpmdir", dir.display().to_string()),
        ("_rpmfilename", "%%{NAME}-%%{VERSION}-%%{RELEASE}.%%{ARCH}.rpm".into()),
        ("_dbpath", work.join("db").display().to_string()),
        ("kinst_version", tree.version.clone()),
        ("kinst_source", tree.dir.display().to_string()),
        // It is a script for bash, which Debian runs with another shell.
        ("__brp_compress", "/bin/true".into()),
        // Sources of difference between two builds: the machine, the time, and the files' dates.
        ("_buildhost", "reproducible".into()),
        ("use_source_date_epoch_as_buildtime", "1".into()),
        ("clamp_mtime_to_source_date_epoch", "1".into()),
    ] {
        command.arg("--define").arg(format!("{name} {value}"));
    }
    command.env("SOURCE_DATE_EPOCH", &tree.epoch).env("CARGO_TARGET_DIR", build).env("LC_ALL", "C.UTF-8");
    exec::run(command.arg(tree.dir.join("packaging/kinst.spec")))?;
    let version = &tree.version;
    let made = [format!("kinst-{version}-1.x86_64.rpm"), format!("kinst-dkms-{version}-1.noarch.rpm")]
        .map(|file| dir.join(file));
    for (package, file) in made.iter().zip(["/usr/bin/kinst", &format!("/usr/src/kinst-{version}/dkms.conf")])
    {
        let list = exec::output(Command::new("rpm").args(["--query", "--list", "--package"]).arg(package))?;
        if !list.lines().any(|line| line == file) {
            bail!("{} does not have {file}", package.display());
        }
    }
    cache::remove(&work)?;
    Ok(made.into())
}
