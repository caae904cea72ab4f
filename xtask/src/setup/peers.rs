//! A kernel's contemporaries, bpftrace and perf, with all that they need, for guests: a tree to change the root to.

use std::os::unix::fs::symlink;
use std::path::PathBuf;
use std::process::Command;

use anyhow::Result;

use crate::apt::{Archive, Suite};
use crate::kernels::Name;
use crate::{cache, exec};

const PACKAGES: [&str; 2] = ["bpftrace", "linux-perf"];

/// The name of the file that guests get.
pub const FILE: &str = "peers.tar";

/// The tree as a tar file; brought unless it is there.
pub fn ensure(kernel: Name) -> Result<PathBuf> {
    let (suite, name) = match kernel {
        Name::Sid => (Suite::Sid, "sid"),
        _ => (Suite::Release, "release"),
    };
    let cache = cache::dir()?;
    let dir = cache.join("peers").join(name);
    let tar = dir.join(FILE);
    if cache::is_complete(&dir) {
        return Ok(tar);
    }
    let _lock = cache::lock()?;
    if cache::is_complete(&dir) {
        return Ok(tar);
    }
    cache::need_space(2 << 30, "bpftrace and perf")?;
    let archive = Archive::open(&cache, suite)?;
    let packages = archive.whole_closure(&PACKAGES)?;
    cache::fill(&dir, |dir| {
        let root = dir.join("root");
        archive.unpack(&packages, &cache.join("downloads"), &root)?;
        // What is read by people, and is half of it.
        for folder in ["usr/share", "usr/lib/x86_64-linux-gnu/perl-base", "usr/sbin"] {
            cache::remove(&root.join(folder))?;
        }
        // Packages since trixie leave these links to the one that is installed first.
        for folder in ["bin", "lib", "lib64"] {
            let link = root.join(folder);
            if !link.exists() {
                symlink(format!("usr/{folder}"), link)?;
            }
        }
        exec::run(Command::new("tar").arg("-cf").arg(dir.join(FILE)).arg("-C").arg(&root).arg("."))?;
        cache::remove(&root)
    })?;
    Ok(tar)
}
